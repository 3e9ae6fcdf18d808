"""A model of which each process holds a slice (ZeRO stage 3, Rajbhandari et al. 2020), by torch's fully_shard (FSDP2).

Every layer's weights are gathered for its forward and its backward pass and freed after it. They travel in bfloat16 where
the passes compute in it. Gradients and optimizer states exist in slices alone. That costs two rules. What uses weights
happens inside one call of the wrapped model (`run_inside`);
and all processes make the same number of passes with gradients, in the same order (`in_step`), for in each of them they
wait for one another. Passes without gradients (sampling, scoring) find the whole model gathered, by `present`, for as long
as they last: they may then be as many as they like.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor, distribute_tensor

from trainer.distributed.world import World
from trainer.errors import ModelError
from trainer.models import Model
from trainer.models.attention import packs

T = TypeVar("T")


def shard(model: Model, world: World) -> Model:
    """Keep of `model` only this process' slice of each weight; every process calls it with the same model.

    Raises ModelError for an architecture without decoder layers.
    """
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard, register_fsdp_forward_method
    from transformers.modeling_layers import GradientCheckpointingLayer

    layers = [module for module in model.modules() if isinstance(module, GradientCheckpointingLayer)]
    if not layers:
        raise ModelError(f"{type(model).__name__}: this architecture has no layers for `runtime.sharding`.")
    packs(model)  # tried now, as it takes passes of its own
    mesh = init_device_mesh(str(next(model.parameters()).device.type), (world.size,))
    computed = getattr(model, "compute_dtype", torch.float32)
    # autocast casts what is gathered anyway; embeddings, the last norm and the head stay as they are, and so does what
    # flows from layer to layer; sums of gradients are in float32
    narrow = MixedPrecisionPolicy(param_dtype=computed, reduce_dtype=torch.float32, cast_forward_inputs=False)
    for layer in layers:
        fully_shard(layer, mesh=mesh, mp_policy=narrow if computed == torch.bfloat16 else MixedPrecisionPolicy())
    fully_shard(model, mesh=mesh)
    for module in model.modules():
        if isinstance(module, FSDPModule):
            module.set_gradient_divide_factor(1.0)  # each process adds its share over the global divisor: sums are sums
            module.set_force_sum_reduction_for_comms(True)
    model.run_inside = partial(_run, model)
    register_fsdp_forward_method(model, "run_inside")  # the root's own weights: embeddings, norm, head
    model.away = Gathered(model)
    return model


class Gathered:
    """Brings a sharded model together, for `present`."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._visits = 0

    @property
    def is_here(self) -> bool:
        return self._visits > 0

    @contextmanager
    def here(self) -> Iterator[None]:
        """While inside, each process has the whole model. All come in and leave together."""
        from torch.distributed.fsdp import FSDPModule

        parts = [module for module in self._model.modules() if isinstance(module, FSDPModule)]
        if not self._visits:
            for part in parts:
                part.set_reshard_after_forward(False, recurse=False)
                part.unshard()
        self._visits += 1
        try:
            yield
        finally:
            self._visits -= 1
            if not self._visits:
                for part in parts:
                    part.set_reshard_after_forward(part is not self._model, recurse=False)
                    part.reshard()


def _run(model: Model, work: Callable[[Model], T]) -> T:
    return work(model)


def empty_pass(model: Model) -> None:
    """A forward and a backward pass that add nothing to the gradient."""

    def work(inner: Model) -> Tensor:
        ids = torch.zeros(1, 2, dtype=torch.long, device=inner.device)
        hidden: Tensor = inner.base_model(input_ids=ids, use_cache=False).last_hidden_state
        head = inner.get_output_embeddings() if getattr(inner, "score", None) is None else inner.score
        out: Tensor = head(hidden)
        return 0.0 * out.float().sum()

    model.run_inside(work).backward()


def slice_like(whole: Tensor, weight: Tensor) -> Tensor:
    """This process' slice of a whole tensor that goes with `weight`; itself, for a weight that is not sharded."""
    if not isinstance(weight, DTensor) or whole.shape != weight.shape:
        return whole
    placed = whole.to(weight.device)
    return distribute_tensor(placed, weight.device_mesh, weight.placements, src_data_rank=None)


def own_part(tensors: Mapping[str, Tensor], world: World) -> dict[str, Tensor]:
    """Every `size`th tensor, whole, for this process to keep: together the processes have all, and none has all at once."""
    return _whole(tensors, lambda number: number % world.size == world.rank)


def for_main(tensors: Mapping[str, Tensor], world: World) -> dict[str, Tensor]:
    """All of them, whole, on the main process; nothing on the others."""
    return _whole(tensors, lambda number: world.is_main)


def _whole(tensors: Mapping[str, Tensor], kept: Callable[[int], bool]) -> dict[str, Tensor]:
    found = {}
    for number, (name, tensor) in enumerate(tensors.items()):
        whole = tensor.full_tensor().detach() if isinstance(tensor, DTensor) else tensor.detach()
        if kept(number):
            found[name] = whole.cpu().contiguous()
    return found
