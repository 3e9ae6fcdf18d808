"""Passes that all processes must make together."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

from torch import Tensor

from trainer.distributed.world import World
from trainer.models import Model, present

T = TypeVar("T")


def is_sharded(model: Model | None) -> bool:
    return getattr(model, "run_inside", None) is not None


def in_step(parts: Sequence[T], world: World, *models: Model | None) -> Iterator[T]:
    """This process' micro-batches. Where a model is sharded all processes make as many passes as whoever has the most: the
    others' last ones add nothing. `models` in the order in which each micro-batch goes forward and back through them."""
    sharded = [model for model in models if is_sharded(model)]
    most = max(world.everyones(len(parts))) if sharded else len(parts)
    yield from parts
    for _ in range(most - len(parts)):
        for model in sharded:
            from trainer.distributed.sharding import empty_pass

            empty_pass(model)


def layerwise(model: Model | None) -> AbstractContextManager[None]:
    """As `present`, where all processes make the same passes: one that is sharded need not be gathered as a whole."""
    return nullcontext() if is_sharded(model) else present(model)


def slice_of(whole: Tensor, weight: Tensor) -> Tensor:
    """What this process holds of a whole tensor that goes with `weight`."""
    if not hasattr(weight, "full_tensor"):
        return whole
    from trainer.distributed.sharding import slice_like

    return slice_like(whole, weight)
