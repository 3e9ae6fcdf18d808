"""Dynamic loss scaling, for passes in float16 (Micikevicius et al. 2018, arXiv 1710.03740, §3.2).

The smallest number of float16 is 6e-8, and smaller gradients become 0. The loss is therefore multiplied by a scale s before the
backward pass, and the float32 gradients of the weights are divided by it after. With the rule and the constants of
torch.amp.GradScaler, a gradient that is not finite leaves out the step and halves s, and 2,000 steps in a row double it.
Unlike there, s has a lower bound: a gradient that is not finite at s = 1 has another cause than s, and ends the run as in
other types.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

INITIAL, SMALLEST, LARGEST = 2.0**16, 1.0, 2.0**24
GROWTH, BACKOFF, INTERVAL = 2.0, 0.5, 2000
_KEY = "loss_scale"
"""Name of the tensor in an optimizer's state. Those of the optimizer itself begin with a number."""


@dataclass
class LossScale:
    """The scale s of one learner. All its values are powers of two, so that scaling rounds nothing in float32."""

    value: float = INITIAL
    steps: int = 0
    """Steps taken since s changed."""
    overflows: int = 0
    """Steps left out since the stage began."""

    @torch.no_grad()
    def unscale(self, parameters: Sequence[nn.Parameter]) -> None:
        """Divide all gradients by s. They are in float32."""
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        if gradients:
            torch._foreach_mul_(gradients, 1 / self.value)

    def grow(self) -> None:
        """Count a step that was taken. s doubles, up to `LARGEST`, after `INTERVAL` of them in a row."""
        self.steps += 1
        if self.steps == INTERVAL:
            self.value, self.steps = min(self.value * GROWTH, LARGEST), 0

    def back_off(self) -> bool:
        """Halve s after a gradient that is not finite, and return True. False: s is `SMALLEST` already and stays."""
        if self.value <= SMALLEST:
            return False
        self.value, self.steps = max(self.value * BACKOFF, SMALLEST), 0
        self.overflows += 1
        return True

    def tensors(self) -> dict[str, Tensor]:
        """The state, for an optimizer's tensors in a checkpoint."""
        return {_KEY: torch.tensor([self.value, self.steps, self.overflows], dtype=torch.float64)}

    def load(self, stored: Tensor) -> None:
        """Restore a state that `tensors` returned."""
        value, steps, overflows = stored.tolist()
        self.value, self.steps, self.overflows = value, int(steps), int(overflows)


def take_stored(tensors: dict[str, Tensor]) -> tuple[dict[str, Tensor], Tensor | None]:
    """The optimizer's own tensors, and the state of a loss scale if a run in float16 has stored one."""
    return {name: value for name, value in tensors.items() if name != _KEY}, tensors.get(_KEY)


def scale_for(model: Any) -> LossScale | None:
    """A new scale for a model whose passes compute in float16, which the model then holds; None for other types."""
    model.loss_scale = LossScale(INITIAL) if getattr(model, "compute_dtype", None) == torch.float16 else None
    found: LossScale | None = model.loss_scale
    return found


def scaled(loss: Tensor, model: Any) -> Tensor:
    """The loss times the scale of the learner that trains `model`; the loss itself without one."""
    scale: LossScale | None = getattr(model, "loss_scale", None)
    return loss if scale is None else loss * scale.value


def backward(loss: Tensor, model: Any) -> None:
    """Add the gradient of `scaled` to those of the weights. `Learner.clip` divides them by the scale."""
    scaled(loss, model).backward()
