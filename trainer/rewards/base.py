"""The interface of a reward, its input and output, and the weighted sum of named rewards."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeGuard, TypeVar, runtime_checkable

import torch

from data.rows import Prompt
from trainer.distributed import SINGLE, World
from trainer.errors import RewardError
from trainer.hangs import phase
from trainer.models import Model
from trainer.models.attention import Packing
from trainer.optim.micro_batches import BatchLimits
from trainer.rewards.missing import Missing, shown
from trainer.text.codec import Codec

T = TypeVar("T")


@dataclass(frozen=True)
class RewardInput:
    """A response to a prompt, as token ids and as text, for rewards and judges."""

    prompt: Prompt
    prompt_ids: list[int]
    response_ids: list[int]
    """The sampled ids, with the stop that ended them."""
    text: str
    """The decoded response, without special tokens and without the stop that ended it."""
    finished: bool
    """Whether a stop token or stop string ended the response. If not, it was cut."""
    reference: str | None
    """The prompt's `answer`, which verifiable rewards check against."""
    closed_ids: list[int] | None = None
    """The ids for a reward model, with the EOS in place of another stop; None where they are `response_ids`."""

    @property
    def scored_ids(self) -> list[int]:
        """The response's token ids for scoring models. They end with the EOS if the response is finished."""
        return self.response_ids if self.closed_ids is None else self.closed_ids


RewardValue = float | list[float]
"""The value of one response: one number, or one for each token of `RewardInput.response_ids`."""
RewardOutcome = RewardValue | Missing
"""The outcome of one response: its value, or that there is none."""


class Reward(Protocol):
    """Scores responses."""

    def score(self, answers: Sequence[RewardInput]) -> Sequence[RewardOutcome]:
        """One finite number for each answer, or a list with one for each of its tokens, in order.

        `Missing` stands for an answer that has no value because the reward failed. Raises RewardError for an error that
        ends the run, such as a prompt without an `answer`.
        """
        ...


@runtime_checkable
class ReportsFigures(Protocol):
    """A reward that also reports metrics about its requests."""

    def figures(self) -> dict[str, float]:
        """Metrics of the last call of `score`: `seconds`, and others by short name, such as `error_rate`."""
        ...


@runtime_checkable
class ReportsDisagreement(Protocol):
    """A reward of several reward models that also reports how far these lie apart."""

    def disagreement(self) -> list[float]:
        """For each answer of the last call of `score`, the standard deviation of the members' scores; NaN without a score."""
        ...


@dataclass(frozen=True)
class TokenRewards:
    """The weighted sums of a batch in which a reward returned a number for each token."""

    ends: list[float]
    """Per answer, the sum of the rewards that returned one number for the response; NaN without a total."""
    tokens: list[list[float]]
    """Per answer and token, the sum of the rewards that returned a list. Empty for an answer without any."""


@dataclass(frozen=True)
class Scores:
    """The rewards of a batch of answers."""

    totals: Sequence[float | Missing]
    """Per answer, the weighted sum of all its numbers. `Missing` if a reward with a weight has no value."""
    parts: Mapping[str, Sequence[float | Missing]]
    """Unweighted values per answer, by the reward's name. Values per token are summed."""
    figures: dict[str, float]
    """Further metrics, such as `reward/<name>/error_rate`."""
    dense: TokenRewards | None = None
    """The parts of the totals, where a reward returned a number for each token."""
    disagreement: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Per answer, the standard deviation of the members' scores, by the name of a reward that is an ensemble."""

    @property
    def numbers(self) -> list[float]:
        """The totals; NaN in place of `Missing`, so that a number that is used by mistake is noticed."""
        return [math.nan if isinstance(total, Missing) else total for total in self.totals]

    @property
    def complete(self) -> list[int]:
        """The answers that have a total."""
        return [row for row, total in enumerate(self.totals) if not isinstance(total, Missing)]

    def select(self, rows: Sequence[int]) -> "Scores":
        """The scores of these answers."""
        dense = self.dense and TokenRewards(_at(self.dense.ends, rows), _at(self.dense.tokens, rows))
        parts = {name: _at(values, rows) for name, values in self.parts.items()}
        disagreement = {name: _at(values, rows) for name, values in self.disagreement.items()}
        return Scores(_at(self.totals, rows), parts, self.figures, dense, disagreement)


