"""Small real models for the tests, made from a config."""

import torch
from transformers import GPT2Config, GPT2ForSequenceClassification, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM
from transformers import LlamaForSequenceClassification as LlamaScorer

from trainer.models import Model

VOCABULARY = 23


def llama(seed: int = 0) -> Model:
    torch.manual_seed(seed)
    return LlamaForCausalLM(_llama_config()).eval()


def scorer(seed: int = 1) -> Model:
    torch.manual_seed(seed)
    model = LlamaScorer(_llama_config()).eval()
    model.config.score_bias = 0.25
    return model


def gpt2(seed: int = 0) -> Model:
    """Learned positions, dropout in its config, and an EOS that is also the PAD."""
    torch.manual_seed(seed)
    return GPT2LMHeadModel(_gpt2_config()).eval()


def gpt2_scorer(seed: int = 1) -> Model:
    torch.manual_seed(seed)
    model = GPT2ForSequenceClassification(_gpt2_config()).eval()
    model.config.score_bias = 0.0
    return model


def _llama_config() -> LlamaConfig:
    return LlamaConfig(  # type: ignore[call-arg]
        vocab_size=VOCABULARY,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        initializer_range=0.3,
        num_labels=1,
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=1,
    )


def _gpt2_config() -> GPT2Config:
    return GPT2Config(  # type: ignore[call-arg]
        vocab_size=VOCABULARY, n_positions=64, n_embd=16, n_layer=2, n_head=4, num_labels=1,
        initializer_range=0.3, bos_token_id=1, eos_token_id=1, pad_token_id=1,
    )  # fmt: skip
