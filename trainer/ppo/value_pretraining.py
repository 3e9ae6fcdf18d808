"""Value pretraining (`ppo.critic.pretraining`): the critic learns the returns of the policy that PPO starts from.

VC-PPO (Yuan et al. 2025, arXiv 2503.01491) samples from that policy and trains the critic on Monte-Carlo returns (λ = 1). It
ends once the value loss and the explained variance have settled. Each iteration samples a new batch, so its explained
variance is that of responses that the critic has not learned from.

These iterations come before the first one of PPO and are no part of `ppo.steps`. Everything of PPO that follows a schedule
counts from the first iteration after them, so the policy's rates and coefficients are those of a run without them.
"""

import copy
import math
from dataclasses import dataclass, replace
from typing import Any, Literal

from trainer.optim.learner import Learner
from trainer.ppo.learners import Learners
from trainer.randomness import derive_seed
from trainer.rollout.context import PPOContext
from trainer.spec import PPOSpec, ValuePretrainingSpec

Ending = Literal["threshold", "patience", "iterations"]


@dataclass
class ValuePretraining:
    """The progress of value pretraining, as plain numbers, which a checkpoint holds."""

    done: int = 0
    """Its iterations so far."""
    best: float | None = None
    """Highest explained variance of a batch."""
    since_best: int = 0
    """Iterations since then."""
    ending: Ending | None = None
    """Why it has ended; None before."""

    @classmethod
    def from_json(cls, stored: dict[str, Any] | None) -> "ValuePretraining":
        """`stored`: None in checkpoints of earlier releases, which had no pretraining."""
        return cls(**(stored or {}))

    def add(self, explained_variance: float, spec: ValuePretrainingSpec) -> None:
        """Count an iteration, and end if that is due.

        `explained_variance`: that of its batch before the critic learned from it. NaN, of returns that do not vary, is no rise.
        """
        self.done += 1
        risen = math.isfinite(explained_variance) and (self.best is None or explained_variance > self.best)
        self.best = explained_variance if risen else self.best
        self.since_best = 0 if risen else self.since_best + 1
        if spec.explained_variance is not None and explained_variance >= spec.explained_variance:
            self.ending = "threshold"
        elif self.since_best >= spec.patience:
            self.ending = "patience"
        elif self.done >= spec.iterations:
            self.ending = "iterations"

    def metrics(self) -> dict[str, float]:
        """The highest explained variance so far, and the iterations since then."""
        best = {} if self.best is None else {"pretraining/best_explained_var": self.best}
        return best | {"pretraining/since_best": float(self.since_best)}

    @property
    def has_failed(self) -> bool:
        """Whether the critic foresaw no batch better than a constant would."""
        return self.best is None or self.best <= 0

    def explained(self, spec: ValuePretrainingSpec) -> str:
        """Why it has ended, in a sentence for people."""
        best = "the returns did not vary" if self.best is None else f"its highest explained variance is {self.best:.3g}"
        why = {
            "threshold": f"that reaches `ppo.critic.pretraining.explained_variance` ({spec.explained_variance})",
            "patience": f"it did not rise in {spec.patience} iterations (`ppo.critic.pretraining.patience`)",
            "iterations": "`ppo.critic.pretraining.iterations` are over before it stopped rising",
        }
        assert self.ending is not None  # the caller has looked
        return f"The critic is pretrained after {self.done} iterations: {best}, and {why[self.ending]}."


def still_pretrains(spec: PPOSpec, progress: ValuePretraining) -> bool:
    """Whether the next step belongs to value pretraining."""
    return spec.pretraining is not None and progress.ending is None


@dataclass(frozen=True)
class Turn:
    """The parts of one step of the loop: an iteration of PPO, or one of value pretraining before the first."""

    context: PPOContext
    learners: Learners
    iteration: int
    """The number of the iteration of PPO, from 0; during pretraining that of the first one."""
    pretrains: bool


def pretraining_turn(context: PPOContext, learners: Learners, progress: ValuePretraining) -> Turn:
    """A step in which the critic alone learns, at its peak rate. The order of its minibatches is drawn for this step."""
    seed = derive_seed(context.seed, "value pretraining", progress.done)
    return Turn(replace(context, spec=context.spec.while_pretraining, seed=seed), _at_peak(learners), 0, True)


def _at_peak(learners: Learners) -> Learners:
    """The same optimizers at constant peak rates: a schedule needs to know how long it lasts."""

    def constant(learner: Learner) -> Learner:
        found = copy.copy(learner)
        found.spec = learner.spec.model_copy(update={"lr_schedule": "constant", "warmup_ratio": 0.0})
        return found

    critic = learners.critic
    return replace(learners, policy=constant(learners.policy), critic=None if critic is None else constant(critic))
