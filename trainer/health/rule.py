"""The parts of a health rule: its reading of a step, and its meaning for people."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from trainer.health.changes import Change
from trainer.health.history import Memory, Point
from trainer.spec import PPOSpec

Values = Mapping[str, float]


@dataclass(frozen=True)
class RuleObservation:
    """The observation of a rule in one step."""

    beyond: bool
    """Whether the limit is passed and the rule's other conditions hold."""
    observed: str
    """The observation, as the first half of a sentence."""
    now: list[Point]
    against: list[Point]
    """The values that `now` is compared with, beside the limit."""
    suggestion: str | None = None
    """A suggestion with the numbers of this run, in place of the rule's own."""
    changes: tuple[Change, ...] = ()
    """The changes of that suggestion."""


@dataclass(frozen=True)
class Rule:
    """The reading of a rule, its meaning, and the field of the spec to change."""

    look: Callable[[int, Values, float, Memory], RuleObservation | None]
    meaning: str
    suggestion: str
    applies: Callable[[PPOSpec, int], bool] = lambda ppo, step: True
    """Whether the rule has a meaning after so many iterations of PPO; 0 during value pretraining."""
