"""What every engine gives back."""

from collections.abc import Sequence
from dataclasses import dataclass

from trainer.text.stops import Stops


@dataclass(frozen=True)
class Response:
    """Sampled token ids, and whether they end with a stop (else the length limit cut them)."""

    ids: list[int]
    finished: bool
    logprobs: list[float] | None = None
    """Of each token as the sampler drew it, by its own forward pass, where they were asked for."""

    @classmethod
    def cut(cls, ids: Sequence[int], logprobs: Sequence[float], stops: Stops) -> "Response":
        """The tokens up to the first stop: an engine that does not know all stops goes on after it."""
        end = stops.end(ids)
        return cls(list(ids[:end]), end is not None, list(logprobs[:end]))
