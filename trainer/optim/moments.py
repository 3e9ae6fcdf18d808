"""What AdamW keeps of one tensor, and its step on it: two moments in fp32, or in 8 bits.

The state is a plain dictionary of tensors, so that it goes to a checkpoint and comes back as it is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor
from torch.optim.adamw import adamw

BLOCK = 256
_DECADES = 7


@cache
def codes(signed: bool, device: torch.device) -> Tensor:
    """(256,) fp32 in ascending order: 0, 1 and the tree's; both signs of those, half as many of each, if `signed`."""
    values = [0.0, 1.0]
    for decade in range(_DECADES):
        count = 2**decade * (1 if signed else 2)
        width = 0.9 / count
        middles = [10.0 ** (decade - _DECADES + 1) * (0.1 + width * (i + 0.5)) for i in range(count)]
        values += [sign * middle for middle in middles for sign in ((1, -1) if signed else (1,))]
    return torch.tensor(sorted(values), dtype=torch.float32, device=device)


@cache
def middles(signed: bool, device: torch.device) -> Tensor:
    """(255,) fp32: between two neighbouring codes."""
    tree = codes(signed, device)
    return (tree[1:] + tree[:-1]) / 2


@cache
def zero(signed: bool) -> int:
    """The number of the code 0."""
    return int((codes(signed, torch.device("cpu")) == 0).nonzero())


def decode(numbers_N: Tensor, scales_K: Tensor, signed: bool) -> Tensor:
    """(N,) fp32 from (N,) uint8 and the K = ⌈N / 256⌉ blocks' scales."""
    values_N = codes(signed, numbers_N.device)[numbers_N.int()]
    return values_N.mul_(_per_number(scales_K, len(numbers_N)))


def encode(values_N: Tensor, signed: bool) -> tuple[Tensor, Tensor]:
    """(N,) uint8, each the nearest code's number, and the blocks' scales (K,) fp32."""
    scales_K, shares_N = _shares(values_N)
    return torch.bucketize(shares_N, middles(signed, values_N.device), out_int32=True).to(torch.uint8), scales_K


def encode_unbiased(values_N: Tensor, draws_N: Tensor) -> tuple[Tensor, Tensor]:
    """As `encode` for numbers ≥ 0, up or down by chance (`draws_N` in [0, 1)), so that on average nothing is lost.

    What is not 0 does not become 0: someone may divide by it.
    """
    scales_K, shares_N, tree = *_shares(values_N), codes(False, values_N.device)
    below_N = torch.bucketize(shares_N, tree, right=True, out_int32=True).sub_(1).clamp_(max=len(tree) - 2)
    low_N, high_N = tree[below_N], tree[below_N + 1]
    up_N = draws_N < (shares_N - low_N).div_(high_N.sub_(low_N))
    numbers_N = below_N.add_(up_N)
    return numbers_N.clamp_(min=1).mul_(shares_N > 0).to(torch.uint8), scales_K


def _shares(values_N: Tensor) -> tuple[Tensor, Tensor]:
    """The blocks' largest magnitudes, and each number as a share of its block's; 0 in a block of zeros."""
    padded = torch.nn.functional.pad(values_N, (0, -len(values_N) % BLOCK))
    scales_K = padded.view(-1, BLOCK).abs().amax(1)
    smallest = torch.finfo(torch.float32).tiny
    return scales_K, values_N / _per_number(scales_K.clamp(min=smallest), len(values_N))


def _per_number(scales_K: Tensor, count: int) -> Tensor:
    return scales_K.repeat_interleave(BLOCK)[:count]


MomentState = dict[str, Tensor]
SMALL = 4096
"""Tensors below this many numbers (norms, biases, heads) keep their moments in fp32: there is nothing to save."""
AT_ONCE = {"cpu": 1 << 21, "cuda": 1 << 24}
"""Numbers taken out of 8 bits at a time, of one tensor or of several: as many as keep a GPU busy, or a CPU's caches full."""
assert all(count % BLOCK == 0 for count in AT_ONCE.values())


@dataclass(frozen=True)
class AdamWRule:
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


def fresh(weight: Tensor, eight_bit: bool) -> MomentState:
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


def in_eight_bits(kept: MomentState) -> bool:
    return "root_exp_avg_sq" in kept


def advance(kept: MomentState, weight: Tensor, gradient: Tensor, rule: AdamWRule) -> None:
    """One step with moments in fp32: `weight` and `kept` change in place. All are contiguous fp32, on one device."""
    rule.apply(weight, gradient, kept["exp_avg"], kept["exp_avg_sq"], kept["step"])
    kept["step"] += 1


@dataclass(frozen=True)
class EightBitEntry:
    """One tensor with moments in 8 bits. `weight` is contiguous fp32; the gradient has its shape, and may be of another type."""

    kept: MomentState
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


def advance_together(entries: Sequence[EightBitEntry], rule: AdamWRule, seed: int) -> None:
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


def _batches(entries: Sequence[EightBitEntry], most: int) -> Iterator[list[dict[str, Tensor]]]:
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


def _advance_batch(
    batch: list[dict[str, Tensor]], rule: AdamWRule, steps_before: Tensor, draws: torch.Generator
) -> None:
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


def _advance_flat(flat: dict[str, Tensor], rule: AdamWRule, steps_before: Tensor, draws: torch.Generator) -> None:
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
