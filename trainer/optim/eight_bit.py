"""Numbers in 8 bits, block by block (Dettmers et al. 2022, "8-bit Optimizers via Block-wise Quantization", §2).

Each block of 256 is divided by its largest magnitude, and each quotient becomes the number of a code near it. The codes
are the paper's dynamic tree: in each of seven decades below 1 evenly spaced ones, twice as many in every decade as in the
next smaller one. A block with an outlier spoils no other block's precision.
"""

from functools import cache

import torch
from torch import Tensor

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
