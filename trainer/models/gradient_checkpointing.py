"""Gradient checkpointing: a layer keeps only its inputs for the backward pass and computes the rest again (Chen et al. 2016).

transformers' own switch works only in train mode, which turns dropout on. Here a layer is recomputed wherever gradients
are taken. Passes without gradients (sampling with a cache, scoring) run unchanged.
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

CurrentContext = Callable[[], AbstractContextManager[None]]
"""Called in the forward pass; returns the context in which the layer is computed again, with the same adapter active."""


def recompute_layers(model: nn.Module, context: CurrentContext = nullcontext) -> None:
    """Let every layer of `model` be computed again in the backward pass, inside `context()`.

    Raises ModelError where the architecture has no layers that support it.
    """
    layers = [module for module in model.modules() if isinstance(module, GradientCheckpointingLayer)]
    if not layers:
        raise ModelError(
            f"{type(model).__name__}: this architecture has no layers for `model.gradient_checkpointing`. Set it to false."
        )
    for layer in layers:
        layer.forward = partial(
            _recomputed, layer.forward, context
        )  # a partial, so that a deep copy refers to its own layers


def _recomputed(forward: Callable[..., Any], context: CurrentContext, *args: Any, **kwargs: Any) -> Any:
    if not torch.is_grad_enabled():
        return forward(*args, **kwargs)
    contexts = lambda: (nullcontext(), context())  # noqa: E731
    # A layer draws no random numbers, so the generator's state need not be restored.
    return checkpoint(forward, *args, use_reentrant=False, preserve_rng_state=False, context_fn=contexts, **kwargs)
