"""Drawing tokens from logits by inverse CDF, from uniform numbers fixed beforehand for each (row, position).

Shapes: B rows, R response positions, V vocabulary, C whole blocks of it.
"""

import torch
from torch import Tensor

_SMALL = 1024
"""Vocabulary up to which one cumulative sum over all of it costs least."""


def uniforms(generator: torch.Generator, rows: int, max_new_tokens: int) -> Tensor:
    """(rows, max_new_tokens) uniform numbers in [0, 1), one behind every token that may be drawn."""
    return torch.rand(rows, max_new_tokens, generator=generator)


def draw(logits_BV: Tensor, uniforms_B: Tensor, temperature: float) -> Tensor:
    """Token ids (B,) from softmax(logits / temperature) by inverse CDF: the first token whose cumulative mass exceeds u."""
    return _chosen(_softmax(logits_BV, temperature), uniforms_B)


def draw_with_logprobs(logits_BV: Tensor, uniforms_B: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """As `draw`, and the log-probability of each token drawn, (B,)."""
    probabilities_BV = _softmax(logits_BV, temperature)
    tokens_B = _chosen(probabilities_BV, uniforms_B)
    return tokens_B, probabilities_BV.gather(1, tokens_B[:, None]).squeeze(1).log()


def _chosen(probabilities_BV: Tensor, uniforms_B: Tensor) -> Tensor:
    """First by blocks of tokens, then inside the block that is hit: only that one is gone through token by token."""
    vocabulary = probabilities_BV.shape[1]
    if vocabulary <= _SMALL:
        return _first_beyond(probabilities_BV, uniforms_B.double())[0]
    size = 1 << (vocabulary.bit_length() + 1) // 2
    whole = vocabulary // size
    masses_BC = probabilities_BV[:, : whole * size].unflatten(1, (whole, size)).sum(2)
    rest_B1 = probabilities_BV[:, whole * size :].sum(1, keepdim=True)
    block_B, within_B = _first_beyond(torch.cat([masses_BC, rest_B1], 1), uniforms_B.double())
    tokens_BX = block_B[:, None] * size + torch.arange(size, device=block_B.device)
    inside_BX = probabilities_BV.gather(1, tokens_BX.clamp(max=vocabulary - 1)) * (tokens_BX < vocabulary)
    return block_B * size + _first_beyond(inside_BX, within_B)[0]


def _softmax(logits_BV: Tensor, temperature: float) -> Tensor:
    """In fp32, fp64 where the logits are: their sums are taken in fp64, so that no mass gets lost on the way."""
    dtype = torch.float64 if logits_BV.dtype == torch.float64 else torch.float32
    if temperature != 1.0:
        logits_BV = logits_BV.to(dtype) / temperature
    return torch.softmax(logits_BV, dim=-1, dtype=dtype)


def _first_beyond(masses_BX: Tensor, shares_B: Tensor) -> tuple[Tensor, Tensor]:
    """The first column at which the cumulative mass exceeds that share of all, (B,), and how far into that column's own
    mass this is, as a share of it."""
    cumulative_BX = masses_BX.double().cumsum(1)
    thresholds_B1 = shares_B[:, None] * cumulative_BX[:, -1:]
    columns_B1 = torch.searchsorted(cumulative_BX, thresholds_B1, right=True).clamp_(max=masses_BX.shape[1] - 1)
    masses_B1 = masses_BX.gather(1, columns_B1).double()
    before_B1 = cumulative_BX.gather(1, columns_B1) - masses_B1
    # by rounding it may come out as 1 or a little below 0: the next draw is from [0, 1)
    shares_B1 = ((thresholds_B1 - before_B1) / masses_B1).clamp_(0.0, 1 - 2**-53)
    return columns_B1.squeeze(1), shares_B1.squeeze(1)
