"""AdamW's state for one tensor and its step on it: two moments in fp32, or in 8 bits.

The state is a plain dictionary of tensors, which checkpoints save and load unchanged.

8-bit numbers are stored block by block (Dettmers et al. 2022, "8-bit Optimizers via Block-wise Quantization", §2). Each
block of 256 is divided by its largest magnitude, and each quotient is stored as the index of a nearby code. The codes are
the paper's dynamic tree: evenly spaced in each of seven decades below 1, with twice as many in each decade as in the next
smaller one. An outlier costs precision only in its own block.
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
    """(256,) fp32 in ascending order: 0, 1 and the tree's codes. If `signed`, half as many with each sign."""
    values = [0.0, 1.0]
    for decade in range(_DECADES):
        count = 2**decade * (1 if signed else 2)
        width = 0.9 / count
        middles = [10.0 ** (decade - _DECADES + 1) * (0.1 + width * (i + 0.5)) for i in range(count)]
        values += [sign * middle for middle in middles for sign in ((1, -1) if signed else (1,))]
    return torch.tensor(sorted(values), dtype=torch.float32, device=device)


@cache
def middles(signed: bool, device: torch.device) -> Tensor:
    """(255,) fp32: the midpoints between neighbouring codes."""
    tree = codes(signed, device)
    return (tree[1:] + tree[:-1]) / 2


@cache
def zero(signed: bool) -> int:
    """The index of the code 0."""
    return int((codes(signed, torch.device("cpu")) == 0).nonzero())


def decode(numbers_N: Tensor, scales_K: Tensor, signed: bool) -> Tensor:
    """(N,) fp32 from (N,) uint8 and the K = ⌈N / 256⌉ blocks' scales."""
    values_N = codes(signed, numbers_N.device)[numbers_N.int()]
    return values_N.mul_(_per_number(scales_K, len(numbers_N)))


def encode(values_N: Tensor, signed: bool) -> tuple[Tensor, Tensor]:
    """(N,) uint8 indices of the nearest codes, and the blocks' scales (K,) fp32."""
    scales_K, shares_N = _shares(values_N)
    return torch.bucketize(shares_N, middles(signed, values_N.device), out_int32=True).to(torch.uint8), scales_K


def encode_unbiased(values_N: Tensor, draws_N: Tensor) -> tuple[Tensor, Tensor]:
    """The same for numbers ≥ 0 with stochastic rounding (`draws_N` in [0, 1)), which is right on average.

    A number other than 0 never becomes 0, because the step divides by it.
    """
    scales_K, shares_N, tree = *_shares(values_N), codes(False, values_N.device)
    below_N = torch.bucketize(shares_N, tree, right=True, out_int32=True).sub_(1).clamp_(max=len(tree) - 2)
    low_N, high_N = tree[below_N], tree[below_N + 1]
    up_N = draws_N < (shares_N - low_N).div_(high_N.sub_(low_N))
    numbers_N = below_N.add_(up_N)
    return numbers_N.clamp_(min=1).mul_(shares_N > 0).to(torch.uint8), scales_K


def _shares(values_N: Tensor) -> tuple[Tensor, Tensor]:
    """The largest magnitude of each block, and each number divided by it; 0 in a block of zeros."""
    padded = torch.nn.functional.pad(values_N, (0, -len(values_N) % BLOCK))
    scales_K = padded.view(-1, BLOCK).abs().amax(1)
    smallest = torch.finfo(torch.float32).tiny
    return scales_K, values_N / _per_number(scales_K.clamp(min=smallest), len(values_N))


def _per_number(scales_K: Tensor, count: int) -> Tensor:
    return scales_K.repeat_interleave(BLOCK)[:count]


MomentState = dict[str, Tensor]
SMALL = 4096
"""Tensors with fewer numbers (norms, biases, heads) keep their moments in fp32, because they are small."""
AT_ONCE = {"cpu": 1 << 21, "cuda": 1 << 24}
"""Numbers decoded at a time, of one or several tensors: enough to keep a GPU busy, or to fill a CPU's caches."""
assert all(count % BLOCK == 0 for count in AT_ONCE.values())