def _at(values: Sequence[T], rows: Sequence[int]) -> list[T]:
    return [values[row] for row in rows]


@dataclass(frozen=True)
class RewardContext:
    """The parts of a run that a reward may need to be built."""

    codec: Codec
    """The policy's codec."""
    device: torch.device
    own_model: Model | None
    """The reward model trained in this run, where there is one."""
    batch_size: int | None
    """Sequences per forward pass of a scoring model; None for all at once."""
    notify: Callable[[str], None]
    """Logs a temporary failure, such as a request that is tried again."""
    dtype: torch.dtype = torch.float32
    """The type of the scoring models' weights."""
    packing: Packing = "auto"
    """The packing of the scoring models' passes."""
    offload: bool = False
    """Whether scoring models are kept in host memory and copied to the device to score."""
    world: World = SINGLE
    """The processes that share the scoring."""
    batch_tokens: int | None = None
    """Tokens per forward pass of a scoring model; None for no limit."""

    @property
    def at_once(self) -> BatchLimits:
        return BatchLimits(self.batch_size, self.batch_tokens)


@dataclass(frozen=True)
class WeightedReward:
    """A reward with its name and weight."""

    name: str
    weight: float
    reward: Reward


_LARGEST = torch.finfo(torch.float32).max


class Rewards:
    """Several rewards as one: each scores every answer, its values are checked, and the weighted sum is taken."""

    def __init__(self, members: Sequence[WeightedReward], role: str = "Reward", world: World = SINGLE) -> None:
        """`role`: the word for a member in error messages."""
        self.members = list(members)
        self._role = role
        self._world = world

    @phase("reward")
    def score(self, answers: Sequence[RewardInput]) -> Scores:
        """The scores of all answers, of which each process computes a block.

        A value that is not a finite number or a list of finite numbers is `Missing`. Raises RewardError, with the reward's
        name, for an error that ends the run.
        """
        rows = self._world.local_rows(len(answers))
        local = self._score([answers[row] for row in rows]) if rows or not answers or self._world.sharded else None
        return _concatenated([scores for scores in self._world.all_gather_object(local) if scores is not None])

    def _score(self, answers: Sequence[RewardInput]) -> Scores:
        parts: dict[str, list[float | Missing]] = {}
        lost: dict[int, Missing] = {}
        ends, tokens = [0.0] * len(answers), [list[float]() for _ in answers]
        for member in self.members:
            given = _checked(member, answers, self._role)
            for row, value in enumerate(given):
                if isinstance(value, Missing):
                    if member.weight:
                        lost.setdefault(row, value)
                    continue
                before = ends[row], tokens[row]
                if isinstance(value, list):
                    tokens[row] = _plus(tokens[row], value, member.weight)
                else:
                    ends[row] += member.weight * value
                if not _is_finite_number(ends[row] + _whole(tokens[row])):
                    ends[row], tokens[row] = before
                    given[row] = lost[row] = Missing(
                        "bad_output",
                        f"{self._role} `{member.name}`, with the weight {member.weight:g}, is too large to be summed",
                    )
            parts[member.name] = [value if isinstance(value, Missing) else _whole(value) for value in given]
        totals: list[float | Missing] = list(ends)
        if any(tokens):
            totals = [end + _whole(own) for end, own in zip(ends, tokens, strict=True)]
        for row, missing in lost.items():
            totals[row], ends[row], tokens[row] = missing, math.nan, []
        dense = TokenRewards(ends, tokens) if any(tokens) else None
        figures, disagreement = self._reports()
        return Scores(totals, parts, figures, dense, disagreement)

    def _reports(self) -> tuple[dict[str, float], dict[str, list[float]]]:
        """The figures, and the disagreement of each ensemble, of the last call."""
        figures: dict[str, float] = {}
        disagreement: dict[str, list[float]] = {}
        for member in self.members:
            if isinstance(member.reward, ReportsFigures):
                figures |= _figures(member.name, member.reward)
            if isinstance(member.reward, ReportsDisagreement):
                disagreement[member.name] = member.reward.disagreement()
        return figures, disagreement


