"""Small real models for the tests, made from a config."""

import json
from collections.abc import Iterable
from pathlib import Path

import tokenizers
import torch
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    GPT2Config,
    GPT2ForSequenceClassification,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)
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


def sentencepiece_tokenizer(texts: Iterable[str], vocab_size: int = 300) -> PreTrainedTokenizerFast:
    """A tokenizer as SentencePiece's are converted: ▁ for a space and before a text, bytes for unknown characters, a BOS, no PAD."""
    tokenizer = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    # Trained on single words, as SentencePiece does: without it, a merge could span two words.
    tokenizer.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    state = json.loads(tokenizer.to_str())
    state["added_tokens"] = [token for token in state["added_tokens"] if token["id"] < 3]  # the bytes are not special
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps(state))
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", 1)])
    names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, clean_up_tokenization_spaces=False, **names)


def save_pretrained_llama(folder: Path) -> Path:
    """A model folder such as are published: BOS before a text, no PAD, and a response may end with BOS or EOS."""
    tokenizer = sentencepiece_tokenizer(["Once upon a time, there was a little girl. The story is at an end."] * 4, 320)
    torch.manual_seed(0)
    config = LlamaConfig(  # type: ignore[call-arg]
        vocab_size=len(tokenizer), hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=512, tie_word_embeddings=True, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    model.generation_config.eos_token_id = [1, 2]
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
