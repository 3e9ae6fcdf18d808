"""What every engine gives back."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Response:
    """Sampled token ids, and whether they end with an EOS (else the length limit cut them)."""

    ids: list[int]
    finished: bool
    logprobs: list[float] | None = None
    """Of each token as the sampler drew it, by its own forward pass, where they were asked for."""
