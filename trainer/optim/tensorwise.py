"""AdamW whose state may be elsewhere, or in another type, than the weights: one tensor at a time, but for moments in 8 bits,
which are taken out of them for many tensors together.

`offload`: moments and masters are in host memory, and the CPU takes the step; the gradient comes down, the weights go back,
so that the device holds weights and gradients alone (Ren et al. 2021, "ZeRO-Offload", without its overlap). Weights in
bfloat16 are rounded copies of fp32 masters (Micikevicius et al. 2018, §3.1): a step smaller than a bfloat16's last bit is
not lost, it adds up in the master.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from trainer.optim.moments import Entry, Rule, advance, advance_together, fresh, in_eight_bits
from trainer.optim.plain import flat, nested

_HOST = torch.device("cpu")


class TensorwiseAdamW(torch.optim.Optimizer):
    """Temporaries exist for one tensor at a time, or for as many numbers as `moments.AT_ONCE`."""

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
            (Rule(group["lr"], group["betas"], group["eps"], group["weight_decay"]), parameter)
            for group in self.param_groups
            for parameter in group["params"]
        ]
        together: dict[tuple[Rule, torch.device, int], list[tuple[int, nn.Parameter, Entry]]] = {}
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

    def _entry(self, parameter: nn.Parameter) -> Entry:
        kept = self.state[parameter]
        weight = kept.get("master", parameter).contiguous()
        assert parameter.grad is not None  # the caller has looked
        return Entry(kept, weight, parameter.grad)

    def _step(self, number: int, parameter: nn.Parameter, rule: Rule) -> None:
        kept = self.state[parameter]
        weight = kept["master"] if "master" in kept else self._down(parameter, "weight").contiguous()
        if "step" not in kept:
            kept |= fresh(weight, self._eight_bit)
        assert parameter.grad is not None  # the caller has looked
        gradient = self._down(parameter.grad, "gradient").to(torch.float32).contiguous()
        if in_eight_bits(kept):
            advance_together([Entry(kept, weight, gradient)], rule, seed=number)
        else:
            advance(kept, weight, gradient, rule)
        if weight is not parameter:
            self._up(weight, parameter)

    def tensors(self) -> dict[str, Tensor]:
        return flat({number: self.state[parameter] for number, parameter in enumerate(self._ours)})

    @torch.no_grad()
    def put_back(self, tensors: dict[str, Tensor]) -> None:
        for number, entry in nested(tensors).items():
            parameter = self._ours[number]
            stays = {"step"} if in_eight_bits(entry) else set()  # in host memory
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
        """`tensor` where the step is taken: itself if it is there, else a copy, in its own type."""
        return self._staged(tensor, use).copy_(tensor) if self._offload else tensor

    def _up(self, weight: Tensor, parameter: nn.Parameter) -> None:
        rounded = weight.to(parameter.dtype)
        parameter.copy_(self._staged(parameter, "weight").copy_(rounded) if self._offload else rounded)

    def _staged(self, like: Tensor, use: str) -> Tensor:
        """Host memory of that type and shape for one tensor at a time, pinned where there is a GPU to copy from.

        Pinned memory is handed out in powers of two, so what stays for the whole run is not pinned.
        """
        key = (use, like.dtype)
        if key not in self._staging:
            largest = max(parameter.numel() for parameter in self._ours)
            self._staging[key] = torch.empty(largest, dtype=like.dtype, pin_memory=like.is_cuda)
        return self._staging[key][: like.numel()].view(like.shape)