def _whole(value: RewardValue) -> float:
    return math.fsum(value) if isinstance(value, list) else value


def _plus(tokens: list[float], value: list[float], weight: float) -> list[float]:
    """`tokens` + weight × `value`, token by token. An empty list counts as zeros."""
    return [old + weight * new for old, new in zip(tokens or [0.0] * len(value), value, strict=True)]


def _concatenated(blocks: Sequence[Scores]) -> Scores:
    """The scores of all processes, in order. Metrics are averaged. For `time/` metrics the largest value is taken."""
    if len(blocks) == 1:
        return blocks[0]
    figures = {}
    for name in blocks[0].figures:
        values = [block.figures[name] for block in blocks]
        figures[name] = max(values) if name.startswith("time/") else math.fsum(values) / len(values)
    return _joined(blocks, figures)


def one_after_another(batches: Sequence[Scores]) -> Scores:
    """The scores of batches that were scored in turn. `time/` metrics are summed, others averaged over the answers."""
    if len(batches) == 1:
        return batches[0]
    figures = {}
    for name in dict.fromkeys(name for batch in batches for name in batch.figures):
        found = [(batch.figures[name], len(batch.totals)) for batch in batches if name in batch.figures]
        if name.startswith("time/"):
            figures[name] = math.fsum(value for value, _ in found)
        else:
            figures[name] = math.fsum(value * count for value, count in found) / sum(count for _, count in found)
    return _joined(batches, figures)


def _joined(blocks: Sequence[Scores], figures: dict[str, float]) -> Scores:
    parts = {name: [value for block in blocks for value in block.parts[name]] for name in blocks[0].parts}
    dense = None
    if any(block.dense is not None for block in blocks):
        taken = [block.dense or TokenRewards(block.numbers, [[] for _ in block.totals]) for block in blocks]
        dense = TokenRewards([end for one in taken for end in one.ends], [own for one in taken for own in one.tokens])
    spreads = {name: [one for block in blocks for one in block.disagreement[name]] for name in blocks[0].disagreement}
    return Scores([total for block in blocks for total in block.totals], parts, figures, dense, spreads)


def _figures(name: str, reward: ReportsFigures) -> dict[str, float]:
    """The reward's metrics. Durations have the prefix `time/`, because only they differ between equal runs."""
    figures = {f"reward/{name}/{key}": value for key, value in reward.figures().items() if key != "seconds"}
    return figures | {f"time/reward/{name}": value for key, value in reward.figures().items() if key == "seconds"}


def _checked(member: WeightedReward, answers: Sequence[RewardInput], role: str) -> list[RewardOutcome]:
    """The outcome of each answer. A value that is not usable is `Missing`, and so are all if their count is wrong."""
    try:
        values = member.reward.score(answers)
    except RewardError as error:
        raise RewardError(f"{role} `{member.name}`: {error}") from error
    who = f"{role} `{member.name}` returned"
    if len(values) != len(answers):
        return [Missing("bad_output", f"{who} {len(values)} scores for {len(answers)} responses") for _ in answers]
    numbered = enumerate(zip(values, answers, strict=True), 1)
    return [_usable(value, answer, who, f"response {n} of {len(answers)}") for n, (value, answer) in numbered]


def _usable(value: object, answer: RewardInput, who: str, place: str) -> RewardOutcome:
    """The value as numbers, or `Missing` with the reason why it is none."""
    if isinstance(value, Missing):
        return value
    if not isinstance(value, list):
        return float(value) if _is_finite_number(value) else _bad(f"{who} {shown(value)} for {place}")
    if len(value) != len(answer.response_ids):
        return Missing(
            "bad_output",
            f"{who} a list of {len(value)} numbers for {place}, which has {len(answer.response_ids)} tokens. Return one "
            "number for the response, or one for each token, including the stop that ended it",
        )
    for at, one in enumerate(value, 1):
        if not _is_finite_number(one):
            return _bad(f"{who} {shown(one)} for token {at} of {place}")
    return [float(one) for one in value]


def _bad(what: str) -> Missing:
    return Missing("bad_output", f"{what}; it must be a finite number, in float32 too")


def _is_finite_number(value: object) -> TypeGuard[float]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= _LARGEST  # False for NaN, and for an integer too large for a float
