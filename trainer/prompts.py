"""Prompts, for people and for the model."""

from dataclasses import dataclass

from trainer.data import Prompt
from trainer.text import Codec


@dataclass(frozen=True)
class EncodedPrompt:
    """A prompt and its token ids."""

    prompt: Prompt
    ids: list[int]


def encode(prompts: list[Prompt], codec: Codec) -> tuple[list[EncodedPrompt], int]:
    """Encoded prompts, and how many were too long (left out)."""
    encoded = [EncodedPrompt(prompt, ids) for prompt in prompts if (ids := codec.prompt(prompt)) is not None]
    return encoded, len(prompts) - len(encoded)
