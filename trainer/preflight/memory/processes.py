"""The memory of one process of several: its share of every batch, and of sharded models its slice and what is gathered for it.

A slice (`runtime.sharding` = "fsdp", ZeRO stage 3: Rajbhandari et al. 2020) is 1/P of weights, gradients and optimizer. For
a pass with gradients there come the weights outside of the layers (embeddings, norm, head: gathered from the forward to the
end of the backward pass), two layers (one at work, one on its way), and the gradients of the former and of one layer before
they are summed. A pass without gradients finds its whole model gathered (trainer/distributed/sharding.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from transformers.modeling_layers import GradientCheckpointingLayer

from trainer.distributed.world import balance
from trainer.models.heads import Model
from trainer.optim.moments import AT_ONCE, BLOCK, SMALL
from trainer.preflight.memory.fake_models import Blueprint, Head
from trainer.preflight.memory.passes import Training
from trainer.preflight.memory.shapes import Shape
from trainer.spec import JobSpec, OptimizerSpec

_WORKING = 54
"""Bytes per number whose moments are out of their 8 bits, 10 of which put several tensors side by side."""


@dataclass(frozen=True)
class Learning:
    """Bytes that learning adds to a model's weights on the device; `host` is the RAM of an offloaded optimizer.

    For N parameters in float32, gradients take 4·N and AdamW's two moments 8·N (Kingma and Ba 2015; 16 bytes a parameter
    in all: Rajbhandari et al. 2020, "ZeRO", §3.1). In bfloat16, weights and gradients take 2·N each and masters 4·N.
    Gradients that come in several parts take 4·N. Moments in 8 bits take 2·N, and 8 bytes for each block of 256
    (Dettmers et al. 2022).
    """

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


@dataclass(frozen=True)
class Processes:
    """How many share the work, and whether they share the models too."""

    count: int = 1
    sharded: bool = False

    @classmethod
    def of(cls, spec: JobSpec) -> "Processes":
        count = spec.resources.total
        return cls(count, count > 1 and spec.runtime.sharding == "fsdp")

    def share(self, whole: Shape, together: int = 1) -> Shape:
        """The share of the process with the most tokens. `together`: rows that stay together, as the two sides of a pair do."""
        if self.count == 1:
            return whole
        lengths = [sum(pair) for pair in zip(whole.prompts, whole.completions, strict=True)]
        units = [range(first, min(first + together, len(lengths))) for first in range(0, len(lengths), together)]
        tokens = [sum(lengths[row] for row in unit) for unit in units]
        most = max(balance(tokens, self.count), key=lambda mine: sum(tokens[unit] for unit in mine))
        rows = [row for unit in most for row in units[unit]]
        return Shape(tuple(whole.prompts[row] for row in rows), tuple(whole.completions[row] for row in rows))

    def block(self, rows: int) -> int:
        """Rows of the first of them, where nothing is known of each."""
        return -(-rows // self.count)

    def held(self, size: int) -> int:
        """Bytes of what is sharded, in each process."""
        return -(-size // self.count) if self.sharded else size

    def learns(self, whole: Learning) -> Learning:
        if not self.sharded:
            return whole
        gradients, optimizer, step = map(self.held, (whole.gradients, whole.optimizer, whole.step))
        return Learning(gradients, optimizer, step, self.held(whole.host))

    def training(self, whole: Training) -> Training:
        """The same pass where only a slice of the gradients stands there."""
        gradients = self.held(whole.gradients)
        later = whole.later - whole.gradients + gradients
        return Training(max(gradients, min(whole.first, later)), later, gradients)


def gathered_for_training(model: Model) -> int:
    """Bytes of the whole weights and gradients that come and go while a sharded model learns."""
    sizes, outside = _gathered(model)
    return 2 * outside + (min(2, len(sizes)) + 1) * max(sizes, default=0)


def gathered_whole(model: Model) -> int:
    """Bytes of the model while all of it is gathered, for passes without gradients."""
    sizes, outside = _gathered(model)
    return sum(sizes) + outside


def _gathered(model: Model) -> tuple[list[int], int]:
    """Bytes of each layer's weights as they are gathered, and of those outside of the layers."""
    layers = [module for module in model.modules() if isinstance(module, GradientCheckpointingLayer)]
    stored = [sum(int(weight.nbytes) for weight in layer.parameters()) for layer in layers]
    outside = sum(int(weight.nbytes) for weight in model.parameters()) - sum(stored)
    if getattr(model, "compute_dtype", torch.float32) != torch.bfloat16:
        return stored, outside
    return [2 * sum(int(weight.numel()) for weight in layer.parameters()) for layer in layers], outside
