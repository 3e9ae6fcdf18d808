"""Micro-batches: the rows of one forward pass, within a limit on rows and a limit on tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

from trainer.spec import DPOSpec, OptimizerSpec, RewardModelSpec


@dataclass(frozen=True)
class BatchLimits:
    """The most rows and tokens of one forward pass. None: no limit."""

    rows: int | None = None
    tokens: int | None = None

    @classmethod
    def from_spec(cls, spec: OptimizerSpec, rows: int | None = None) -> "BatchLimits":
        """The limits of a spec, with `rows` where it has no `micro_batch_size`."""
        return cls(spec.micro_batch_size or rows, spec.micro_batch_tokens)

    def split(self, lengths: Sequence[int]) -> list[list[int]]:
        return micro_batches(lengths, self.rows, self.tokens)


AtOnce = BatchLimits | int | None
"""A number limits only the rows."""


def limits(at_once: AtOnce) -> BatchLimits:
    return at_once if isinstance(at_once, BatchLimits) else BatchLimits(at_once)


def micro_batches(lengths: Sequence[int], size: int | None, tokens: int | None) -> list[list[int]]:
    """Row numbers of each micro-batch, with at most `size` rows and `tokens` tokens. A longer row gets its own.

    Tokens are counted with each row padded to the longest of its micro-batch. Rows that all fit one micro-batch keep their
    order. Otherwise they are sorted by length, and rows of equal length keep their order.
    """
    if not lengths:
        return []
    if len(lengths) <= (size or len(lengths)) and (tokens is None or len(lengths) * max(lengths) <= tokens):
        return [list(range(len(lengths)))]
    parts: list[list[int]] = [[]]
    for row in sorted(
        range(len(lengths)), key=lambda row: lengths[row]
    ):  # ascending, so each row is the longest of its part so far
        count = len(parts[-1]) + 1
        if parts[-1] and ((size and count > size) or (tokens and count * lengths[row] > tokens)):
            parts.append([])
        parts[-1].append(row)
    return parts


def pair_limits(spec: RewardModelSpec | DPOSpec) -> BatchLimits:
    """The limits of one forward pass, with its rows counted in pairs."""
    return BatchLimits(pairs_at_once(spec), spec.micro_batch_tokens)


def pairs_at_once(spec: RewardModelSpec | DPOSpec) -> int:
    """Pairs per forward pass: `micro_batch_size` counts sequences, and a pair is two."""
    return spec.batch_size if spec.micro_batch_size is None else max(1, spec.micro_batch_size // 2)
