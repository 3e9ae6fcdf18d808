"""A model of 80,000 parameters with random weights, and a tokenizer of one token a character."""

from pathlib import Path
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PhiConfig, PhiForCausalLM, PreTrainedTokenizerFast

from examples.strings.tasks import ALPHABET

_NEVER = -20.0
"""A logit: e⁻²⁰ of the others' probability."""


def new_policy(folder: Path, seed: int) -> None:
    """Random weights, and an output layer with a bias: so low at PAD that neither system ever samples it.

    TRL takes a sampled PAD for the end of a response; a policy that samples nothing else makes its losses NaN.
    """
    tokenizer = _tokenizer()
    torch.manual_seed(seed)
    config = PhiConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
        initializer_range=0.05,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attention_dropout=0.0,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = PhiForCausalLM(config)
    torch.nn.init.constant_(model.lm_head.bias[tokenizer.pad_token_id : tokenizer.pad_token_id + 1], _NEVER)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _tokenizer() -> Any:
    """One token a character."""
    tokens = ["<pad>", "<eos>", *ALPHABET]
    inner = Tokenizer(models.WordLevel({token: number for number, token in enumerate(tokens)}, unk_token="<pad>"))
    inner.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    inner.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<eos>", pad_token="<pad>")
