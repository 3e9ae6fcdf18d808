"""The memory of one of several processes: its share of every batch, and its slice and the gathered parts of sharded models.

A slice (`runtime.sharding` = "fsdp", ZeRO stage 3: Rajbhandari et al. 2020) is 1/P of weights, gradients and optimizer. A
pass with gradients also holds these gathered parts:

- The weights outside of the layers (embeddings, norm, head), from the forward to the end of the backward pass.
- Two layers: the one in use, and the next one, which is being gathered.
- The gradients of the weights outside and of one layer, before they are summed.

A pass without gradients holds its whole model gathered (trainer/distributed/sharding.py).
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from transformers.modeling_layers import GradientCheckpointingLayer

from trainer.distributed.world import balance
from trainer.models.builders import Head
from trainer.optim.moments import AT_ONCE, BLOCK, SMALL
from trainer.out_of_memory import process_limit
from trainer.preflight.memory.fake_models import Blueprint, Weight
from trainer.preflight.memory.passes import Training
from trainer.preflight.memory.shapes import Shape
from trainer.spec import JobSpec, OptimizerSpec

_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
RUNTIME = {"cpu": 400 * 2**20, "cuda": 500 * 2**20}
"""Bytes of a process besides its tensors: Python with torch and transformers in RAM, or the CUDA context on a GPU."""
_WORKING = 54
"""Bytes per number while its moments are decoded from 8 bits. 10 of them concatenate several tensors."""


def available(device: Literal["cpu", "cuda"]) -> int:
    """Bytes of the first GPU, or of RAM, within the limits of a container and of this process."""
    if device == "cuda":
        return int(torch.cuda.get_device_properties(0).total_memory)
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = [text.strip() for path in _LIMITS if path.is_file() and (text := path.read_text())]
    return min([total, process_limit() or total, *(int(limit) for limit in limits if limit.isdecimal())])


@dataclass(frozen=True)
class Learning:
    """Bytes that learning adds to a model's weights on the device; `host` is the RAM of an offloaded optimizer.

    For N parameters in float32, gradients take 4·N and AdamW's two moments 8·N (Kingma and Ba 2015). With the weights that
    is 16 bytes a parameter (Rajbhandari et al. 2020, "ZeRO", §3.1). In bfloat16, weights and gradients take 2·N each and
    masters 4·N. Gradients that are summed over several passes take 4·N. Moments in 8 bits take 2·N, and 8 bytes for each
    block of 256 (Dettmers et al. 2022).
    """

    gradients: int
    optimizer: int
    step: int
    """Temporaries of the optimizer's step."""
    host: int = 0

    @classmethod
    def for_model(cls, blueprint: Blueprint, head: Head, spec: OptimizerSpec) -> "Learning":
        weights = blueprint.trained_weights(head)
        gradients = sum(w.count * (4 * w.numel if spec.accumulates else w.nbytes) for w in weights)
        kept = sum(weight.count * _kept(weight, spec) for weight in weights)
        if spec.offload_optimizer and blueprint.device == "cuda":
            return cls(gradients, 0, 0, kept)
        return cls(
            gradients, kept, max(_converted(w, spec) for w in weights) + _working(weights, spec, blueprint.device)
        )


def _kept(weight: Weight, spec: OptimizerSpec) -> int:
    count = weight.numel
    masters = 0 if weight.dtype == torch.float32 else 4 * count
    if spec.optimizer == "adamw_8bit" and count >= SMALL:
        return masters + 2 * count + 2 * 4 * -(-count // BLOCK)
    return masters + 8 * count


def _converted(weight: Weight, spec: OptimizerSpec) -> int:
    """Bytes of a step's temporaries: none in float32, else the gradient in float32 and the rounded weight."""
    return 0 if weight.dtype == torch.float32 else (2 if spec.accumulates else 6) * weight.numel


def _working(weights: Sequence[Weight], spec: OptimizerSpec, device: str) -> int:
    if spec.optimizer != "adamw_8bit":
        return 0
    count = sum(weight.count * weight.numel for weight in weights if weight.numel >= SMALL)
    return _WORKING * min(count, AT_ONCE[device])


@dataclass(frozen=True)
class Processes:
    """The number of processes, and whether the models are sharded over them."""

    count: int = 1
    sharded: bool = False

    @classmethod
    def from_spec(cls, spec: JobSpec) -> "Processes":
        count = spec.resources.total
        return cls(count, count > 1 and spec.runtime.sharding == "fsdp")

    def share(self, whole: Shape, together: int = 1) -> Shape:
        """The share of the process with the most tokens. `together`: rows that stay together, such as the sides of a pair."""
        if self.count == 1:
            return whole
        lengths = [sum(pair) for pair in zip(whole.prompts, whole.completions, strict=True)]
        units = [range(first, min(first + together, len(lengths))) for first in range(0, len(lengths), together)]
        tokens = [sum(lengths[row] for row in unit) for unit in units]
        most = max(balance(tokens, self.count), key=lambda mine: sum(tokens[unit] for unit in mine))
        rows = [row for unit in most for row in units[unit]]
        return Shape(tuple(whole.prompts[row] for row in rows), tuple(whole.completions[row] for row in rows))

    def block(self, rows: int) -> int:
        """The largest share of `rows` rows."""
        return -(-rows // self.count)

    def held(self, size: int) -> int:
        """The bytes of one process of a model with `size` bytes."""
        return -(-size // self.count) if self.sharded else size

    def learning(self, whole: Learning) -> Learning:
        if not self.sharded:
            return whole
        gradients, optimizer, step = map(self.held, (whole.gradients, whole.optimizer, whole.step))
        return Learning(gradients, optimizer, step, self.held(whole.host))

    def training(self, whole: Training) -> Training:
        """The same pass with only this process' slice of the gradients."""
        gradients = self.held(whole.gradients)
        later = whole.later - whole.gradients + gradients
        return Training(max(gradients, min(whole.first, later)), later, gradients)


def gathered_for_training(blueprint: Blueprint, head: Head) -> int:
    """Bytes of the gathered weights and gradients while a sharded model is trained."""
    sizes, outside = _gathered(blueprint, head)
    layers = sum(count for _, count in sizes)
    return 2 * outside + (min(2, layers) + 1) * max((size for size, _ in sizes), default=0)


def gathered_whole(blueprint: Blueprint, head: Head) -> int:
    """Bytes of the whole gathered model, for passes without gradients."""
    sizes, outside = _gathered(blueprint, head)
    return sum(size * count for size, count in sizes) + outside


def _gathered(blueprint: Blueprint, head: Head) -> tuple[list[tuple[int, int]], int]:
    """Bytes of each kind of gathered layer with the number of such layers, and of the weights outside of the layers."""
    model = blueprint.shortened.trained(head)
    layers = [module for module in model.modules() if isinstance(module, GradientCheckpointingLayer)]
    counted = list(zip(layers, blueprint.layer_counts, strict=True)) if layers else []
    stored = [(sum(int(weight.nbytes) for weight in layer.parameters()), count) for layer, count in counted]
    outside = blueprint.own_bytes(head) - sum(size * count for size, count in stored)
    if getattr(model, "compute_dtype", torch.float32) != torch.bfloat16:
        return stored, outside
    halves = [(2 * sum(int(weight.numel()) for weight in layer.parameters()), count) for layer, count in counted]
    return halves, outside
