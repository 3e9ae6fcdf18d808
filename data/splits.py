"""Selects the prompts that a run holds out, by the hash of the prompt, and defines when two prompts are equal."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from data.rows import Prompt


@dataclass(frozen=True)
class Split:
    """Training and held-out items; no prompt is in both."""

    train: list[Any]
    held_out: list[Any]


def prompt_key(prompt: Prompt) -> str:
    """The text that identifies a prompt. Equal prompts have equal keys in any file. A text and the same text as one user message have one key."""
    if isinstance(prompt, list) and len(prompt) == 1 and prompt[0]["role"] == "user":
        return prompt[0]["content"]
    return prompt if isinstance(prompt, str) else json.dumps(prompt, sort_keys=True, ensure_ascii=False)


def prompt_text(prompt: Prompt) -> str:
    """A prompt as readable text, for people and judges."""
    return prompt if isinstance(prompt, str) else "\n".join(f"{m['role']}: {m['content']}" for m in prompt)


def text_hash(text: str) -> int:
    """A 64-bit hash (BLAKE2b), the same in every run. The hash of a prompt's key, as a share of 2^64, decides whether the prompt is held out."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def hash_share(number: int) -> float:
    """A hash as a share of all hashes, from 0 to 1."""
    return number / 2**64


def hash01(text: str) -> float:
    return hash_share(text_hash(text))


def held_out_keys(prompts: Iterable[Prompt], others: Iterable[Prompt], eval_fraction: float) -> set[str]:
    """Keys of the prompts whose hash is below `eval_fraction`: the same prompts in every file and every run.

    If `prompts` (those for PPO and evaluation) has two different ones, at least one is held out and one is trained
    on.
    """
    asked = sorted({prompt_key(prompt) for prompt in prompts}, key=hash01)
    everything = {*asked, *(prompt_key(prompt) for prompt in others)}
    held_out = {key for key in everything if hash01(key) < eval_fraction}
    return (held_out | set(asked[:1])) - set(asked[-1:])


def split(items: list[Any], held_out: set[str]) -> Split:
    train: list[Any] = []
    kept: list[Any] = []
    for item in items:
        (kept if prompt_key(item.prompt) in held_out else train).append(item)
    return Split(train, kept)
