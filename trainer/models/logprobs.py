"""Log-probabilities of chosen tokens and entropies, without a full fp32 log-softmax of the batch.

Shapes: N tokens, V vocabulary. The forward pass works through the logits in chunks and keeps one fp32 number per
token (fp64 where the logits are); the backward pass recomputes the softmax chunk by chunk in the logits' own dtype.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

_CHUNK_ELEMENTS = 1 << 22
"""Logits converted to fp32 at a time: 16 MiB."""


def selected_logprobs(logits_NV: Tensor, targets_N: Tensor, temperature: float = 1.0) -> Tensor:
    """log softmax(logits / temperature) at the targets, (N,) fp32, differentiable in the logits."""
    result: Tensor = _SelectedLogprobs.apply(logits_NV, targets_N, temperature)  # type: ignore[no-untyped-call]
    return result


def entropies(logits_NV: Tensor, temperature: float = 1.0) -> Tensor:
    """Entropy of softmax(logits / temperature) in nats, (N,) fp32, differentiable in the logits."""
    result: Tensor = _Entropies.apply(logits_NV, temperature)  # type: ignore[no-untyped-call]
    return result


class _SelectedLogprobs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor, temperature: float) -> Tensor:
        normaliser = torch.cat([(_wide(c) / temperature).logsumexp(-1) for c in logits.split(_rows(logits))])
        ctx.save_for_backward(logits, targets, normaliser)
        ctx.temperature = temperature
        return _wide(logits.gather(-1, targets[:, None]).squeeze(-1)) / temperature - normaliser

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        logits, targets, normaliser = ctx.saved_tensors
        result = torch.empty_like(logits)
        # d log p(target) / d logit_v = (1[v = target] − p_v) / temperature, rounded to the logits' type only at the end:
        # for a token that the model is sure of, 1 − p is lost if 1 and p are rounded first.
        for part in _parts(logits):
            slope = (_wide(logits[part]) / ctx.temperature - normaliser[part, None]).exp_().neg_()
            slope.scatter_add_(1, targets[part, None], slope.new_ones(len(slope), 1))
            result[part] = slope.mul_(grad[part, None] / ctx.temperature)
        return result, None, None


class _Entropies(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, temperature: float) -> Tensor:
        parts = [
            torch.special.entr(torch.softmax(_wide(c) / temperature, dim=-1)).sum(-1)
            for c in logits.split(_rows(logits))
        ]
        entropy = torch.cat(parts)
        ctx.save_for_backward(logits, entropy)
        ctx.temperature = temperature
        return entropy

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        logits, entropy = ctx.saved_tensors
        result = torch.empty_like(logits)
        # d H / d logit_v = −p_v · (log p_v + H) / temperature
        for part in _parts(logits):
            softmax = torch.softmax(_wide(logits[part]) / ctx.temperature, dim=-1)
            slope = torch.special.entr(softmax).sub_(softmax * entropy[part, None])
            result[part] = slope.mul_(grad[part, None] / ctx.temperature)
        return result, None


def _wide(logits: Tensor) -> Tensor:
    """In fp32 at least."""
    return logits if logits.dtype == torch.float64 else logits.float()


def _rows(logits: Tensor) -> int:
    return max(1, _CHUNK_ELEMENTS // max(1, logits.shape[-1]))


def _parts(logits: Tensor) -> Iterator[slice]:
    step = _rows(logits)
    return (slice(first, first + step) for first in range(0, len(logits), step))
