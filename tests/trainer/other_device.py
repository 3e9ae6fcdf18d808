"""A second device that is not the CPU, made of the CPU: what stays on the wrong side is refused, as on a GPU.

Its tensors hold CPU tensors and compute with them, but an operation on tensors of both devices raises. So a run on it goes
to its end only where everything is moved as a GPU needs it.

    python -m tests.trainer.other_device SPEC RUN_DIR       runs a spec on it
"""

import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._device import _device_constructors
from torch.utils._python_dispatch import return_and_correct_aliasing
from torch.utils._pytree import tree_flatten, tree_map, tree_map_only
from torch.utils.backend_registration import _DummyBackendModule, _setup_privateuseone_for_python_backend

from trainer.cli import load_spec
from trainer.run import process

NAME = "other"
_COPIES = {torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default, torch.ops.aten._copy_from.default}
_INDEXING = {
    torch.ops.aten.index.Tensor,
    torch.ops.aten.index_put_.default,
    torch.ops.aten.index_put.default,
    torch.ops.aten._index_put_impl_.default,
}
"""They take indices from the CPU, on a GPU too."""


class OnOtherDevice(Tensor):
    """A tensor of the other device."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor) -> "OnOtherDevice":
        made = Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls,
            held.shape,
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device=torch.device(NAME, 0),
            requires_grad=False,
        )
        made.held = held
        return made

    def tolist(self) -> Any:
        """Copies on a GPU too."""
        return self.held.tolist()

    def untyped_storage(self) -> Any:
        """The storage by which safetensors recognises tied weights."""
        return self.held.untyped_storage()

    def storage(self) -> Any:
        return self.held.storage()

    def data_ptr(self) -> int:
        return self.held.data_ptr()

    def __deepcopy__(self, memo: Any) -> Tensor:
        copy = OnOtherDevice(self.held.detach().clone())
        return nn.Parameter(copy, self.requires_grad) if isinstance(self, nn.Parameter) else copy

    def __getitem__(self, index: Any) -> Any:
        """Lists of numbers become tensors of the device without the dispatcher's knowledge: here first, as `torch.tensor`."""
        return super().__getitem__(tree_map_only(list, lambda numbers: torch.tensor(numbers), index, is_leaf=_is_list))

    def __repr__(self) -> str:
        return f"OnOtherDevice({self.held!r})"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _computed(func, args, kwargs or {})


def _computed(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    if func not in _COPIES:
        _refuse_mixed(func, args, kwargs)
    there = _stays_there(func, args, kwargs)
    held_args, held_kwargs = tree_map(_held, args), tree_map(_held, kwargs)
    out = func(*held_args, **held_kwargs)
    if not there:
        return out
    wrapped = tree_map(lambda value: OnOtherDevice(value) if isinstance(value, Tensor) else value, out)
    return return_and_correct_aliasing(func, args, kwargs, wrapped)


def _refuse_mixed(func: Any, args: Any, kwargs: dict[str, Any]) -> None:
    looked_at = args[:1] + args[2:] if func in _INDEXING else args
    tensors = [value for value in tree_flatten((looked_at, kwargs))[0] if isinstance(value, Tensor)]
    theirs = [value for value in tensors if isinstance(value, OnOtherDevice)]
    ours = [value for value in tensors if not isinstance(value, OnOtherDevice) and value.dim() > 0]
    if theirs and ours:
        raise RuntimeError(f"{func}: tensors on two devices, {NAME} and cpu (of shape {tuple(ours[0].shape)})")


def _stays_there(func: Any, args: Any, kwargs: dict[str, Any]) -> bool:
    wanted = kwargs.get("device")
    if wanted is not None:
        return torch.device(wanted).type == NAME
    if func is torch.ops.aten.copy_.default:
        return isinstance(args[0], OnOtherDevice)
    return any(isinstance(value, OnOtherDevice) for value in tree_flatten((args, kwargs))[0])


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _held(value: Any) -> Any:
    if isinstance(value, OnOtherDevice):
        return value.held
    return torch.device("cpu") if isinstance(value, torch.device) and value.type == NAME else value


class _Backend(_DummyBackendModule):
    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.bfloat16, torch.float16]


_library: list[Any] = []


def install() -> torch.device:
    """Make the device known to this process; once."""
    if not _library:
        _setup_privateuseone_for_python_backend(NAME, _Backend())
        library = torch.library.Library("_", "IMPL", "PrivateUse1")
        library.fallback(lambda func, *args, **kwargs: _computed(func, args, kwargs))
        _library.append(library)
        _made_here_first()
    return torch.device(NAME)


def _made_here_first() -> None:
    """torch.tensor skips the dispatcher, so the other device never gets the call. The tensor is made on the CPU, and moved."""
    plain, plain_new = torch.tensor, Tensor.new_tensor
    _device_constructors()  # so that `with torch.device("meta")` patches the plain constructor

    def tensor(data: Any, *, device: Any = None, **options: Any) -> Tensor:
        made = plain(data, **options)
        return made if device is None else made.to(device)

    def new_tensor(self: Tensor, data: Any, *, device: Any = None, **options: Any) -> Tensor:
        if not isinstance(self, OnOtherDevice):
            return plain_new(self, data, device=device, **options)
        return plain(data, **({"dtype": self.dtype} | options)).to(device or self.device)

    torch.tensor, Tensor.new_tensor = tensor, new_tensor  # type: ignore[assignment,method-assign]


def main(spec: str, run_dir: str) -> None:
    device = install()
    process.device_of = lambda runtime, world: device
    process.run_in_process(load_spec(Path(spec)), Path(run_dir))


if __name__ == "__main__":
    main(*sys.argv[1:])
