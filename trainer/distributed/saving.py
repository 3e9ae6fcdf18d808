"""Saving models and tensors from several processes.

The main process writes what all processes hold. Each process writes its part of what is sharded. Every tensor is written
whole, by one process, so a checkpoint can be loaded by another number of processes.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from safetensors.torch import save_file
from torch import Tensor

from trainer.distributed.sharding import for_main, is_sharded, own_part
from trainer.distributed.world import World
from trainer.models import Model, save_result

_INDEX = "model.safetensors.index.json"


def save_tensors(folder: Path, name: str, tensors: Mapping[str, Tensor], world: World) -> None:
    """Write `name`.safetensors or, for sharded tensors, one file from each process."""
    if not world.sharded:
        if world.is_main:
            save_file({key: value.contiguous() for key, value in tensors.items()}, folder / f"{name}.safetensors")
        return
    save_file(own_part(tensors, world), folder / _of_several(name, world.rank, world))


def save_weights(folder: Path, model: Model, world: World) -> None:
    """Save a model in transformers' format. A sharded model takes one file for each process, and transformers' index."""
    if not is_sharded(model):
        if world.is_main:
            model.save_pretrained(folder)
        return
    if world.is_main:
        folder.mkdir(exist_ok=True)
        model.config.architectures = [type(model).__name__.removeprefix("FSDP")]
        model.config.save_pretrained(folder)
        if getattr(model, "can_generate", lambda: False)() and model.generation_config is not None:
            model.generation_config.save_pretrained(folder)
        files = {name: _of_several("model", number % world.size, world) for number, name in enumerate(_weights(model))}
        size = sum(weight.numel() * weight.element_size() for weight in _weights(model).values())
        (folder / _INDEX).write_text(json.dumps({"metadata": {"total_size": size}, "weight_map": files}, indent=2))
    world.barrier()
    save_file(own_part(_weights(model), world), folder / _of_several("model", world.rank, world), {"format": "pt"})


def save_whole(folder: Path, model: Model, world: World) -> None:
    """Save a plain transformers folder from the main process, which needs memory for all weights."""
    if not is_sharded(model):
        if world.is_main:
            save_result(model, folder)
        return
    whole = for_main(_weights(model), world)
    if world.is_main:
        model.save_pretrained(folder, state_dict=whole)


def _weights(model: Model) -> dict[str, Tensor]:
    """Parameters by name, tied ones once, and the buffers of the state dictionary."""
    names = model.state_dict().keys()
    return dict(model.named_parameters()) | {name: value for name, value in model.named_buffers() if name in names}


def _of_several(name: str, rank: int, world: World) -> str:
    return f"{name}-{rank + 1:05d}-of-{world.size:05d}.safetensors"
