"""Gradient checkpointing: a layer keeps only its inputs for the backward pass and computes the rest again (Chen et al. 2016).

transformers' own switch works in train mode only, which turns dropout on. Here each layer decides by itself: where
gradients are taken it is recomputed, else (sampling with a cache, scoring) it runs as ever.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from transformers.modeling_layers import GradientCheckpointingLayer

from trainer.errors import ModelError

AsNow = Callable[[], AbstractContextManager[None]]
"""Called in the forward pass: the context in which the layer must be computed again for the same result."""


def recompute_layers(model: nn.Module, as_now: AsNow = nullcontext) -> None:
    """Let every layer of `model` be computed again in the backward pass, inside `as_now()`.

    Raises ModelError where the architecture has no layers that can be.
    """
    layers = [module for module in model.modules() if isinstance(module, GradientCheckpointingLayer)]
    if not layers:
        raise ModelError(
            f"{type(model).__name__}: this architecture has no layers for `model.gradient_checkpointing`. Set it to false."
        )
    for layer in layers:
        layer.forward = partial(_recomputed, layer.forward, as_now)  # a partial, so that a deep copy owns its layers


def _recomputed(forward: Callable[..., Any], as_now: AsNow, *args: Any, **kwargs: Any) -> Any:
    if not torch.is_grad_enabled():
        return forward(*args, **kwargs)
    contexts = lambda: (nullcontext(), as_now())  # noqa: E731
    # Nothing in a layer is random, so there is no generator to wind back.
    return checkpoint(forward, *args, use_reentrant=False, preserve_rng_state=False, context_fn=contexts, **kwargs)
