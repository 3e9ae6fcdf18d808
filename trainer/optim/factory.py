"""The optimizer that a spec asks for."""

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from trainer.optim.plain import PlainAdamW
from trainer.optim.tensorwise import TensorwiseAdamW
from trainer.spec import OptimizerSpec

BETAS = (0.9, 0.999)


class Optimizer(Protocol):
    """What a learner needs of one."""

    param_groups: list[dict[str, Any]]

    def step(self) -> Any: ...

    def zero_grad(self, set_to_none: bool = True) -> None: ...

    def tensors(self) -> dict[str, Tensor]:
        """Moments, step counts and masters as flat tensors by `<parameter>.<name>`, for safetensors."""
        ...

    def put_back(self, tensors: dict[str, Tensor]) -> None:
        """Take over what `tensors` returned."""
        ...


def optimizer_for(parameters: Sequence[nn.Parameter], spec: OptimizerSpec, lr: float, eps: float) -> Optimizer:
    """AdamW over those of `parameters` that learn, decaying matrices only.

    Where the gradients of a step come in several micro-batches, those of bfloat16 weights add up in float32: a sum that
    has only 8 bits of mantissa takes no notice of an addend 512 times smaller.
    """
    learning = [parameter for parameter in parameters if parameter.requires_grad]
    small = [parameter for parameter in learning if _is_small(parameter)]
    for parameter in small if spec.accumulates else ():
        parameter.grad_dtype = torch.float32
    groups = _groups(learning, spec.weight_decay)
    offload = spec.offload_optimizer and any(parameter.device.type != "cpu" for parameter in learning)
    if offload or small or spec.optimizer == "adamw_8bit":
        return TensorwiseAdamW(groups, lr, BETAS, eps, offload=offload, eight_bit=spec.optimizer == "adamw_8bit")
    return PlainAdamW(groups, lr=lr, betas=BETAS, eps=eps, fused=_can_fuse(learning))


def _is_small(parameter: nn.Parameter) -> bool:
    return parameter.dtype == torch.bfloat16


def _can_fuse(parameters: Sequence[nn.Parameter]) -> bool:
    """One kernel for the whole step, with no temporaries, where there is one."""
    return all(p.device.type in ("cpu", "cuda") and p.is_floating_point() for p in parameters)


def _groups(parameters: Sequence[nn.Parameter], weight_decay: float) -> list[dict[str, Any]]:
    matrices = [parameter for parameter in parameters if parameter.ndim >= 2]
    vectors = [parameter for parameter in parameters if parameter.ndim < 2]
    return [{"params": matrices, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0}]
