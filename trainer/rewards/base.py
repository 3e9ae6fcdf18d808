"""The weighted sum of named rewards, and what every reward promises."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch

from data.rows import Prompt
from trainer.distributed import SINGLE, World
from trainer.errors import RewardError
from trainer.models import Model
from trainer.models.attention import Packing
from trainer.optim.micro_batches import Limits
from trainer.text.codec import Codec


@dataclass(frozen=True)
class RewardInput:
    """A response to a prompt, as token ids and as text."""

    prompt: Prompt
    prompt_ids: list[int]
    response_ids: list[int]
    """As they were sampled, with the stop that ended them."""
    text: str
    """The response decoded, without special tokens and without the stop that ended it."""
    finished: bool
    """It ended with a stop token or a stop string; else it was cut off."""
    reference: str | None
    """The prompt's `answer`, which verifiable rewards check against."""
    closed_ids: list[int] | None = None
    """The response as a reward model reads it, where that is not `response_ids`: with the EOS in place of another stop."""

    @property
    def scored_ids(self) -> list[int]:
        """The response's token ids for scoring models: they end with the EOS where the response is finished."""
        return self.response_ids if self.closed_ids is None else self.closed_ids


RewardValue = float | list[float]
"""What a reward gives for one response: one number, or one for each token of `Answer.response_ids`."""


class Reward(Protocol):
    """Scores responses."""

    def score(self, answers: Sequence[RewardInput]) -> Sequence[RewardValue]:
        """One finite number for each answer, or one for each of its tokens, in their order. Raises RewardError: a score is
        never made up."""
        ...


@runtime_checkable
class ReportsFigures(Protocol):
    """A reward that also reports how the asking went."""

    def figures(self) -> dict[str, float]:
        """Of the last call of `score`: `seconds`, and others by short name, such as `error_rate`."""
        ...


@dataclass(frozen=True)
class TokenRewards:
    """The weighted sums of a batch in which some reward gave a number for each token."""

    ends: list[float]
    """Of the rewards that gave one number for the whole response, per answer."""
    tokens: list[list[float]]
    """Of the rewards that gave one for each token, per answer and token; empty for an answer without any."""


@dataclass(frozen=True)
class Scores:
    """What the rewards said about a batch of answers."""

    totals: list[float]
    """The weighted sum, per answer, of all numbers that it was given."""
    parts: dict[str, list[float]]
    """By the reward's name, unweighted, per answer; of a reward that gives a number for each token, their sum."""
    figures: dict[str, float]
    """Further metrics, such as `reward/<name>/error_rate`."""
    dense: TokenRewards | None = None
    """The totals taken apart, where some reward gave a number for each token."""


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
class WeightedReward:
    """A reward under its name, with its weight."""

    name: str
    weight: float
    reward: Reward


_LARGEST = torch.finfo(torch.float32).max


class Rewards:
    """Several rewards as one: each is asked about every answer, checked, weighed and summed."""

    def __init__(self, members: Sequence[WeightedReward], role: str = "Reward", world: World = SINGLE) -> None:
        """`role` is what errors call a member."""
        self.members = list(members)
        self._role = role
        self._world = world

    def score(self, answers: Sequence[RewardInput]) -> Scores:
        """Raises RewardError, naming the reward, for anything but one finite number per answer.

        Each process asks about its block of the answers, and is told of all.
        """
        mine = self._world.local_rows(len(answers))
        own = self._score([answers[row] for row in mine]) if mine or not answers or self._world.sharded else None
        return _joined([scores for scores in self._world.all_gather_object(own) if scores is not None])

    def _score(self, answers: Sequence[RewardInput]) -> Scores:
        parts: dict[str, list[float]] = {}
        figures: dict[str, float] = {}
        ends, tokens = [0.0] * len(answers), [list[float]() for _ in answers]
        for member in self.members:
            given = _checked(member, answers, self._role)
            parts[member.name] = [_whole(value) for value in given]
            for row, value in enumerate(given):
                if isinstance(value, list):
                    tokens[row] = _plus(tokens[row], value, member.weight)
                else:
                    ends[row] += member.weight * value
            totals = [end + _whole(own) for end, own in zip(ends, tokens, strict=True)] if any(tokens) else ends
            if not all(map(_is_finite_number, totals)):
                raise RewardError(
                    f"{self._role} `{member.name}`, weighed {member.weight:g}, is too large to be summed."
                )
            if isinstance(member.reward, ReportsFigures):
                figures |= _figures(member.name, member.reward)
        if not any(tokens):
            return Scores(ends, parts, figures)
        return Scores(totals, parts, figures, TokenRewards(ends, tokens))


def _whole(value: RewardValue) -> float:
    return math.fsum(value) if isinstance(value, list) else value


def _plus(tokens: list[float], value: list[float], weight: float) -> list[float]:
    """The weighed value added, token by token; nothing so far is an empty list."""
    return [old + weight * new for old, new in zip(tokens or [0.0] * len(value), value, strict=True)]


def _joined(blocks: Sequence[Scores]) -> Scores:
    """Of the processes' blocks, in order. Of further figures the mean; of seconds, which run side by side, the most."""
    if len(blocks) == 1:
        return blocks[0]
    figures = {}
    for name in blocks[0].figures:
        values = [block.figures[name] for block in blocks]
        figures[name] = max(values) if name.startswith("time/") else math.fsum(values) / len(values)
    parts = {name: [value for block in blocks for value in block.parts[name]] for name in blocks[0].parts}
    dense = None
    if any(block.dense is not None for block in blocks):
        taken = [block.dense or TokenRewards(block.totals, [[] for _ in block.totals]) for block in blocks]
        dense = TokenRewards([end for one in taken for end in one.ends], [own for one in taken for own in one.tokens])
    return Scores([total for block in blocks for total in block.totals], parts, figures, dense)


def _figures(name: str, reward: ReportsFigures) -> dict[str, float]:
    """Clock readings stand under `time/`, so that everything else repeats exactly."""
    figures = {f"reward/{name}/{key}": value for key, value in reward.figures().items() if key != "seconds"}
    return figures | {f"time/reward/{name}": value for key, value in reward.figures().items() if key == "seconds"}


def _checked(member: WeightedReward, answers: Sequence[RewardInput], role: str) -> list[RewardValue]:
    try:
        values = member.reward.score(answers)
    except RewardError as error:
        raise RewardError(f"{role} `{member.name}`: {error}") from error
    who = f"{role} `{member.name}` gave"
    if len(values) != len(answers):
        raise RewardError(f"{who} {len(values)} scores for {len(answers)} responses.")
    found: list[RewardValue] = []
    for number, (value, answer) in enumerate(zip(values, answers, strict=True), 1):
        place = f"response {number} of {len(answers)}"
        if not isinstance(value, list):
            _require_finite(value, f"{who} {value!r} for {place}")
            found.append(float(value))
            continue
        if len(value) != len(answer.response_ids):
            raise RewardError(
                f"{who} a list of {len(value)} numbers for {place}, which has {len(answer.response_ids)} tokens. Give one "
                "number for the response, or one for each token, the stop that ended it included."
            )
        for at, one in enumerate(value, 1):
            _require_finite(one, f"{who} {one!r} for token {at} of {place}")
        found.append([float(one) for one in value])
    return found


def _require_finite(value: object, what: str) -> None:
    if not _is_finite_number(value):
        raise RewardError(f"{what}; it must be a finite number, in float32 too.")


def _is_finite_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= _LARGEST  # False for NaN, and for a whole number beyond the floats
