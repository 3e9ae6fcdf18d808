"""Fake tensors whose whole numbers are known.

The trainer's forward passes decide by lengths, masks and positions, never by what a model computes. So floating-point
tensors are faked, and small integer and boolean ones keep their values: the trainer's own code then runs unchanged.
"""

from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._mode_utils import no_dispatch

from trainer.models.sequences import Batch

_aten = torch.ops.aten
_FACTORIES = {
    _aten.arange.default, _aten.arange.start, _aten.arange.start_step,
    _aten.full.default, _aten.ones.default, _aten.zeros.default,
}  # fmt: skip
_LARGEST = 1 << 24
"""Numbers in a tensor whose values are kept."""


class KnownNumbers(FakeTensorMode):
    """A fake tensor mode in which integers and booleans on the CPU are real."""

    def may_turn_const(self, t: Tensor) -> bool:
        """Overrides torch's own rule, by which a single number may be kept."""
        return self._may_be_kept(t) or super().may_turn_const(t)

    def _may_be_kept(self, tensor: Tensor) -> bool:
        whole = not (tensor.is_floating_point() or tensor.is_complex())
        return whole and tensor.device.type == "cpu" and tensor.numel() < _LARGEST and not self.is_our_fake(tensor)

    def dispatch(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _FACTORIES and not kwargs.get("pin_memory"):
            with no_dispatch():
                made = func(*args, **kwargs)
            return self.known(made) if self._may_be_kept(made) else self.from_tensor(made)
        if func is _aten.count_nonzero.default and getattr(args[0], "constant", None) is None:
            with no_dispatch():
                everyone = torch.tensor(args[0].numel())
            return self.known(everyone)  # of rows that drew we know not what: all go on
        return super().dispatch(func, types, args, kwargs)

    def known(self, real: Tensor) -> Tensor:
        """A fake tensor with these values."""
        fake: Tensor = self.fake_tensor_converter.from_real_tensor(self, real, make_constant=True)
        return fake

    def batch(self, prompts: tuple[int, ...], completions: tuple[int, ...]) -> Batch:
        """A batch of sequences of these lengths."""
        real = Batch.of([[0] * n for n in prompts], [[0] * n for n in completions], pad_id=0)
        batch = Batch(self.known(real.input_ids_BT), prompts, completions)
        for name in ("prompt_lengths_B", "completion_lengths_B"):
            vars(batch)[name] = self.known(getattr(real, name))
        return batch
