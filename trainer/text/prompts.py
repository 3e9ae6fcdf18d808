"""Prompts, for people and for the model."""

from collections.abc import Sequence
from dataclasses import dataclass

from data.rows import Prompt, PromptRow
from trainer.text.codec import Codec


@dataclass(frozen=True)
class EncodedPrompt:
    """A prompt, its token ids, and what a verifiable reward expects of its response."""

    prompt: Prompt
    ids: list[int]
    answer: str | None = None


def encode(prompts: Sequence[PromptRow], codec: Codec) -> tuple[list[EncodedPrompt], int]:
    """Encoded prompts, and how many were too long (left out)."""
    encoded = [
        EncodedPrompt(row.prompt, ids, row.answer) for row in prompts if (ids := codec.prompt(row.prompt)) is not None
    ]
    return encoded, len(prompts) - len(encoded)
