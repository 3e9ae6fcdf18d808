"""What learning adds to a model's weights: gradients, and what the optimizer keeps, by the rules of trainer/optim/.

For N parameters in float32: gradients 4·N, AdamW's two moments 8·N (Kingma and Ba 2015; 16 bytes a parameter in all:
Rajbhandari et al. 2020, "ZeRO", §3.1). In bfloat16: weights and gradients 2·N each (gradients 4·N where they come in several
parts), masters 4·N. Moments in 8 bits: 2·N, and 8 bytes for each block of 256 (Dettmers et al. 2022).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from trainer.optim.eight_bit import BLOCK
from trainer.optim.moments import AT_ONCE, SMALL
from trainer.preflight.memory.blueprint import Blueprint, Head
from trainer.spec import OptimizerSpec

_WORKING = 54
"""Bytes per number whose moments are out of their 8 bits, 10 of which put several tensors side by side."""


@dataclass(frozen=True)
class Learning:
    """Bytes on the device; `host` is what an offloaded optimizer keeps in RAM."""

    gradients: int
    optimizer: int
    step: int
    """Temporaries of the optimizer's step."""
    host: int = 0

    @classmethod
    def of(cls, blueprint: Blueprint, head: Head, spec: OptimizerSpec) -> "Learning":
        weights = [weight for weight in blueprint.trained(head).parameters() if weight.requires_grad]
        gradients = sum(4 * w.numel() if spec.accumulates else w.nbytes for w in weights)
        kept = sum(_kept(weight, spec) for weight in weights)
        if spec.offload_optimizer and blueprint.device == "cuda":
            return cls(gradients, 0, 0, kept)
        return cls(
            gradients, kept, max(_converted(w, spec) for w in weights) + _working(weights, spec, blueprint.device)
        )


def _kept(weight: torch.Tensor, spec: OptimizerSpec) -> int:
    count = int(weight.numel())
    masters = 0 if weight.dtype == torch.float32 else 4 * count
    if spec.optimizer == "adamw_8bit" and count >= SMALL:
        return masters + 2 * count + 2 * 4 * -(-count // BLOCK)
    return masters + 8 * count


def _converted(weight: torch.Tensor, spec: OptimizerSpec) -> int:
    """The fused step has no temporaries; of a small type, the gradient in float32 and the weight rounded."""
    return 0 if weight.dtype == torch.float32 else (2 if spec.accumulates else 6) * int(weight.numel())


def _working(weights: Sequence[torch.Tensor], spec: OptimizerSpec, device: str) -> int:
    if spec.optimizer != "adamw_8bit":
        return 0
    count = sum(int(weight.numel()) for weight in weights if weight.numel() >= SMALL)
    return _WORKING * min(count, AT_ONCE[device])
