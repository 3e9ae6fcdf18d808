"""Numbers that move from one iteration to the next. Every checkpoint has them: they are all that weights do not say."""

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from trainer.ppo.kl import adapted_coef, adapted_old_kl_beta, scheduled_coef
from trainer.rollout.shaping import RunningScale
from trainer.spec import PPOSpec
from trainer.stages.reward_model import Pair


@dataclass
class Dials:
    """Plain numbers and lists of them, so that JSON carries them from one process to the next without a lost bit."""

    kl_coef: float
    """β of the KL to the reference, where the adaptive controller moves it."""
    old_kl_beta: float
    """β of the KL to the old policy."""
    cut_steps_left: int = 0
    """Optimizer steps still to take at a cut learning rate."""
    scale: RunningScale = field(default_factory=RunningScale)
    """Spread of all scores so far."""
    optimal_values: list[float] = field(default_factory=list)
    """V* of each training prompt, where they are the baseline."""
    refits: int = 0
    """How often the reward model has been refitted."""
    pairs: list[Pair] = field(default_factory=list)
    """What it was refitted on: the policy's own answers, labelled."""

    @classmethod
    def of(cls, spec: PPOSpec) -> "Dials":
        return cls(spec.kl.coef, spec.policy_loss.beta)

    @classmethod
    def restored(cls, numbers: dict[str, Any]) -> "Dials":
        scale, pairs = RunningScale(**numbers["scale"]), [Pair(**pair) for pair in numbers["pairs"]]
        return cls(**{**numbers, "scale": scale, "pairs": pairs})

    def numbers(self) -> dict[str, Any]:
        return asdict(self)

    def kl_coef_at(self, iteration: int, spec: PPOSpec) -> float:
        """β of the KL to the reference in this iteration."""
        return self.kl_coef if spec.kl.controller == "adaptive" else scheduled_coef(spec.kl, iteration, spec.steps)

    def turn(self, spec: PPOSpec, iteration: int, kl: float, old_kl: float | None) -> None:
        """After an iteration: by its KL to the reference (nats per response), and to the old policy (nats per token).

        A KL that is not finite turns nothing: the coefficient would never be a number again. Nor does one of the critic's
        warm-up: a policy that has to stand still says nothing of β.
        """
        if spec.only_critic_learns(iteration):
            return
        if spec.kl.controller == "adaptive" and math.isfinite(kl):
            self.kl_coef = adapted_coef(self.kl_coef, kl, spec.batch_size, spec.kl)
        if old_kl is not None:
            self.old_kl_beta = adapted_old_kl_beta(self.old_kl_beta, old_kl, spec.policy_loss)
