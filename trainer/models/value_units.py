"""PopArt (`ppo.critic.normalization`): a critic whose head learns normalised returns, and whose value is V = σ·(w·h + b) + μ.

μ and σ are the running mean and standard deviation of the critic's targets. A move to μ′ and σ′ rescales the head:

    w′ = w·σ/σ′        b′ = (σ·b + μ − μ′)/σ′

This leaves every V as it was (van Hasselt et al. 2016, arXiv 1602.07714, eq. 7 and proposition 1).

μ and σ are the level of the head: `config.score_bias` = −μ/σ and `config.score_scale` = 1/σ, which `scalar_head` reads. The
head has a bias that learns. Without one, the rescaled head could not take up a change of μ.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor, nn

from trainer.errors import ModelError

BIAS = "score.bias"
"""The name of the weight that only a head with units has in a saved model."""
_SMALLEST_DEVIATION = 1e-4
"""σ below which the targets count as equal (the bound of the paper's §2.2)."""


@dataclass(frozen=True)
class ValueUnits:
    """μ and σ of the critic's targets over the batches so far. Checkpoints hold the three numbers."""

    mean: float = 0.0
    variance: float = 0.0
    batches: int = 0

    def with_batch(self, mean: float, variance: float, rate: float) -> "ValueUnits":
        """The moments after a batch with this mean and population variance of its targets.

        μ ← (1 − β)·μ + β·E[R] and ν ← (1 − β)·ν + β·E[R²] (van Hasselt et al. 2016, eq. 6), of which ν − μ² is kept. The n-th
        batch has β = rate/(1 − (1 − rate)ⁿ), with which the moments do not depend on their initial values (§2.2).
        Numbers that are not finite change nothing.
        """
        if not (math.isfinite(mean) and math.isfinite(variance)):
            return self
        beta = min(1.0, rate / (1 - (1 - rate) ** (self.batches + 1)))  # rounding can exceed 1
        shift = mean - self.mean
        merged = (1 - beta) * (self.variance + beta * shift**2) + beta * variance
        return ValueUnits(self.mean + beta * shift, merged, self.batches + 1)

    @property
    def deviation(self) -> float:
        """σ; 1 while the targets do not vary, so that it is never a divisor near 0."""
        deviation = math.sqrt(self.variance)
        return deviation if deviation > _SMALLEST_DEVIATION else 1.0


def give_units(critic: Any, normalized: bool) -> Any:
    """Give the critic a head with a bias whose output is V at μ = 0 and σ = 1, and return it; unchanged if not `normalized`.

    The level of a reward model's head moves into its weights. A head that has a level of its own already stays as it is.
    """
    if not normalized or getattr(critic.config, "value_units", False):
        return critic
    head, config = critic.score, critic.config
    bias, scale = float(getattr(config, "score_bias", 0.0)), float(getattr(config, "score_scale", 1.0))
    with torch.no_grad():
        own = head.weight.new_zeros(head.out_features) if head.bias is None else head.bias
        head.weight /= scale
        with_bias(critic, (own - bias) / scale)
    config.score_bias, config.score_scale = 0.0, 1.0
    return critic


@torch.no_grad()
def change_units(critic: Any, old: ValueUnits, new: ValueUnits) -> None:
    """Rescale the head from μ and σ of `old` to those of `new`, which leaves every value as it was."""
    before, after = old.deviation, new.deviation
    critic.score.weight.mul_(before / after)
    critic.score.bias.mul_(before / after).add_((old.mean - new.mean) / after)
    set_units(critic, new)


def set_units(critic: Any, units: ValueUnits) -> None:
    """Set the level of the head, without a change of its weights."""
    critic.config.score_bias, critic.config.score_scale = -units.mean / units.deviation, 1 / units.deviation


def with_saved_bias(scorer: Any, folder: Path) -> Any:
    """Give a model that transformers loaded from `folder` the bias of its head, if its values are normalised; return the model.

    The classes of transformers have a head without a bias and leave it out. Raises ModelError if the folder has none.
    """
    if not getattr(scorer.config, "value_units", False):
        return scorer
    for file in sorted(folder.glob("*.safetensors")):
        with safe_open(file, framework="pt") as tensors:
            if BIAS in tensors.keys():  # noqa: SIM118  # no mapping
                return with_bias(scorer, tensors.get_tensor(BIAS))
    raise ModelError(f"{folder}: the head of this critic has no `{BIAS}`, which `ppo.critic.normalization` saves.")


@torch.no_grad()
def with_bias(scorer: Any, bias: Tensor) -> Any:
    """Give the head of the model this bias, and return the model."""
    head = scorer.score
    new = nn.Linear(head.in_features, head.out_features, device=head.weight.device, dtype=head.weight.dtype)
    new.load_state_dict({"weight": head.weight, "bias": bias})
    scorer.score, scorer.config.value_units = new, True
    return scorer
