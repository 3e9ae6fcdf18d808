"""Log-probabilities of chosen tokens, without a full fp32 log-softmax of the batch.

Shapes: N tokens, V vocabulary. The forward pass works through the logits in chunks and keeps one fp32 number per
token; the backward pass recomputes the softmax chunk by chunk in the logits' own dtype.
"""

from typing import Any

import torch
from torch import Tensor

_CHUNK_ELEMENTS = 1 << 22
"""Logits converted to fp32 at a time: 16 MiB."""


def selected_logprobs(logits_NV: Tensor, targets_N: Tensor, temperature: float = 1.0) -> Tensor:
    """log softmax(logits / temperature) at the targets, (N,) fp32, differentiable in the logits."""
    result: Tensor = _SelectedLogprobs.apply(logits_NV, targets_N, temperature)  # type: ignore[no-untyped-call]
    return result


@torch.no_grad()
def entropies(logits_NV: Tensor, temperature: float = 1.0) -> Tensor:
    """Entropy of softmax(logits / temperature) in nats, (N,) fp32. Not differentiable."""
    parts = []
    for chunk in logits_NV.split(_rows(logits_NV)):
        parts.append(torch.special.entr(torch.softmax(chunk.float() / temperature, dim=-1)).sum(-1))
    return torch.cat(parts) if parts else logits_NV.new_zeros(0, dtype=torch.float32)


class _SelectedLogprobs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor, temperature: float) -> Tensor:
        normaliser = torch.cat([(c.float() / temperature).logsumexp(-1) for c in logits.split(_rows(logits))])
        ctx.save_for_backward(logits, targets, normaliser)
        ctx.temperature = temperature
        return logits.gather(-1, targets[:, None]).squeeze(-1).float() / temperature - normaliser

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        logits, targets, normaliser = ctx.saved_tensors
        result = torch.empty_like(logits)
        # d log p(target) / d logit_v = (1[v = target] − p_v) / temperature
        for start in range(0, len(logits), _rows(logits)):
            part = slice(start, start + _rows(logits))
            softmax = (logits[part].float() / ctx.temperature - normaliser[part, None]).exp_()
            softmax.mul_(-grad[part, None] / ctx.temperature)
            result[part] = softmax
        result.scatter_add_(1, targets[:, None], (grad / ctx.temperature).to(logits.dtype)[:, None])
        return result, None, None


def _rows(logits: Tensor) -> int:
    return max(1, _CHUNK_ELEMENTS // max(1, logits.shape[-1]))
