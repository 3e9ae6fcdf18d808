"""Counts the bytes that a computation would hold, by running the model's own code on fake tensors.

A fake tensor (`torch._subclasses.FakeTensorMode`) has a shape, a type and a storage size, but no memory behind it, and
every operation runs as its shape function alone. A forward and backward pass of a 7B model takes a second. Tensors have
the lifetimes of a real run, for every architecture. The idea is that of PyTorch's own
`torch.distributed._tools.MemTracker` and of torchtitan's memory estimation; closed forms (trainer/preflight/memory/passes.py)
know one architecture and one kernel.
"""

import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from trainer.models import output_layer
from trainer.models.attention import Packing, attention_forward
from trainer.models.heads import Model, underlying

_DEVICE = torch.ops.prim.device.default
_OWN_ATTENTION = ("falcon", "gpt_neo", "gptj")
"""Architectures with attention classes of their own, by name, to which no other can be added."""
_PLAIN, _GPU, _MATH, _MASKED = (f"proximal_counted{suffix}" for suffix in ("", "_gpu", "_math", "_masked"))


class LiveBytes(TorchDispatchMode):
    """Counts the live bytes of tensors that are created while inside, and their peak. Works on real tensors too.

    `aside`: bytes that the caller counts separately. `peak_beside`: the peak of the others.
    """

    def __init__(self, before: Iterable[Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.live = 0
        self.peak = 0
        self.aside = 0
        self.peak_beside = 0
        self._known: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        for tensor in before:
            self._known[tensor.untyped_storage()] = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is _DEVICE and isinstance(args[0], FakeTensor):
            return args[0].fake_device  # two of three dispatches are this one, and each would pass through all modes
        out = func(*args, **(kwargs or {}))
        for tensor in tree_flatten(out)[0]:
            if isinstance(tensor, Tensor):
                self._meet(tensor.untyped_storage())
        return out

    def _meet(self, storage: Any) -> None:
        if storage in self._known:
            return
        size = storage.nbytes()
        self._known[storage] = size
        self.live += size
        self.peak = max(self.peak, self.live)
        self.peak_beside = max(self.peak_beside, self.live - self.aside)
        weakref.finalize(storage, self._part_with, size)

    def _part_with(self, size: int) -> None:
        self.live -= size


def attention_for(device: str, dtype: torch.dtype, config: Any) -> str:
    """Name of the attention that holds what `sdpa` would hold on `device`.

    Without padding transformers leaves the mask out, which it cannot decide on fake tensors. CUDA has no kernel for
    grouped heads in float32 that spares the matrix of scores, so there that matrix is counted.
    """
    heads = getattr(config, "num_attention_heads", 1)
    if config.model_type in _OWN_ATTENTION:
        return "eager"
    grouped = (getattr(config, "num_key_value_heads", None) or heads) != heads
    if device == "cpu":
        return _PLAIN
    return _MATH if dtype == torch.float32 and grouped else _GPU


def assume_packs(model: Model, packing: Packing) -> None:
    """Mark a fake model as one that computes packed sequences as single ones, which cannot be tested without values."""
    model._packing, model._packs = packing, True


def _attention(module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Any, **rest: Any) -> Any:
    return attention_forward(module, query, key, value, None, **rest)


def _gpu_attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Any, *, layout: Any = None, **rest: Any
) -> Any:
    """Flash attention of packed sequences, which holds as much as one sequence of their total length."""
    if layout is not None:
        key, value = key.contiguous(), value.contiguous()
    return attention_forward(module, query, key, value, None, **rest)


def _math_attention(*args: Any, **kwargs: Any) -> Any:
    with sdpa_kernel(SDPBackend.MATH):
        return _attention(*args, **kwargs)


@contextmanager
def as_on(device: str) -> Iterator[None]:
    """While inside, the output layer splits its work as on `device`. All fake tensors are on a CPU."""
    before = output_layer._CACHED_ELEMENTS
    if device == "cuda":
        output_layer._CACHED_ELEMENTS = output_layer._AT_ONCE_ELEMENTS
    try:
        yield
    finally:
        output_layer._CACHED_ELEMENTS = before


@contextmanager
def with_masks(model: Model) -> Iterator[None]:
    """While inside, the model's attention takes masks, as for sequences that are padded at the left."""
    module = underlying(model)
    before = module.config._attn_implementation
    module.set_attn_implementation(_MASKED)
    try:
        yield
    finally:
        module.set_attn_implementation(before)


AttentionInterface.register(_MASKED, attention_forward)
AttentionMaskInterface.register(_MASKED, sdpa_mask)
AttentionInterface.register(_PLAIN, _attention)
AttentionInterface.register(_GPU, _gpu_attention)
AttentionInterface.register(_MATH, _math_attention)
