"""Which rows go through a model together: as many as a limit on rows and one on tokens allow."""

from collections.abc import Sequence
from dataclasses import dataclass

from trainer.spec import DPOSpec, OptimizerSpec, RewardModelSpec


@dataclass(frozen=True)
class Limits:
    """Of one forward pass; None: no limit."""

    rows: int | None = None
    tokens: int | None = None

    @classmethod
    def from_spec(cls, spec: OptimizerSpec, rows: int | None = None) -> "Limits":
        """The spec's; at most `rows` rows where it says nothing of them."""
        return cls(spec.micro_batch_size or rows, spec.micro_batch_tokens)

    def split(self, lengths: Sequence[int]) -> list[list[int]]:
        return micro_batches(lengths, self.rows, self.tokens)


AtOnce = Limits | int | None
"""A number alone limits the rows."""


def limits(at_once: AtOnce) -> Limits:
    return at_once if isinstance(at_once, Limits) else Limits(at_once)


def micro_batches(lengths: Sequence[int], size: int | None, tokens: int | None) -> list[list[int]]:
    """Row numbers of each micro-batch: at most `size` rows and `tokens` tokens; a row that is longer goes alone.

    Tokens are counted as if each row were padded to the longest beside it, which holds for models that cannot do without.
    Where all rows fit they stay in their order; else rows of like length go together, in their order where equally long.
    """
    if not lengths:
        return []
    if len(lengths) <= (size or len(lengths)) and (tokens is None or len(lengths) * max(lengths) <= tokens):
        return [list(range(len(lengths)))]
    parts: list[list[int]] = [[]]
    for row in sorted(range(len(lengths)), key=lambda row: lengths[row]):  # so each row is the longest of its part yet
        count = len(parts[-1]) + 1
        if parts[-1] and ((size and count > size) or (tokens and count * lengths[row] > tokens)):
            parts.append([])
        parts[-1].append(row)
    return parts


def pair_limits(spec: RewardModelSpec | DPOSpec) -> Limits:
    """Of one forward pass, its rows counted in pairs."""
    return Limits(pairs_at_once(spec), spec.micro_batch_tokens)


def pairs_at_once(spec: RewardModelSpec | DPOSpec) -> int:
    """Pairs per forward pass: `micro_batch_size` counts sequences, and a pair is two."""
    return spec.batch_size if spec.micro_batch_size is None else max(1, spec.micro_batch_size // 2)
