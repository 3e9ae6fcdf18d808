"""Judges: functions that decide between two answers to the same prompt.

An installed plug-in (`judge(prompt: str, response: str, finished: bool) -> float` under the entry-point group
`proximal.judges`), any reward, or a remote endpoint that compares.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from data.splits import prompt_text
from trainer.distributed import SINGLE, World
from trainer.errors import SpecError, TrainerError
from trainer.rewards.base import RewardContext, RewardInput, RewardOutcome, Rewards, WeightedReward
from trainer.rewards.build import build
from trainer.rewards.http import Endpoint, request_values
from trainer.rewards.missing import Missing, NoValue, shown, stated
from trainer.rewards.plugin import load_entry_point, outcome, outcome_of
from trainer.spec import HttpJudge, JudgeSpec

GROUP = "proximal.judges"


class Judge(Protocol):
    """Decides between answers."""

    def points(self, before: Sequence[RewardInput], after: Sequence[RewardInput]) -> Sequence[float | Missing]:
        """Per pair of answers to one prompt: 1 if `after` wins, 0 if `before` wins, ½ for a tie, `Missing` without a verdict."""
        ...

    def scores(self, answers: Sequence[RewardInput]) -> Sequence[float | Missing] | None:
        """A score for each answer, higher is better, or `Missing`; None for a judge that only compares."""
        ...


def load_judge(spec: str | JudgeSpec | None, context: RewardContext) -> Judge | None:
    """The judge that a spec names; None for None. Raises SpecError, ModelError or DataError where it cannot be built."""
    if isinstance(spec, HttpJudge):
        return ComparingJudge(spec, Endpoint(spec.url, spec.timeout, spec.retries, context.notify), context.world)
    if spec is None or isinstance(spec, str):
        return load_installed_judge(spec, context.world)
    return ScoringJudge(build([spec], context, role="Judge"))


def load_installed_judge(name: str | None, world: World = SINGLE) -> Judge | None:
    """The installed judge of that name; None for None. Raises SpecError, with the installed names, for an unknown name."""
    if name is None:
        return None
    try:
        plug_in = _PluginJudge(load_entry_point(GROUP, name, "judge"))
        return ScoringJudge(Rewards([WeightedReward(name, 1.0, plug_in)], role="Judge", world=world))
    except SpecError as error:
        raise SpecError(f"#/evaluation/judge: {error}") from error


class ScoringJudge:
    """The higher score wins. Equal scores are a tie."""

    def __init__(self, rewards: Rewards) -> None:
        self._rewards = rewards

    def points(self, before: Sequence[RewardInput], after: Sequence[RewardInput]) -> list[float | Missing]:
        return points(self.scores(before), self.scores(after))

    def scores(self, answers: Sequence[RewardInput]) -> Sequence[float | Missing]:
        return self._rewards.score(answers).totals


def points(before: Sequence[float | Missing], after: Sequence[float | Missing]) -> list[float | Missing]:
    """Per pair: 1 if `after` is higher, 0 if `before` is, ½ for a tie; `Missing` if one side has no value."""
    return [_point(old, new) for old, new in zip(before, after, strict=True)]


def _point(old: float | Missing, new: float | Missing) -> float | Missing:
    if isinstance(old, Missing):
        return old
    if isinstance(new, Missing):
        return new
    return 1.0 if new > old else 0.5 if new == old else 0.0


class ComparingJudge:
    """Requests a comparison of every pair twice, with the sides swapped. A win must hold both times, else it is a tie.

    Judges prefer one side whatever its text is. The rule is from Zheng et al. 2023, §3.4.
    """

    def __init__(self, spec: HttpJudge, endpoint: Endpoint, world: World = SINGLE) -> None:
        self._spec, self._endpoint, self._world = spec, endpoint, world

    def points(self, before: Sequence[RewardInput], after: Sequence[RewardInput]) -> list[float | Missing]:
        pairs, mine = list(zip(before, after, strict=True)), self._world.local_rows(len(before))
        return self._world.gather_objects(self._points([pairs[row] for row in mine]), mine, len(pairs))

    def _points(self, pairs: Sequence[tuple[RewardInput, RewardInput]]) -> list[float | Missing]:
        points: list[float | Missing] = []
        for first in range(0, len(pairs), self._spec.batch_size):
            part = pairs[first : first + self._spec.batch_size]
            straight = self._ask([(old, new) for old, new in part])
            swapped = self._ask([(new, old) for old, new in part])
            points += [_of_verdicts(*verdicts) for verdicts in zip(straight, swapped, strict=True)]
        return points

    def scores(self, answers: Sequence[RewardInput]) -> None:
        return None

    def _ask(self, pairs: Sequence[tuple[RewardInput, RewardInput]]) -> list[str | Missing]:
        items = [{"prompt": a.prompt, "a": a.text, "b": b.text} for a, b in pairs]
        try:
            verdicts = request_values(self._endpoint, {"items": items}, "preferred", len(items))
        except NoValue as error:
            return [error.missing] * len(pairs)
        return [self._verdict(verdict) for verdict in verdicts]

    def _verdict(self, verdict: Any) -> str | Missing:
        if isinstance(verdict, str) and verdict in ("a", "b", "tie"):
            return verdict
        what = f'{self._endpoint.url} returned {shown(verdict)} where "a", "b" or "tie" was expected'
        return stated(verdict) or Missing("bad_output", what)


def _of_verdicts(straight: str | Missing, swapped: str | Missing) -> float | Missing:
    """The points of a pair. One order without a verdict leaves it open whether a win would hold both times."""
    if isinstance(straight, Missing):
        return straight
    return swapped if isinstance(swapped, Missing) else _POINTS.get((straight, swapped), 0.5)


_POINTS = {("b", "a"): 1.0, ("a", "b"): 0.0}
"""Points by the verdicts on (before, after) and on (after, before)."""


class _PluginJudge:
    """An installed function as a reward."""

    def __init__(self, function: Callable[[str, str, bool], Any]) -> None:
        self._function = function

    def score(self, answers: Sequence[RewardInput]) -> list[RewardOutcome]:
        return [self._one(answer) for answer in answers]

    def _one(self, answer: RewardInput) -> RewardOutcome:
        """The value of one answer. A call that fails is repeated once."""
        call = partial(self._function, prompt_text(answer.prompt), answer.text, answer.finished)
        try:
            return outcome(call())
        except TrainerError:
            raise
        except Exception:  # noqa: BLE001  # plug-in code may raise anything; the second try reports the error
            return outcome_of(call)
