"""Comparisons as token ids."""

from collections.abc import Sequence
from dataclasses import dataclass

from data.rows import Comparison
from trainer.optim.micro_batches import Limits
from trainer.spec import DPOSpec, RewardModelSpec
from trainer.text.codec import Codec

_TARGETS = {"a": 1.0, "b": 0.0, "tie": 0.5}


@dataclass(frozen=True)
class Pair:
    """A comparison as token ids; `target` is the probability that A is preferred: 1, 0, or ½ for a tie."""

    prompt: list[int]
    a: list[int]
    b: list[int]
    target: float
    margin: float = 0.0
    """By how much the preferred side should score higher; 0 for a tie."""
    group: int | None = None
    """The same for all pairs of one ranking; None for a pair of its own."""
    source: str | None = None
    annotator: str | None = None

    @property
    def decided(self) -> bool:
        return self.target != 0.5


def encode(comparisons: Sequence[Comparison], codec: Codec) -> tuple[list[Pair], int]:
    """Pairs, and how many were left out: too long to keep their EOS, or the same tokens on both sides."""
    pairs = []
    for item in comparisons:
        prompt, (a, a_whole), (b, b_whole) = (
            codec.prompt(item.prompt),
            codec.completion(item.a),
            codec.completion(item.b),
        )
        if prompt is not None and a_whole and b_whole and a != b:
            margin = 0.0 if item.label == "tie" else item.margin or 0.0
            target = _TARGETS[item.label]
            pairs.append(Pair(prompt, a, b, target, margin, item.group, item.source, item.annotator))
    return pairs, len(comparisons) - len(pairs)


def rankings(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """What counts as one in a batch: a pair of its own, or all pairs of a ranking; in the order of their first pairs.

    Shuffled apart, the pairs of one ranking would show each of its answers K − 1 times, and overfit (Ouyang et al.
    2022, §3.5).
    """
    found: dict[tuple[str, int], list[Pair]] = {}
    for at, pair in enumerate(pairs):
        key = ("own", at) if pair.group is None else ("group", pair.group)
        found.setdefault(key, []).append(pair)
    return list(found.values())


def pair_limits(spec: RewardModelSpec | DPOSpec) -> Limits:
    """Of one forward pass, its rows counted in pairs."""
    return Limits(pairs_at_once(spec), spec.micro_batch_tokens)


def pairs_at_once(spec: RewardModelSpec | DPOSpec) -> int:
    """Pairs per forward pass: `micro_batch_size` counts sequences, and a pair is two."""
    return spec.batch_size if spec.micro_batch_size is None else max(1, spec.micro_batch_size // 2)
