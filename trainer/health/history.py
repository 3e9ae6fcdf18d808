"""The values that the health rules remember from step to step: plain numbers, so that a checkpoint can hold them as JSON."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from trainer.health.reward import Block, RewardHistory
from trainer.selection import evaluation_figures, is_better

FIRSTS = (
    "policy/entropy_avg",
    "val/response_length",
    "objective/scores",
    "objective/raw_scores",
    "objective/raw_scores_std",
    "critic/returns_std",
    "objective/teacher_kl",
)
WINDOW = 20


@dataclass(frozen=True)
class Point:
    """A metric at a step."""

    metric: str
    step: int
    value: float


@dataclass
class Memory:
    """The first and best values that later steps are compared with."""

    firsts: dict[str, Point] = field(default_factory=dict)
    """First value of each of FIRSTS, and of the disagreement of each ensemble of reward models."""
    value_losses: list[Point] = field(default_factory=list)
    """The value losses of the last WINDOW steps, oldest first, without the present one."""
    best: list[Point] = field(default_factory=list)
    """The best evaluation so far, by `trainer/selection.py`: win rate (or judge), score, and the other figures that select it."""
    skipped: float = 0.0
    """Optimizer steps skipped in all, before the present step."""
    rewards: RewardHistory = field(default_factory=RewardHistory)
    """The scores of the iterations, the present one included."""
    returns: list[Point] = field(default_factory=list)
    """The mean returns of the last WINDOW steps, oldest first, without the present one."""
    block_complete: bool = False
    """Whether the present step completes a block of `rewards`."""

    def begin(self, step: int, values: Mapping[str, float]) -> None:
        """Record the score, and the first value of each metric in FIRSTS, before the rules read the step."""
        self.block_complete = self.rewards.add(step, values)
        for metric in FIRSTS:
            if metric in values and metric not in self.firsts:
                self.firsts[metric] = Point(metric, step, values[metric])
        self._begin_disagreements(step, values)

    def _begin_disagreements(self, step: int, values: Mapping[str, float]) -> None:
        """The first disagreement of each ensemble. A refit of the reward model (`ppo.online`) begins anew."""
        if "online/round" in values:
            self.firsts = {name: first for name, first in self.firsts.items() if not is_disagreement(name)}
        for name in filter(is_disagreement, values):
            self.firsts.setdefault(name, Point(name, step, values[name]))

    def end(self, step: int, values: Mapping[str, float]) -> None:
        """Record the values that the next step is compared with, after the rules have read this one."""
        if "loss/value_avg" in values:
            self.value_losses.append(Point("loss/value_avg", step, values["loss/value_avg"]))
            del self.value_losses[:-WINDOW]
        if "critic/returns" in values:
            self.returns.append(Point("critic/returns", step, values["critic/returns"]))
            del self.returns[:-WINDOW]
        self.skipped = values.get("health/skipped_steps", self.skipped)
        wanted = wanted_figure(values)
        if wanted and "eval/score" in values and self._is_best(wanted, values):
            others = [name for name in ("eval/judge", "eval/kl") if name in values and name != wanted]
            self.best = [Point(name, step, values[name]) for name in (wanted, "eval/score", *others)]

    def _is_best(self, wanted: str, values: Mapping[str, float]) -> bool:
        best = {point.metric: point.value for point in self.best}
        if wanted not in best:
            return not best
        if wanted == "eval/judge":
            return values[wanted] > best[wanted]
        return is_better(evaluation_figures(values), evaluation_figures(best))

    def state(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "Memory":
        """Restore a state that `state` returned, of an older release also: what it did not store begins anew."""
        rewards = state.get("rewards", {"blocks": [], "scores": [], "spreads": []})
        blocks, first = [Block(**block) for block in rewards["blocks"]], rewards.get("first")
        return cls(
            {name: Point(**point) for name, point in state["firsts"].items()},
            [Point(**point) for point in state["value_losses"]],
            [Point(**point) for point in state["best"]],
            state["skipped"],
            RewardHistory(blocks, Block(**first) if first else None, rewards["scores"], rewards["spreads"]),
            [Point(**point) for point in state.get("returns", [])],
        )


def is_disagreement(metric: str) -> bool:
    """Whether the metric is `reward/<name>/disagreement`."""
    return metric.startswith("reward/") and metric.endswith("/disagreement")


def wanted_figure(values: Mapping[str, float]) -> str | None:
    """The figure that an evaluation should raise: the win rate, or the judge's mean where there is no win rate."""
    return next((name for name in ("eval/win_rate", "eval/judge") if name in values), None)
