"""torch.compile for the layers' unpadded passes: norms, rotary embedding and gated feed-forward become a few kernels.

Only training and scoring go through it. A decoding step, whose cache is another object each time, stays as it was.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import torch
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_utils import AttentionInterface

from trainer.errors import ModelError
from trainer.models.attention import NAME, attention_forward
from trainer.models.heads import Model

_VARIANTS = 64
"""Versions of one layer that are kept: with and without gradients, for each adapter that is switched on."""


def compile_layers(model: Model) -> None:
    """Let every layer of `model` be compiled when it first meets sequences laid end to end.

    Before gradient checkpointing is set up: what is computed again is then compiled too. Raises ModelError where the
    architecture has no layers to take, or this machine cannot compile.
    """
    layers = [module for module in model.modules() if isinstance(module, GradientCheckpointingLayer)]
    if not layers:
        raise ModelError(
            f"{type(model).__name__}: this architecture has no layers for `runtime.compile`. Set it to false."
        )
    _require_a_compiler(model.device.type)
    # what it does depends on lengths that are Python numbers: compiled, each batch would be another program
    AttentionInterface.register(NAME, torch.compiler.disable(attention_forward))
    for layer in layers:
        # a partial over the layer itself, so that a deep copy owns its layers
        layer.forward = partial(_forward, type(layer), layer)


def _forward(kind: Any, layer: Any, *args: Any, **kwargs: Any) -> Any:
    run = _compiled(kind) if kwargs.get("layout") is not None else kind.forward
    return run(layer, *args, **kwargs)


@cache
def _compiled(kind: Any) -> Callable[..., Any]:
    """One program for all layers of a kind, for any number of tokens."""
    torch._dynamo.config.recompile_limit = max(torch._dynamo.config.recompile_limit, _VARIANTS)
    program: Callable[..., Any] = torch.compile(kind.forward, dynamic=True)
    return program


@cache
def _require_a_compiler(device: str) -> None:
    try:
        torch.compile(lambda values: values.sin() + 1, dynamic=True)(torch.ones(8, device=device))
    except (RuntimeError, ImportError, OSError) as error:
        needed = "a C++ compiler" if device == "cpu" else "Triton and a C compiler"
        reason = str(error).strip().splitlines()[0]
        raise ModelError(
            f"`runtime.compile`: nothing can be compiled here ({reason}). Install {needed}, or set it to false."
        ) from error
