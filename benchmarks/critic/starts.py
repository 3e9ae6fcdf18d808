"""The policy that the runs of a seed start from, and the prompts of a task."""

import json
from pathlib import Path
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from benchmarks.critic.tasks import END, Task

PROMPTS, HELD_OUT = 192, 64
_NEVER = -20.0
"""Logit of the tokens that are no letters: a response of 24 tokens holds one of them with a probability of 1e-7."""


def ready(task: Task, seed: int, folder: Path) -> Path:
    """The folder with `prompts.jsonl`, `held_out.jsonl` and the policy of the seed, which are made if they are not there."""
    own = folder / f"{task.name}-{len(task.letters)}-{seed}"
    if not (own / "done").exists():
        own.mkdir(parents=True, exist_ok=True)
        for name, prompts in zip(("prompts", "held_out"), task.prompts(PROMPTS, HELD_OUT), strict=True):
            (own / f"{name}.jsonl").write_text("".join(json.dumps({"prompt": prompt}) + "\n" for prompt in prompts))
        new_policy(own / "policy", seed, task.letters)
        (own / "done").touch()
    return own


def new_policy(folder: Path, seed: int, letters: str) -> None:
    """Random weights, 20,000 of them, and a tokenizer of one token a letter. Nothing but letters is ever sampled.

    One output of the last norm is the constant 1, so that the output layer has a bias, which is low at all other tokens.
    """
    tokenizer = _tokenizer(letters)
    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_embd=32,
        n_inner=64,
        n_layer=2,
        n_head=4,
        n_positions=64,
        initializer_range=0.15,  # with less the features are so weak that no critic learns from them in these runs
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = GPT2LMHeadModel(config)
    sampled = set(tokenizer.convert_tokens_to_ids(list(letters)))
    others = [token for token in range(len(tokenizer)) if token not in sampled]
    with torch.no_grad():
        norm, output_VH = model.transformer.ln_f, model.lm_head.weight
        norm.weight[0], norm.bias[0] = 0.0, 1.0
        output_VH[others] = 0.0
        output_VH[:, 0] = 0.0
        output_VH[others, 0] = _NEVER
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _tokenizer(letters: str) -> Any:
    tokens = ["<pad>", "<eos>", *letters, END]
    inner = Tokenizer(models.WordLevel({token: number for number, token in enumerate(tokens)}, unk_token="<pad>"))
    inner.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    inner.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<eos>", pad_token="<pad>")
