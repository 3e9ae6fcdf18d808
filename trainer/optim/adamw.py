"""The optimizers: torch's fused AdamW, and an AdamW whose state may be in host memory or in another type.

`offload` keeps moments and masters in host memory, where the CPU takes the step. Gradients are copied down and weights
copied back, so the device holds only weights and gradients (Ren et al. 2021, "ZeRO-Offload", without its overlap). Weights
in bfloat16 are rounded copies of fp32 masters (Micikevicius et al. 2018, §3.1), so steps smaller than the last bit of a
bfloat16 add up in the master.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from trainer.optim.moments import AdamWRule, EightBitEntry, advance, advance_together, fresh, in_eight_bits
from trainer.spec import OptimizerSpec


class PlainAdamW(torch.optim.AdamW):
    """torch's AdamW, for fp32 weights with their moments on the same device."""

    def tensors(self) -> dict[str, Tensor]:
        return flat(self.state_dict()["state"])

    def load_tensors(self, tensors: dict[str, Tensor]) -> None:
        self.load_state_dict({"state": nested(tensors), "param_groups": self.state_dict()["param_groups"]})


def flat(state: Mapping[int, Mapping[str, Any]]) -> dict[str, Tensor]:
    """A state dictionary with keys `<parameter's number>.<name>`."""
    return {f"{index}.{name}": value for index, entry in state.items() for name, value in entry.items()}


