"""What AdamW keeps of one tensor, and its step on it: two moments in fp32, or in 8 bits.

The state is a plain dictionary of tensors, so that it goes to a checkpoint and comes back as it is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.optim.adamw import adamw

from trainer.optim.eight_bit import BLOCK, decode, encode, encode_unbiased, zero

Kept = dict[str, Tensor]
SMALL = 4096
"""Tensors below this many numbers (norms, biases, heads) keep their moments in fp32: there is nothing to save."""
AT_ONCE = {"cpu": 1 << 21, "cuda": 1 << 24}
"""Numbers taken out of 8 bits at a time, of one tensor or of several: as many as keep a GPU busy, or a CPU's caches full."""
assert all(count % BLOCK == 0 for count in AT_ONCE.values())


@dataclass(frozen=True)
class Rule:
    """AdamW's numbers for one step (Loshchilov and Hutter 2019)."""

    lr: float
    betas: tuple[float, float]
    eps: float
    weight_decay: float

    def apply(self, weight: Tensor, gradient: Tensor, mean: Tensor, square: Tensor, steps_before: Tensor) -> None:
        """In place, on `weight` and both moments; no temporaries."""
        adamw(
            [weight], [gradient], [mean], [square], [], [steps_before.clone()],
            fused=True, amsgrad=False, beta1=self.betas[0], beta2=self.betas[1],
            lr=self.lr, weight_decay=self.weight_decay, eps=self.eps, maximize=False,
        )  # fmt: skip


def fresh(weight: Tensor, eight_bit: bool) -> Kept:
    """Moments of 0 before the first step, where `weight` is. The number of steps of 8-bit ones is in host memory: a step
    reads it, and would wait for a GPU."""
    if not eight_bit or weight.numel() < SMALL:
        step = torch.zeros((), dtype=torch.float32, device=weight.device)
        return {"step": step, "exp_avg": torch.zeros_like(weight), "exp_avg_sq": torch.zeros_like(weight)}
    count, blocks = weight.numel(), -(-weight.numel() // BLOCK)
    kept = {"step": torch.zeros((), dtype=torch.float32)}
    for name in ("exp_avg", "root_exp_avg_sq"):
        kept[name] = torch.full((count,), zero(_SIGNED[name]), dtype=torch.uint8, device=weight.device)
        kept[f"{name}_scale"] = torch.zeros(blocks, dtype=torch.float32, device=weight.device)
    return kept


def in_eight_bits(kept: Kept) -> bool:
    return "root_exp_avg_sq" in kept


def advance(kept: Kept, weight: Tensor, gradient: Tensor, rule: Rule) -> None:
    """One step with moments in fp32: `weight` and `kept` change in place. All are contiguous fp32, on one device."""
    rule.apply(weight, gradient, kept["exp_avg"], kept["exp_avg_sq"], kept["step"])
    kept["step"] += 1


@dataclass(frozen=True)
class Entry:
    """One tensor with moments in 8 bits. `weight` is contiguous fp32; the gradient has its shape, and may be of another type."""

    kept: Kept
    weight: Tensor
    gradient: Tensor

    def steps(self) -> int:
        return int(self.kept["step"])

    def views(self, part: slice) -> dict[str, Tensor]:
        """Those numbers of it, which begin with a block, and their scales."""
        blocks = slice(part.start // BLOCK, -(-part.stop // BLOCK))
        found = {"weight": self.weight.view(-1)[part], "gradient": self.gradient.reshape(-1)[part]}
        return found | {name: self.kept[name][blocks if "scale" in name else part] for name in _MOMENTS}


_SIGNED = {"exp_avg": True, "root_exp_avg_sq": False}
_MOMENTS = ("exp_avg", "exp_avg_scale", "root_exp_avg_sq", "root_exp_avg_sq_scale")


def advance_together(entries: Sequence[Entry], rule: Rule, seed: int) -> None:
    """One step of tensors on one device that have made as many steps: the number of kernels grows with that of the numbers,
    hardly with that of the tensors. `weight` and `kept` change in place.

    `seed` and the number of the step decide how 8-bit numbers are rounded, so that a resumed run rounds as the other.
    """
    device, steps = entries[0].weight.device, entries[0].steps()
    draws = torch.Generator(device).manual_seed(seed * 1_000_003 + steps)
    steps_before = torch.full((), float(steps), dtype=torch.float32, device=device)
    for batch in _batches(entries, AT_ONCE["cuda" if device.type == "cuda" else "cpu"]):
        _advance_batch(batch, rule, steps_before, draws)
    for entry in entries:
        entry.kept["step"] += 1


def _batches(entries: Sequence[Entry], most: int) -> Iterator[list[dict[str, Tensor]]]:
    """Views of the tensors' parts, together `most` numbers at most, each part filled up to whole blocks."""
    batch: list[dict[str, Tensor]] = []
    room = most
    for entry in entries:
        start, count = 0, entry.weight.numel()
        while start < count:
            taken = min(count - start, room)
            batch.append(entry.views(slice(start, start + taken)))
            start, room = start + taken, room - _whole_blocks(taken)
            if room == 0:
                yield batch
                batch, room = [], most
    if batch:
        yield batch


def _advance_batch(batch: list[dict[str, Tensor]], rule: Rule, steps_before: Tensor, draws: torch.Generator) -> None:
    """A single part is changed where it is; several are put side by side, and back."""
    if len(batch) == 1:
        part = batch[0]
        _advance_flat(part | {"gradient": part["gradient"].to(torch.float32)}, rule, steps_before, draws)
        return
    flat, places = {}, {}
    for name in batch[0]:
        flat[name], places[name] = _side_by_side([part[name] for part in batch], name)
    _advance_flat(flat, rule, steps_before, draws)
    for name in ("weight", *_MOMENTS):
        torch._foreach_copy_([part[name] for part in batch], places[name])


def _side_by_side(parts: list[Tensor], name: str) -> tuple[Tensor, list[Tensor]]:
    """One tensor with all parts, and each part's place in it. What fills them up to whole blocks is zero, in 8 bits too."""
    sizes = [len(part) if "scale" in name else _whole_blocks(len(part)) for part in parts]
    dtype = torch.float32 if name == "gradient" else parts[0].dtype
    filled = zero(_SIGNED[name]) if name in _SIGNED else 0
    flat = torch.full((sum(sizes),), filled, dtype=dtype, device=parts[0].device)
    places = [place[: len(part)] for place, part in zip(flat.split(sizes), parts, strict=True)]
    torch._foreach_copy_(places, parts)
    return flat, places


def _advance_flat(flat: dict[str, Tensor], rule: Rule, steps_before: Tensor, draws: torch.Generator) -> None:
    """Of the second moment the square root is kept: the range that 8 bits must span is then half as many decades. Its
    rounding is by chance, as a decay of a thousandth would otherwise always be rounded away."""
    mean = decode(flat["exp_avg"], flat["exp_avg_scale"], signed=True)
    square = decode(flat["root_exp_avg_sq"], flat["root_exp_avg_sq_scale"], signed=False).square_()
    rule.apply(flat["weight"], flat["gradient"], mean, square, steps_before)
    numbers, scales = encode(mean, signed=True)
    flat["exp_avg"].copy_(numbers), flat["exp_avg_scale"].copy_(scales)
    chance = torch.rand(len(square), generator=draws, device=square.device)
    numbers, scales = encode_unbiased(square.sqrt_(), chance)
    flat["root_exp_avg_sq"].copy_(numbers), flat["root_exp_avg_sq_scale"].copy_(scales)


def _whole_blocks(count: int) -> int:
    return -(-count // BLOCK) * BLOCK