@dataclass(frozen=True)
class AdamWRule:
    """The hyperparameters of one AdamW step (Loshchilov and Hutter 2019)."""

    lr: float
    betas: tuple[float, float]
    eps: float
    weight_decay: float

    def apply(self, weight: Tensor, gradient: Tensor, mean: Tensor, square: Tensor, steps_before: Tensor) -> None:
        """Update `weight` and both moments in place, without temporaries."""
        adamw(
            [weight], [gradient], [mean], [square], [], [steps_before.clone()],
            fused=True, amsgrad=False, beta1=self.betas[0], beta2=self.betas[1],
            lr=self.lr, weight_decay=self.weight_decay, eps=self.eps, maximize=False,
        )  # fmt: skip


def fresh(weight: Tensor, eight_bit: bool) -> MomentState:
    """The state before the first step, on the device of `weight`.

    With 8 bits the step count is in host memory, because each step reads it and would otherwise wait for the GPU.
    """
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
    """One step with fp32 moments. `weight` and `kept` change in place. All are contiguous fp32 on one device."""
    rule.apply(weight, gradient, kept["exp_avg"], kept["exp_avg_sq"], kept["step"])
    kept["step"] += 1


@dataclass(frozen=True)
class EightBitEntry:
    """A tensor with 8-bit moments. `weight` is contiguous fp32. The gradient has its shape and may have another type."""

    kept: MomentState
    weight: Tensor
    gradient: Tensor

    def steps(self) -> int:
        return int(self.kept["step"])

    def views(self, part: slice) -> dict[str, Tensor]:
        """Views of a part that begins at the start of a block, and of its scales."""
        blocks = slice(part.start // BLOCK, -(-part.stop // BLOCK))
        tensors = {"weight": self.weight.view(-1)[part], "gradient": self.gradient.reshape(-1)[part]}
        return tensors | {name: self.kept[name][blocks if "scale" in name else part] for name in _MOMENTS}


_SIGNED = {"exp_avg": True, "root_exp_avg_sq": False}
_MOMENTS = ("exp_avg", "exp_avg_scale", "root_exp_avg_sq", "root_exp_avg_sq_scale")


def advance_together(entries: Sequence[EightBitEntry], rule: AdamWRule, seed: int) -> None:
    """One step of tensors on one device with equal step counts. `weight` and `kept` change in place.

    Tensors are processed in batches, so the number of kernels hardly grows with the number of tensors. `seed` and the step
    count decide the stochastic rounding, so a resumed run rounds the same.
    """
    device, steps = entries[0].weight.device, entries[0].steps()
    draws = torch.Generator(device).manual_seed(seed * 1_000_003 + steps)
    steps_before = torch.full((), float(steps), dtype=torch.float32, device=device)
    for batch in _batches(entries, AT_ONCE["cuda" if device.type == "cuda" else "cpu"]):
        _advance_batch(batch, rule, steps_before, draws)
    for entry in entries:
        entry.kept["step"] += 1


def _batches(entries: Sequence[EightBitEntry], most: int) -> Iterator[list[dict[str, Tensor]]]:
    """Yield views of the tensors' parts, each list with at most `most` numbers, counting parts in whole blocks."""
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
    """Advance a single part in place. Several parts are copied into one tensor and back."""
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
    """One tensor with all parts, padded with zeros to whole blocks, and a view of each part's place in it."""
    sizes = [len(part) if "scale" in name else _whole_blocks(len(part)) for part in parts]
    dtype = torch.float32 if name == "gradient" else parts[0].dtype
    filled = zero(_SIGNED[name]) if name in _SIGNED else 0
    flat = torch.full((sum(sizes),), filled, dtype=dtype, device=parts[0].device)
    places = [place[: len(part)] for place, part in zip(flat.split(sizes), parts, strict=True)]
    torch._foreach_copy_(places, parts)
    return flat, places


def _advance_flat(flat: dict[str, Tensor], rule: AdamWRule, steps_before: Tensor, draws: torch.Generator) -> None:
    """Advance flat tensors. The square root of the second moment is stored, which halves the decades that 8 bits must span.

    It is rounded stochastically, because a decay of a thousandth would otherwise always be rounded away.
    """
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
