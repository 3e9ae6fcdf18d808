"""A model of which each process holds a slice (ZeRO stage 3, Rajbhandari et al. 2020), by torch's fully_shard (FSDP2).

Each layer's weights are gathered for its forward and its backward pass and freed after it. They are sent in bfloat16 where
the passes compute in bfloat16. Gradients and optimizer states exist in slices only.

Two rules follow. Code that uses weights runs inside one call of the wrapped model (`run_inside`). All processes make the
same number of passes with gradients, in the same order (`in_step`), because each pass is a collective. Passes without
gradients (sampling, scoring) run inside `present`, which gathers the whole model, so their number may differ.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import TypeVar

import torch
from torch import Tensor

from trainer.distributed.world import World
from trainer.errors import ModelError
from trainer.models import Model, autocast, present
from trainer.models.attention import packs

T = TypeVar("T")


def shard(model: Model, world: World, device: torch.device) -> Model:
    """Reduce `model` to this process' slice of each weight, on the device. Every process calls it with the same model.

    A model in host memory is moved layer by layer, and each layer is sliced before the next one is moved. The device never
    holds more than the slices and one layer. Raises ModelError for an architecture without decoder layers.
    """
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard, register_fsdp_forward_method
    from transformers.modeling_layers import GradientCheckpointingLayer

    layers = [module for module in model.modules() if isinstance(module, GradientCheckpointingLayer)]
    if not layers:
        raise ModelError(f"{type(model).__name__}: this architecture has no layers for `runtime.sharding`.")
    mesh = init_device_mesh(device.type, (world.size,))
    computed = getattr(model, "compute_dtype", torch.float32)
    # autocast would cast the gathered layers to this type anyway; other weights keep their types.
    # Activations between layers are not cast. Gradients are summed in float32.
    narrow = MixedPrecisionPolicy(param_dtype=computed, reduce_dtype=torch.float32, cast_forward_inputs=False)
    for layer in layers:
        fully_shard(layer, mesh=mesh, mp_policy=narrow if computed == torch.bfloat16 else MixedPrecisionPolicy())
    fully_shard(model, mesh=mesh)
    for module in model.modules():
        if isinstance(module, FSDPModule):
            module.set_gradient_divide_factor(1.0)  # each process already divides by the global number of rows
            module.set_force_sum_reduction_for_comms(True)
    model.run_inside = partial(_run, model)
    register_fsdp_forward_method(model, "run_inside")  # the root's own weights: embeddings, norm, head
    model.absent_weights = ShardedWeights(model)
    with autocast(model):  # the gathered layers have the type of the passes
        model.run_inside(packs)  # its trial gathers layer by layer, as any pass of the wrapped model does
    model.reshard()  # after a pass without gradients the root's own weights stay gathered
    return model


class ShardedWeights:
    """Gathers a sharded model for `present`."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._visits = 0

    @property
    def is_present(self) -> bool:
        return self._visits > 0

    @contextmanager
    def here(self) -> Iterator[None]:
        """While inside, each process holds the whole model. All processes enter and leave together."""
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
    """Make a forward and a backward pass that add nothing to the gradient."""

    def work(inner: Model) -> Tensor:
        ids = torch.zeros(1, 2, dtype=torch.long, device=inner.device)
        hidden: Tensor = inner.base_model(input_ids=ids, use_cache=False).last_hidden_state
        head = inner.get_output_embeddings() if getattr(inner, "score", None) is None else inner.score
        out: Tensor = head(hidden)
        return 0.0 * out.float().sum()

    model.run_inside(work).backward()


def own_part(tensors: Mapping[str, Tensor], world: World) -> dict[str, Tensor]:
    """Every `size`th tensor, whole, beginning with this process' rank. Together the processes return all tensors."""
    return _whole(tensors, lambda number: number % world.size == world.rank)


def for_main(tensors: Mapping[str, Tensor], world: World) -> dict[str, Tensor]:
    """All tensors, whole, in the main process; an empty dictionary in the others."""
    return _whole(tensors, lambda number: world.is_main)


def _whole(tensors: Mapping[str, Tensor], kept: Callable[[int], bool]) -> dict[str, Tensor]:
    found = {}
    for number, (name, tensor) in enumerate(tensors.items()):
        whole = (tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor).detach()
        if kept(number):
            found[name] = whole.cpu().contiguous()
    return found


def is_sharded(model: Model | None) -> bool:
    return getattr(model, "run_inside", None) is not None


def in_step(parts: Sequence[T], world: World, *models: Model | None) -> Iterator[T]:
    """This process' micro-batches, then empty passes up to the largest number of micro-batches of any process.

    Without sharded models there are no empty passes. `models`: in the order in which a micro-batch passes through them.
    """
    sharded = [model for model in models if is_sharded(model)]
    most = max(world.all_gather_object(len(parts))) if sharded else len(parts)
    yield from parts
    for _ in range(most - len(parts)):
        for model in sharded:
            empty_pass(model)


def layerwise(model: Model | None) -> AbstractContextManager[None]:
    """Like `present`, for passes that all processes make alike. A sharded model is then gathered layer by layer, not whole."""
    return nullcontext() if is_sharded(model) else present(model)


def slice_of(whole: Tensor, weight: Tensor) -> Tensor:
    """This process' slice of a whole tensor, cut as `weight` is; the tensor itself where the weight is not sharded."""
    if not hasattr(weight, "full_tensor") or whole.shape != weight.shape:
        return whole
    from torch.distributed.tensor import DTensor, distribute_tensor  # takes a second to import

    assert isinstance(weight, DTensor)  # the only tensors with `full_tensor`
    placed = whole.to(weight.device)
    return distribute_tensor(placed, weight.device_mesh, weight.placements, src_data_rank=None)
