"""Applies the health rules to a run's metrics. Torch-free."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from trainer.health.changes import CHANGES, Change, suited
from trainer.health.history import Memory, Point
from trainer.health.rule import RuleObservation
from trainer.health.rules import RULES
from trainer.spec import HealthRule, HealthSpec, PPOSpec

Action = Literal["warn", "pause", "stop", "roll_back"]
SEVERITY: tuple[Action, ...] = ("warn", "pause", "roll_back", "stop")
"""The actions from the mildest on. If several rules fire in one step, the gravest of their actions is taken."""
SAME_FAULT = {"negative_explained_variance": "critic_worse_than_mean"}
"""Rules that are silent while another one has fired: the skill of a critic is at most its explained variance."""
_SHOWN = 10
"""Points of evidence kept of a long streak."""


@dataclass(frozen=True)
class HealthFinding:
    """A rule has fired."""

    rule: str
    step: int
    action: Action
    limit: float
    cause: str
    evidence: list[Point]
    """The values that the last steps are compared with, then the last steps beyond the limit, oldest first."""
    suggestion: str
    changes: tuple[Change, ...]
    """Alternatives that programs can apply."""


@dataclass
class Streak:
    """The latest readings of one rule."""

    length: int = 0
    """Readings in a row beyond the limit."""
    points: list[Point] = field(default_factory=list)
    fired: bool = False
    """It has fired and has not seen a healthy step since."""


class Monitor:
    """Every rule of `spec.health` over the metrics of PPO's iterations.

    A rule fires once its limit is passed at `patience` readings in a row. It fires again only after a healthy reading, so
    that a run that goes on does not repeat the finding at every step. A step without the rule's metric gives no reading.
    """

    def __init__(self, spec: HealthSpec, ppo: PPOSpec) -> None:
        self._spec = spec
        self._ppo = ppo
        self._memory = Memory()
        self._streaks = {name: Streak() for name in RULES}

    def look(self, step: int, values: Mapping[str, float], iteration: int | None = None) -> list[HealthFinding]:
        """Findings about the metrics of `step`, in the order of the rules. Steps are 1-based; 0 is the first evaluation.

        `iteration`: the iterations of PPO up to this step, if steps of value pretraining come before them.
        """
        seen = {name: value for name, value in values.items() if math.isfinite(value)}
        self._memory.begin(step, seen)
        done = step if iteration is None else iteration
        findings = []
        for name in RULES:
            rule: HealthRule = getattr(self._spec, name)
            if self._spec.enabled and rule.action != "off" and RULES[name].applies(self._ppo, done):
                reading = RULES[name].look(step, seen, rule.limit, self._memory)
                if reading and self._count(name, reading, rule.patience):
                    findings.append(self._finding(name, step, rule, reading))
        self._memory.end(step, seen)
        return [finding for finding in findings if not self._is_reported(finding)]

    def tolerates(self, skipped: int) -> bool:
        """Whether the iteration goes on after `skipped` skipped optimizer steps in all, this one included.

        It does not if the rule `not_finite` is off, or if its action is "stop" and this step is one too many.
        """
        rule = self._spec.not_finite
        if not self._spec.enabled or rule.action == "off":
            return False
        too_many = skipped > rule.limit and self._streaks["not_finite"].length + 1 >= rule.patience
        return rule.action != "stop" or not too_many

    def first(self, metric: str) -> float | None:
        """The first value seen of a metric that later ones are measured against."""
        point = self._memory.firsts.get(metric)
        return None if point is None else point.value

    def rearm(self) -> None:
        """Clear the streaks after a roll-back. First and best values stay, and the score's complete blocks."""
        self._memory.rewards.rearm()
        self._streaks = {name: Streak() for name in RULES}

    def state(self) -> dict[str, Any]:
        """The monitor's state as JSON, for a checkpoint."""
        return {
            "memory": self._memory.state(),
            "streaks": {name: asdict(streak) for name, streak in self._streaks.items()},
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a state that `state` returned, of another release also.

        A rule that the state does not know begins without a streak, and the streak of a rule that no longer exists is dropped.
        """
        self._memory = Memory.from_state(state["memory"])
        stored = {
            name: Streak(streak["length"], [Point(**point) for point in streak["points"]], streak["fired"])
            for name, streak in state["streaks"].items()
        }
        self._streaks = {name: stored.get(name, Streak()) for name in RULES}

    def _count(self, name: str, reading: RuleObservation, patience: int) -> bool:
        """Record the reading, and return whether the rule fires now."""
        streak = self._streaks[name]
        if not reading.beyond:
            self._streaks[name] = Streak()
            return False
        streak.length += 1
        streak.points = (streak.points + reading.now)[-_SHOWN:]
        fires = streak.length >= patience and not streak.fired
        streak.fired = streak.fired or fires
        return fires

    def _is_reported(self, finding: HealthFinding) -> bool:
        """Whether the run has a finding about the same fault, with an action that is as grave."""
        other = SAME_FAULT.get(finding.rule)
        action = "off" if other is None else getattr(self._spec, other).action
        if other is None or action == "off" or not self._streaks[other].fired:
            return False
        return SEVERITY.index(action) >= SEVERITY.index(finding.action)

    def _finding(self, name: str, step: int, rule: HealthRule, reading: RuleObservation) -> HealthFinding:
        assert rule.action != "off"  # such rules are not read
        observed = reading.observed + (f", for {rule.patience} looks in a row" if rule.patience > 1 else "")
        return HealthFinding(
            rule=name,
            step=step,
            action=rule.action,
            limit=rule.limit,
            cause=f"{observed[0].upper()}{observed[1:]}: {RULES[name].meaning}.",
            evidence=reading.against + self._streaks[name].points,
            suggestion=suited(reading.suggestion or RULES[name].suggestion, self._ppo),
            changes=reading.changes or CHANGES[name],
        )


def gravest(findings: list[HealthFinding]) -> HealthFinding | None:
    """The finding with the gravest action, the first of several alike; None without findings."""
    return max(findings, key=lambda finding: SEVERITY.index(finding.action), default=None)
