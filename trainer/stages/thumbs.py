"""Thumbs as token ids: single completions, each found good or bad. The pointwise reward model and KTO learn from them."""

from collections.abc import Sequence
from dataclasses import dataclass

from data.rows import Thumb
from trainer.text.codec import Codec


@dataclass(frozen=True)
class Verdict:
    """A prompt and a whole completion, its EOS included, and whether it has a thumb up."""

    prompt: list[int]
    completion: list[int]
    up: bool
    source: str | None = None

    @property
    def tokens(self) -> int:
        return len(self.prompt) + len(self.completion)


def encode(thumbs: Sequence[Thumb], codec: Codec) -> tuple[list[Verdict], int]:
    """Verdicts, and how many rows were left out: too long a prompt, or a completion that would have to be cut."""
    verdicts = []
    for thumb in thumbs:
        prompt, (completion, whole) = codec.prompt(thumb.prompt), codec.completion(thumb.completion)
        if prompt is not None and whole:
            verdicts.append(Verdict(prompt, completion, thumb.up, thumb.source))
    return verdicts, len(thumbs) - len(verdicts)
