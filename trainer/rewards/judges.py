"""Judges: functions that decide between two answers to the same prompt.

An installed plug-in (`judge(prompt: str, response: str, finished: bool) -> float` under the entry-point group
`proximal.judges`), any reward, or a remote endpoint that compares.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from data.splits import prompt_text
from trainer.distributed import SINGLE, World
from trainer.errors import RewardError, SpecError, TrainerError
from trainer.rewards.base import RewardContext, RewardInput, Rewards, WeightedReward
from trainer.rewards.build import build
from trainer.rewards.http import Endpoint, request_values
from trainer.rewards.plugin import load_entry_point, plugin_error
from trainer.spec import HttpJudge, JudgeSpec

GROUP = "proximal.judges"


class Judge(Protocol):
    """Decides between answers."""

    def points(self, before: Sequence[RewardInput], after: Sequence[RewardInput]) -> list[float]:
        """Per pair of answers to one prompt: 1 if `after` wins, 0 if `before` wins, ½ for a tie. Raises RewardError."""
        ...

    def scores(self, answers: Sequence[RewardInput]) -> list[float] | None:
        """A score for each answer, higher is better; None for a judge that only compares. Raises RewardError."""
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

    def points(self, before: Sequence[RewardInput], after: Sequence[RewardInput]) -> list[float]:
        pairs = zip(self.scores(before), self.scores(after), strict=True)
        return [1.0 if new > old else 0.5 if new == old else 0.0 for old, new in pairs]

    def scores(self, answers: Sequence[RewardInput]) -> list[float]:
        return self._rewards.score(answers).totals


class ComparingJudge:
    """Requests a comparison of every pair twice, with the sides swapped. A win must hold both times, else it is a tie.

    Judges prefer one side whatever its text is. The rule is from Zheng et al. 2023, §3.4.
    """

    def __init__(self, spec: HttpJudge, endpoint: Endpoint, world: World = SINGLE) -> None:
        self._spec, self._endpoint, self._world = spec, endpoint, world

    def points(self, before: Sequence[RewardInput], after: Sequence[RewardInput]) -> list[float]:
        pairs, mine = list(zip(before, after, strict=True)), self._world.local_rows(len(before))
        return self._world.gather_objects(self._points([pairs[row] for row in mine]), mine, len(pairs))

    def _points(self, pairs: Sequence[tuple[RewardInput, RewardInput]]) -> list[float]:
        points: list[float] = []
        for first in range(0, len(pairs), self._spec.batch_size):
            part = pairs[first : first + self._spec.batch_size]
            straight = self._ask([(old, new) for old, new in part])
            swapped = self._ask([(new, old) for old, new in part])
            points += [_POINTS.get(verdicts, 0.5) for verdicts in zip(straight, swapped, strict=True)]
        return points

    def scores(self, answers: Sequence[RewardInput]) -> None:
        return None

    def _ask(self, pairs: Sequence[tuple[RewardInput, RewardInput]]) -> list[str]:
        items = [{"prompt": a.prompt, "a": a.text, "b": b.text} for a, b in pairs]
        try:
            verdicts = request_values(self._endpoint, {"items": items}, "preferred", len(items))
        except RewardError as error:
            raise RewardError(f"Judge `{self._spec.type}`: {error}") from error
        for verdict in verdicts:
            if verdict not in ("a", "b", "tie"):
                raise RewardError(
                    f'Judge `{self._spec.type}`: {self._endpoint.url} returned {verdict!r} where "a", "b" or "tie" was expected.'
                )
        return verdicts


_POINTS = {("b", "a"): 1.0, ("a", "b"): 0.0}
"""Points by the verdicts on (before, after) and on (after, before)."""


class _PluginJudge:
    """An installed function as a reward."""

    def __init__(self, function: Callable[[str, str, bool], Any]) -> None:
        self._function = function

    def score(self, answers: Sequence[RewardInput]) -> list[float]:
        try:
            return [float(self._function(prompt_text(a.prompt), a.text, a.finished)) for a in answers]
        except TrainerError:
            raise
        except Exception as error:  # plug-in code may raise anything; the error is reported with its place
            raise RewardError(f"the plug-in failed: {plugin_error(error)}") from error
