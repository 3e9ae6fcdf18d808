"""Drawing tokens from logits by inverse CDF, from uniform numbers fixed beforehand for each (row, position)."""

import torch
from torch import Tensor

_SMALL = 1024
"""Up to this vocabulary size, one cumulative sum over all of it is fastest."""


def uniforms(generator: torch.Generator, rows: int, max_new_tokens: int) -> Tensor:
    """(rows, max_new_tokens) uniform numbers in [0, 1), one for every token that may be drawn."""
    return torch.rand(rows, max_new_tokens, generator=generator)


def draw(logits_BV: Tensor, uniforms_B: Tensor, temperature: float) -> Tensor:
    """Token ids (B,) from softmax(logits / temperature) by inverse CDF: the first token whose cumulative mass exceeds u."""
    return _chosen(_softmax(logits_BV, temperature), uniforms_B)


def draw_with_logprobs(logits_BV: Tensor, uniforms_B: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """Return token ids, as `draw` does, and the log-probability of each token drawn, (B,)."""
    probabilities_BV = _softmax(logits_BV, temperature)
    tokens_B = _chosen(probabilities_BV, uniforms_B)
    return tokens_B, probabilities_BV.gather(1, tokens_B[:, None]).squeeze(1).log()


def _chosen(probabilities_BV: Tensor, uniforms_B: Tensor) -> Tensor:
    """Find the block of tokens first, then the token in it, so that only one block is searched token by token."""
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
    """In fp32, or fp64 if the logits are. Their sums are taken in fp64, so that no probability mass is lost."""
    dtype = torch.float64 if logits_BV.dtype == torch.float64 else torch.float32
    if temperature != 1.0:
        logits_BV = logits_BV.to(dtype) / temperature
    return torch.softmax(logits_BV, dim=-1, dtype=dtype)


def _first_beyond(masses_BX: Tensor, shares_B: Tensor) -> tuple[Tensor, Tensor]:
    """Return the first column whose cumulative mass exceeds that share of the total, (B,), and the share of the column's own
    mass below that threshold."""
    cumulative_BX = masses_BX.double().cumsum(1)
    thresholds_B1 = shares_B[:, None] * cumulative_BX[:, -1:]
    columns_B1 = torch.searchsorted(cumulative_BX, thresholds_B1, right=True).clamp_(max=masses_BX.shape[1] - 1)
    masses_B1 = masses_BX.gather(1, columns_B1).double()
    before_B1 = cumulative_BX.gather(1, columns_B1) - masses_B1
    # rounding may give 1 or a little below 0, but the next draw needs [0, 1)
    shares_B1 = ((thresholds_B1 - before_B1) / masses_B1).clamp_(0.0, 1 - 2**-53)
    return columns_B1.squeeze(1), shares_B1.squeeze(1)
