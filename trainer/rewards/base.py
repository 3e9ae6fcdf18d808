"""The weighted sum of named rewards, and what every reward promises."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch

from trainer.errors import RewardError
from trainer.microbatches import Limits
from trainer.models import Model
from trainer.models.attention import Packing
from trainer.parallel import SINGLE, World
from trainer.rewards.answer import Answer
from trainer.text import Codec


class Reward(Protocol):
    """Scores responses."""

    def score(self, answers: Sequence[Answer]) -> list[float]:
        """One finite number per answer, in their order. Raises RewardError: a score is never made up."""
        ...


@runtime_checkable
class Measured(Protocol):
    """A reward that also reports how the asking went."""

    def figures(self) -> dict[str, float]:
        """Of the last call of `score`: `seconds`, and others by short name, such as `error_rate`."""
        ...


@dataclass(frozen=True)
class Scores:
    """What the rewards said about a batch of answers."""

    totals: list[float]
    """The weighted sum, per answer."""
    parts: dict[str, list[float]]
    """By the reward's name, unweighted, per answer."""
    figures: dict[str, float]
    """Further metrics, such as `reward/<name>/error_rate`."""


@dataclass(frozen=True)
class RewardContext:
    """What building a reward may need of the run."""

    codec: Codec
    """The policy's."""
    device: torch.device
    own_model: Model | None
    """The reward model trained in this run, where there is one."""
    batch_size: int | None
    """Sequences per forward pass of a scoring model; None for all at once."""
    notify: Callable[[str], None]
    """Tells people of trouble that is being dealt with, such as a request that is tried again."""
    dtype: torch.dtype = torch.float32
    """Of the scoring models' weights."""
    packing: Packing = "auto"
    """Of the scoring models' passes."""
    offload: bool = False
    """Whether scoring models live in host memory and come to the device to score."""
    world: World = SINGLE
    """The processes that share the scoring."""
    batch_tokens: int | None = None
    """Tokens per forward pass of a scoring model; None for no limit."""

    @property
    def at_once(self) -> Limits:
        return Limits(self.batch_size, self.batch_tokens)


@dataclass(frozen=True)
class Named:
    """A reward under its name, with its weight."""

    name: str
    weight: float
    reward: Reward


_LARGEST = torch.finfo(torch.float32).max


class Rewards:
    """Several rewards as one: each is asked about every answer, checked, weighed and summed."""

    def __init__(self, members: Sequence[Named], role: str = "Reward", world: World = SINGLE) -> None:
        """`role` is what errors call a member."""
        self.members = list(members)
        self._role = role
        self._world = world

    def score(self, answers: Sequence[Answer]) -> Scores:
        """Raises RewardError, naming the reward, for anything but one finite number per answer.

        Each process asks about its block of the answers, and is told of all.
        """
        mine = self._world.mine(len(answers))
        own = self._score([answers[row] for row in mine]) if mine or not answers or self._world.sharded else None
        return _joined([scores for scores in self._world.everyones(own) if scores is not None])

    def _score(self, answers: Sequence[Answer]) -> Scores:
        parts: dict[str, list[float]] = {}
        figures: dict[str, float] = {}
        totals = [0.0] * len(answers)
        for member in self.members:
            values = _checked(member, answers, self._role)
            parts[member.name] = values
            totals = [total + member.weight * value for total, value in zip(totals, values, strict=True)]
            if not all(map(_is_finite_number, totals)):
                raise RewardError(
                    f"{self._role} `{member.name}`, weighed {member.weight:g}, is too large to be summed."
                )
            if isinstance(member.reward, Measured):
                figures |= _figures(member.name, member.reward)
        return Scores(totals, parts, figures)


def _joined(blocks: Sequence[Scores]) -> Scores:
    """Of the processes' blocks, in order. Of further figures the mean; of seconds, which run side by side, the most."""
    if len(blocks) == 1:
        return blocks[0]
    figures = {}
    for name in blocks[0].figures:
        values = [block.figures[name] for block in blocks]
        figures[name] = max(values) if name.startswith("time/") else math.fsum(values) / len(values)
    parts = {name: [value for block in blocks for value in block.parts[name]] for name in blocks[0].parts}
    return Scores([total for block in blocks for total in block.totals], parts, figures)


def _figures(name: str, reward: Measured) -> dict[str, float]:
    """Clock readings stand under `time/`, so that everything else repeats exactly."""
    figures = {f"reward/{name}/{key}": value for key, value in reward.figures().items() if key != "seconds"}
    return figures | {f"time/reward/{name}": value for key, value in reward.figures().items() if key == "seconds"}


def _checked(member: Named, answers: Sequence[Answer], role: str) -> list[float]:
    try:
        values = member.reward.score(answers)
    except RewardError as error:
        raise RewardError(f"{role} `{member.name}`: {error}") from error
    if len(values) != len(answers):
        raise RewardError(f"{role} `{member.name}` gave {len(values)} scores for {len(answers)} responses.")
    for index, value in enumerate(values):
        if not _is_finite_number(value):
            raise RewardError(
                f"{role} `{member.name}` gave {value!r} for response {index + 1} of {len(answers)}; "
                "it must be a finite number, in float32 too."
            )
    return [float(value) for value in values]


def _is_finite_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= _LARGEST  # False for NaN, and for a whole number beyond the floats