def nested(tensors: Mapping[str, Tensor]) -> dict[int, dict[str, Tensor]]:
    """The inverse of `flat`."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        index, name = key.split(".", 1)
        state.setdefault(int(index), {})[name] = value
    return state


_HOST = torch.device("cpu")


class TensorwiseAdamW(torch.optim.Optimizer):
    """AdamW tensor by tensor. 8-bit moments of several tensors are advanced together, `moments.AT_ONCE` numbers at a time."""

    def __init__(
        self,
        groups: Iterable[dict[str, Any]],
        lr: float,
        betas: tuple[float, float],
        eps: float,
        *,
        offload: bool = False,
        eight_bit: bool = False,
    ) -> None:
        super().__init__(groups, {"lr": lr, "betas": betas, "eps": eps})
        self._offload = offload
        self._eight_bit = eight_bit
        self._ours = [parameter for group in self.param_groups for parameter in group["params"]]
        self._staging: dict[tuple[str, torch.dtype], Tensor] = {}
        for parameter in self._ours:
            if parameter.dtype != torch.float32:
                self.state[parameter]["master"] = self._master_of(parameter)

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """One step of every parameter that has a gradient."""
        rules = [
            (AdamWRule(group["lr"], group["betas"], group["eps"], group["weight_decay"]), parameter)
            for group in self.param_groups
            for parameter in group["params"]
        ]
        together: dict[tuple[AdamWRule, torch.device, int], list[tuple[int, nn.Parameter, EightBitEntry]]] = {}
        for number, (rule, parameter) in enumerate(rules):
            if parameter.grad is not None and not self._offload and self._is_in_eight_bits(parameter):
                entry = self._entry(parameter)
                alike = (rule, entry.weight.device, entry.steps())
                together.setdefault(alike, []).append((number, parameter, entry))
            elif parameter.grad is not None:
                self._step(number, parameter, rule)
        for (rule, _, _), found in together.items():
            advance_together([entry for *_, entry in found], rule, seed=found[0][0])
            moved = [(parameter, entry.weight) for _, parameter, entry in found if entry.weight is not parameter]
            if moved:
                torch._foreach_copy_([parameter for parameter, _ in moved], [weight for _, weight in moved])

    def _is_in_eight_bits(self, parameter: nn.Parameter) -> bool:
        kept = self.state[parameter]
        if "step" not in kept:
            kept |= fresh(kept.get("master", parameter), self._eight_bit)
        return in_eight_bits(kept)

    def _entry(self, parameter: nn.Parameter) -> EightBitEntry:
        kept = self.state[parameter]
        weight = kept.get("master", parameter).contiguous()
        assert parameter.grad is not None  # checked by the caller
        return EightBitEntry(kept, weight, parameter.grad)

    def _step(self, number: int, parameter: nn.Parameter, rule: AdamWRule) -> None:
        kept = self.state[parameter]
        weight = kept["master"] if "master" in kept else self._down(parameter, "weight").contiguous()
        if "step" not in kept:
            kept |= fresh(weight, self._eight_bit)
        assert parameter.grad is not None  # checked by the caller
        gradient = self._down(parameter.grad, "gradient").to(torch.float32).contiguous()
        if in_eight_bits(kept):
            advance_together([EightBitEntry(kept, weight, gradient)], rule, seed=number)
        else:
            advance(kept, weight, gradient, rule)
        if weight is not parameter:
            self._up(weight, parameter)

    def tensors(self) -> dict[str, Tensor]:
        return flat({number: self.state[parameter] for number, parameter in enumerate(self._ours)})

    @torch.no_grad()
    def load_tensors(self, tensors: dict[str, Tensor]) -> None:
        for number, entry in nested(tensors).items():
            parameter = self._ours[number]
            stays = {"step"} if in_eight_bits(entry) else set()  # which stays in host memory
            self.state[parameter] = {
                name: value if name in stays else value.to(self._home(parameter)) for name, value in entry.items()
            }
            if "master" in entry:
                parameter.copy_(entry["master"])

    def _master_of(self, parameter: Tensor) -> Tensor:
        return parameter.detach().to(self._home(parameter), torch.float32).contiguous()

    def _home(self, parameter: Tensor) -> torch.device:
        return _HOST if self._offload else parameter.device

    def _down(self, tensor: Tensor, use: str) -> Tensor:
        """`tensor` on the device of the step: itself, or a copy in host memory of the same type."""
        return self._staged(tensor, use).copy_(tensor) if self._offload else tensor

    def _up(self, weight: Tensor, parameter: nn.Parameter) -> None:
        rounded = weight.to(parameter.dtype)
        parameter.copy_(self._staged(parameter, "weight").copy_(rounded) if self._offload else rounded)

    def _staged(self, like: Tensor, use: str) -> Tensor:
        """A reused buffer in host memory with the type and shape of `like`, pinned for copies from a GPU.

        Pinned memory is allocated in powers of two, so state that stays for the whole run is not pinned.
        """
        key = (use, like.dtype)
        if key not in self._staging:
            largest = max(parameter.numel() for parameter in self._ours)
            self._staging[key] = torch.empty(largest, dtype=like.dtype, pin_memory=like.is_cuda)
        return self._staging[key][: like.numel()].view(like.shape)


BETAS = (0.9, 0.999)


class Optimizer(Protocol):
    """The methods of an optimizer that a learner uses."""

    param_groups: list[dict[str, Any]]

    def step(self) -> Any: ...

    def zero_grad(self, set_to_none: bool = True) -> None: ...

    def tensors(self) -> dict[str, Tensor]:
        """Moments, step counts and masters as flat tensors by `<parameter>.<name>`, for safetensors."""
        ...

    def load_tensors(self, tensors: dict[str, Tensor]) -> None:
        """Restore a state that `tensors` returned."""
        ...


def optimizer_for(parameters: Sequence[nn.Parameter], spec: OptimizerSpec, lr: float, eps: float) -> Optimizer:
    """AdamW over the `parameters` that take gradients. Weight decay applies to matrices only.

    Gradients of bfloat16 weights that come in several micro-batches are added in float32. With 8 bits of mantissa, a sum
    does not change by an addend 512 times smaller.
    """
    learning = [parameter for parameter in parameters if parameter.requires_grad]
    small = [parameter for parameter in learning if _is_small(parameter)]
    for parameter in small if spec.accumulates else ():
        parameter.grad_dtype = torch.float32
    groups = _groups(learning, spec.weight_decay)
    offload = spec.offload_optimizer and any(parameter.device.type != "cpu" for parameter in learning)
    if offload or small or spec.optimizer == "adamw_8bit":
        return TensorwiseAdamW(groups, lr, BETAS, eps, offload=offload, eight_bit=spec.optimizer == "adamw_8bit")
    return PlainAdamW(groups, lr=lr, betas=BETAS, eps=eps, fused=_can_fuse(learning))


def _is_small(parameter: nn.Parameter) -> bool:
    return parameter.dtype == torch.bfloat16


def _can_fuse(parameters: Sequence[nn.Parameter]) -> bool:
    """Whether torch's fused step, one kernel without temporaries, supports these parameters."""
    return all(p.device.type in ("cpu", "cuda") and p.is_floating_point() for p in parameters)


def _groups(parameters: Sequence[nn.Parameter], weight_decay: float) -> list[dict[str, Any]]:
    matrices = [parameter for parameter in parameters if parameter.ndim >= 2]
    vectors = [parameter for parameter in parameters if parameter.ndim < 2]
    return [{"params": matrices, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0}]
