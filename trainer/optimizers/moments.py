"""What AdamW keeps of one tensor, and its step on it: two moments in fp32, or in 8 bits.

The state is a plain dictionary of tensors, so that it goes to a checkpoint and comes back as it is.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.optim.adamw import adamw

from trainer.optimizers.eight_bit import BLOCK, decode, encode, encode_unbiased

Kept = dict[str, Tensor]
SMALL = 4096
"""Tensors below this many numbers (norms, biases, heads) keep their moments in fp32: there is nothing to save."""
CHUNK = 1 << 21
"""Numbers taken out of 8 bits at a time; whole blocks."""
assert CHUNK % BLOCK == 0


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
    """Moments of 0 before the first step, where `weight` is."""
    step = torch.zeros((), dtype=torch.float32, device=weight.device)
    if not eight_bit or weight.numel() < SMALL:
        return {"step": step, "exp_avg": torch.zeros_like(weight), "exp_avg_sq": torch.zeros_like(weight)}
    count, blocks = weight.numel(), -(-weight.numel() // BLOCK)
    kept = {"step": step}
    for name, zero in (("exp_avg", _zero(signed=True)), ("root_exp_avg_sq", 0)):
        kept[name] = torch.full((count,), zero, dtype=torch.uint8, device=weight.device)
        kept[f"{name}_scale"] = torch.zeros(blocks, dtype=torch.float32, device=weight.device)
    return kept


def advance(kept: Kept, weight: Tensor, gradient: Tensor, rule: Rule, seed: int) -> None:
    """One step: `weight` and `kept` change in place. Both tensors are contiguous fp32, on one device.

    `seed` and the number of the step decide how 8-bit numbers are rounded, so that a resumed run rounds as the other.
    """
    if "exp_avg_sq" in kept:
        rule.apply(weight, gradient, kept["exp_avg"], kept["exp_avg_sq"], kept["step"])
    else:
        draws = torch.Generator(weight.device).manual_seed(seed * 1_000_003 + int(kept["step"]))
        for first in range(0, weight.numel(), CHUNK):
            _advance_chunk(kept, weight.view(-1), gradient.view(-1), rule, slice(first, first + CHUNK), draws)
    kept["step"] += 1


def _advance_chunk(
    kept: Kept, weight_N: Tensor, gradient_N: Tensor, rule: Rule, part: slice, draws: torch.Generator
) -> None:
    """Of the second moment the square root is kept: the range that 8 bits must span is then half as many decades. Its
    rounding is by chance, as a decay of a thousandth would otherwise always be rounded away."""
    blocks = slice(part.start // BLOCK, part.stop // BLOCK)
    mean = decode(kept["exp_avg"][part], kept["exp_avg_scale"][blocks], signed=True)
    square = decode(kept["root_exp_avg_sq"][part], kept["root_exp_avg_sq_scale"][blocks], signed=False).square_()
    rule.apply(weight_N[part], gradient_N[part], mean, square, kept["step"])
    kept["exp_avg"][part], kept["exp_avg_scale"][blocks] = encode(mean, signed=True)
    chance = torch.rand(len(square), generator=draws, device=square.device)
    kept["root_exp_avg_sq"][part], kept["root_exp_avg_sq_scale"][blocks] = encode_unbiased(square.sqrt_(), chance)


def _zero(signed: bool) -> int:
    return int(encode(torch.zeros(1), signed)[0])
