"""Dynamic sampling (DAPO, Yu et al. 2025, arXiv 2503.14476, §3.2): prompts with equally scored responses are replaced.

Against the mean of its group a response with the score of all the others has the advantage 0. DAPO drops such groups and
samples further prompts until the batch is full. Here this goes on for `ppo.rollout.refill.max_rounds` rounds at most.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, TypeVar

import torch

from trainer.rewards.base import Scores, one_after_another
from trainer.rewards.missing import Missing, present
from trainer.rollout.shaping import missing_eos
from trainer.sampling import Response
from trainer.spec import RefillSpec, ShapingSpec

T = TypeVar("T")


@dataclass
class FurtherDraws:
    """The draws of all refills so far, beyond one batch for each iteration. Checkpoints hold the numbers."""

    prompts: int = 0
    """Places in the stream of shuffled prompts."""
    responses: int = 0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def restore(self, stored: dict[str, Any]) -> None:
        """Take over the numbers that `to_json` returned; {} of a checkpoint from before there were any."""
        self.prompts, self.responses = stored.get("prompts", 0), stored.get("responses", 0)


@dataclass(frozen=True)
class Round:
    """Responses to some prompts, with their rewards. Those of a prompt stand side by side."""

    rows: list[int]
    """Index of each response's prompt among the training prompts."""
    responses: list[Response]
    rewards: Scores


@dataclass(frozen=True)
class Refill:
    """All responses of an iteration in the order of their sampling, and which groups of them teach."""

    rows: list[int]
    responses: list[Response]
    rewards: Scores
    teaches: list[bool]
    """By group: whether its scores differ."""
    size: int
    """Responses of a group."""
    wanted: int
    """Prompts of a full batch."""
    rounds: int

    @cached_property
    def kept(self) -> list[int]:
        """The groups that the iteration learns from: the first ones that teach, as many as the batch holds."""
        return [group for group, teaches in enumerate(self.teaches) if teaches][: self.wanted]

    @property
    def shortfall(self) -> int:
        """Prompts that the batch lacks."""
        return self.wanted - len(self.kept)

    @property
    def drawn(self) -> int:
        """Prompts that are used up. Those after the one that filled the batch are drawn again by the next iteration."""
        return len(self.teaches) if self.shortfall else self.kept[-1] + 1

    @property
    def dropped(self) -> list[int]:
        """The groups that do not teach, of the prompts that are used up."""
        return [group for group in range(self.drawn) if not self.teaches[group]]

    @property
    def places(self) -> list[int]:
        """The responses of the batch: those of the groups that teach. In a shortfall the first dropped groups follow.

        The batch therefore always has its size. `learnable` leaves out the groups that do not teach.
        """
        groups = [*self.kept, *self.dropped[: self.shortfall]]
        return [place for group in groups for place in range(group * self.size, (group + 1) * self.size)]

    def metrics(self, shaping: ShapingSpec) -> dict[str, float]:
        """The rounds, prompts and tokens, and the scores of all responses that were sampled."""
        learned = {place for group in self.kept for place in range(group * self.size, (group + 1) * self.size)}
        lengths = [len(response.ids) for response in self.responses]
        groups = list(in_groups(self.rewards.totals, self.size))
        values = {
            "refill/rounds": self.rounds,
            "refill/dropped": len(self.dropped),
            "refill/missing": sum(len(present(groups[group])) < 2 for group in self.dropped),
            "refill/shortfall": self.shortfall / self.wanted,
            "refill/tokens": sum(lengths),
            "refill/tokens_dropped": sum(length for place, length in enumerate(lengths) if place not in learned),
        }
        compared = [numbers for numbers in map(present, groups) if len(numbers) > 1]
        if compared:
            values["objective/equal_groups"] = sum(spread(numbers) == 0 for numbers in compared) / len(compared)
        parts = {f"reward/{name}": present(part) for name, part in self.rewards.parts.items()}
        means = {name: math.fsum(part) / len(part) for name, part in parts.items() if part}
        return values | means | self._scores(shaping)

    def _scores(self, shaping: ShapingSpec) -> dict[str, float]:
        rows, numbers = self.rewards.complete, self.rewards.numbers
        if not rows:
            return {}
        totals_B = torch.tensor([numbers[row] for row in rows], dtype=torch.float32)
        finished_B = torch.tensor([self.responses[row].finished for row in rows])
        return {
            "objective/scores": float(missing_eos(totals_B, finished_B, shaping).mean()),
            "objective/raw_scores": float(totals_B.mean()),
            "objective/raw_scores_std": float(totals_B.std(unbiased=False)),
        }


def refill(
    sample: Callable[[int, int, int], Round],
    wanted: int,
    size: int,
    spec: RefillSpec,
    between_rounds: Callable[[], None] = lambda: None,
) -> Refill:
    """Sample groups of `size` responses until `wanted` of them teach, or `max_rounds` rounds are over.

    `sample(number, first, count)` returns round `number` (0-based): responses to `count` prompts after the `first` prompts
    of this iteration. The first round is one batch. A later one has `oversampling` times as many prompts as the batch
    still lacks, and no more than a batch. After a round without any value no further one follows: the reward has failed,
    and the prompts are not to blame. `between_rounds` is called before each round but the first.
    """
    rounds, teaches, count = list[Round](), list[bool](), wanted
    while True:
        latest = sample(len(rounds), len(teaches), count)
        rounds.append(latest)
        teaches += [differs(group, spec.tolerance) for group in in_groups(latest.rewards.totals, size)]
        lacking = wanted - sum(teaches)
        if lacking <= 0 or len(rounds) == spec.max_rounds or not latest.rewards.complete:
            break
        count = min(wanted, math.ceil(lacking * spec.oversampling))
        between_rounds()
    return Refill(
        [row for each in rounds for row in each.rows],
        [response for each in rounds for response in each.responses],
        one_after_another([each.rewards for each in rounds]),
        teaches,
        size,
        wanted,
        len(rounds),
    )


def differs(totals: Sequence[float | Missing], tolerance: float = 0.0) -> bool:
    """Whether the scores of a group lie more than `tolerance` apart, in the float32 of the advantages.

    Responses without a value do not count. A group with fewer than two values has no difference.
    """
    numbers = present(totals)
    return len(numbers) > 1 and spread(numbers) > tolerance


def spread(numbers: Sequence[float]) -> float:
    """The largest less the smallest number, in float32."""
    values_N = torch.tensor(numbers, dtype=torch.float32)
    return float(values_N.max() - values_N.min())


def in_groups(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The values of each group, `size` side by side."""
    return (values[first : first + size] for first in range(0, len(values), size))
