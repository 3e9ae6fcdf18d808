"""From last hidden states straight to log-probabilities and entropies: the logits exist once, and become their gradient.

The usual way keeps the logits for the backward pass, makes their gradient beside them, and the two matrix products of it
after that: two or three times N × V numbers. Here the backward pass overwrites the logits row by row with their gradient;
where even one such buffer would be too large, the rows go chunk by chunk and the logits are computed a second time
(as gradient checkpointing does for layers; Wijmans et al. 2024 do it inside one kernel).

Shapes: N tokens, C of them in a chunk, V vocabulary, H hidden size.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor

from trainer.models.heads import Model, autocast, head_logits
from trainer.models.logprobs import entropies, selected_logprobs

BUFFER_BYTES = 1 << 28
"""Of logits kept for the backward pass. More are computed twice, and never stand there all at once."""
_READ_BYTES = 1 << 25
"""Of logits on a CPU that are only read."""
_CACHED_ELEMENTS = 1 << 18
"""Logits at a time on a CPU whose statistics are taken: 1 MiB in float32, so that they stay in its cache."""
_AT_ONCE_ELEMENTS = 1 << 24
"""The same on a GPU, where every chunk costs a few launches: 64 MiB."""


@dataclass(frozen=True)
class How:
    """What is done to the logits, and how."""

    temperature: float
    softcap: float | None
    dtype: torch.dtype
    """In which they are computed and kept; statistics are in float32 at least."""
    with_entropy: bool
    keep: bool
    """There will be a backward pass."""


def token_logprobs(
    model: Model, hidden_NH: Tensor, targets_N: Tensor, temperature: float = 1.0, with_entropy: bool = False
) -> tuple[Tensor, Tensor | None]:
    """log softmax(logits / temperature) at the targets, (N,) fp32, and, if asked, the entropies in nats."""
    head = model.get_output_embeddings()
    if not _is_plain(head):
        logits_NV = head_logits(model, hidden_NH)
        entropy_N = entropies(logits_NV, temperature) if with_entropy else None
        return selected_logprobs(logits_NV, targets_N, temperature), entropy_N
    with autocast(model):
        device = hidden_NH.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else head.weight.dtype
    learns = hidden_NH.requires_grad or any(weight.requires_grad for weight in head.parameters())
    how = How(
        temperature,
        getattr(model.config, "final_logit_softcapping", None),
        dtype,
        with_entropy,
        learns and torch.is_grad_enabled(),
    )
    logprobs_N, entropy_N = _Output.apply(hidden_NH, head.weight, head.bias, targets_N, how)  # type: ignore[no-untyped-call]
    return logprobs_N, entropy_N if with_entropy else None


def _is_plain(head: Any) -> bool:
    """A linear layer whose weights lie here whole (or would: the preflight counts with fakes), which nothing listens to or
    replaces."""
    hooked = type(head) is not nn.Linear or head._forward_hooks or head._forward_pre_hooks or "forward" in vars(head)
    return not hooked and type(head.weight) in (nn.Parameter, Tensor, FakeTensor) and head.weight.device.type != "meta"


class _Output(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, how: How
    ) -> tuple[Tensor, Tensor]:
        ctx.set_materialize_grads(False)  # an entropy that only metrics look at has none
        size = len(hidden) * len(weight) * how.dtype.itemsize
        whole = _Linear(hidden, weight, bias, how).logits(slice(None)) if how.keep and size <= BUFFER_BYTES else None
        statistics = _statistics(_Linear(hidden, weight, bias, how), whole, targets)
        if how.keep:
            ctx.save_for_backward(hidden, weight, bias, targets, *statistics[1:])
            ctx.how, ctx.whole = how, whole
        return statistics[0], statistics[2]

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, entropy_grad: Tensor | None) -> tuple[Tensor | None, ...]:
        hidden, weight, bias, targets, normaliser, entropy = ctx.saved_tensors
        whole, ctx.whole = ctx.whole, None  # a second backward pass would have to compute them again
        linear = _Linear(hidden, weight, bias, ctx.how)
        found = _Gradients(linear, ctx.needs_input_grad)
        for rows in (slice(0, len(hidden)),) if whole is not None else linear.chunks():
            logits = linear.logits(rows) if whole is None else whole
            gradient = None if entropy_grad is None else entropy_grad[rows]
            chosen = None if grad is None else grad[rows]
            _to_gradient(logits, targets[rows], normaliser[rows], entropy[rows], chosen, gradient, ctx.how)
            found.add(rows, logits)
            del logits  # before the next chunk's are there
        return found.hidden, found.weight, found.bias, None, None


class _Linear:
    """The layer's matrix product, in the type that it is computed in."""

    def __init__(self, hidden: Tensor, weight: Tensor, bias: Tensor | None, how: How) -> None:
        self.hidden, self.weight = hidden.to(how.dtype), weight.to(how.dtype)
        self.bias, self.how = None if bias is None else bias.to(how.dtype), how
        self.originals = hidden, weight, bias

    def logits(self, rows: slice) -> Tensor:
        """(C, V), capped where the model caps them."""
        hidden = self.hidden[rows]
        with torch.autocast(hidden.device.type, enabled=False):
            logits = hidden @ self.weight.T if self.bias is None else torch.addmm(self.bias, hidden, self.weight.T)
        cap = self.how.softcap
        return logits if cap is None else logits.div_(cap).tanh_().mul_(cap)

    def chunks(self) -> Iterator[slice]:
        """As many rows as a buffer holds: a small one where the logits are only read, on a CPU, which needs no large one to
        be busy."""
        size = BUFFER_BYTES if self.how.keep or self.hidden.device.type != "cpu" else _READ_BYTES
        return _chunks(len(self.hidden), size // (len(self.weight) * self.how.dtype.itemsize))


class _Gradients:
    """Those of the layer's inputs, put together from chunks of the logits'."""

    def __init__(self, linear: _Linear, wanted: tuple[bool, ...]) -> None:
        hidden, _, bias = linear.originals
        self.linear = linear
        self.hidden = torch.empty_like(hidden) if wanted[0] else None
        self.weight: Tensor | None = None
        self.bias: Tensor | None = None
        self.wants_weight, self.wants_bias = wanted[1], bias is not None and wanted[2]

    def add(self, rows: slice, gradient_CV: Tensor) -> None:
        _, weight, bias = self.linear.originals
        if self.hidden is not None:
            self.hidden[rows] = gradient_CV @ self.linear.weight
        if self.wants_weight:
            part = (gradient_CV.T @ self.linear.hidden[rows]).to(weight.dtype)
            self.weight = part if self.weight is None else self.weight.add_(part)
        if self.wants_bias and bias is not None:
            part = gradient_CV.sum(0, dtype=bias.dtype)
            self.bias = part if self.bias is None else self.bias.add_(part)


def _statistics(linear: _Linear, whole: Tensor | None, targets: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(N,) each: log-probabilities of the targets, log-sums over the vocabulary, entropies (empty if not asked for).

    What is found is put into place at once: small results that lie between large ones which are freed keep glibc from using
    that space again, and a megabyte was lost with every piece.
    """
    wide = torch.float64 if linear.how.dtype == torch.float64 else torch.float32
    found_3N = torch.empty(3, len(targets), dtype=wide, device=linear.hidden.device)
    for outer in linear.chunks() if whole is None else (slice(0, len(targets)),):
        logits = linear.logits(outer) if whole is None else whole
        of_chunk, found_3C = targets[outer], found_3N[:, outer]
        for rows in _at_once(logits):
            for place, values in zip(found_3C, _of_rows(logits[rows], of_chunk[rows], linear.how), strict=True):
                place[rows] = values
        del logits  # before the next chunk's are there
    logprobs, normaliser, entropy = found_3N
    return logprobs, normaliser, entropy


def _of_rows(logits: Tensor, targets: Tensor, how: How) -> tuple[Tensor, Tensor, Tensor]:
    if _waits_for_memory(logits):
        return _of_rows_in_few_passes(logits, targets, how)
    scaled = _wide(logits) if how.temperature == 1.0 else _wide(logits) / how.temperature
    normaliser = scaled.logsumexp(-1)
    logprobs = scaled.gather(1, targets[:, None]).squeeze(1) - normaliser
    if not how.with_entropy:
        return logprobs, normaliser, normaliser.new_empty(len(targets))
    # H = −Σ p·log p
    own = scaled - normaliser[:, None]
    return logprobs, normaliser, -torch.linalg.vecdot(own.exp(), own)


def _of_rows_in_few_passes(logits: Tensor, targets: Tensor, how: How) -> tuple[Tensor, Tensor, Tensor]:
    """The same on a GPU, where memory is what it waits for: its softmax reads the logits in their own type and writes once,
    which the sum of exponentials above does in seven."""
    wide = torch.promote_types(logits.dtype, torch.float32)
    scaled = logits if how.temperature == 1.0 else _wide(logits) / how.temperature
    own = torch.log_softmax(scaled, dim=-1, dtype=wide)
    logprobs = own.gather(1, targets[:, None]).squeeze(1)
    normaliser = scaled.gather(1, targets[:, None]).squeeze(1).to(wide) - logprobs
    if not how.with_entropy:
        return logprobs, normaliser, normaliser.new_empty(len(targets))
    return logprobs, normaliser, -torch.linalg.vecdot(torch.softmax(scaled, dim=-1, dtype=wide), own)


def _to_gradient(
    logits: Tensor,
    targets: Tensor,
    normaliser: Tensor,
    entropy: Tensor,
    grad: Tensor | None,
    entropy_grad: Tensor | None,
    how: How,
) -> None:
    """Overwrite logits with their gradient: grad·(1[v = target] − p_v) − entropy_grad·p_v·(log p_v + H), over the temperature.

    It is rounded to the logits' type only at the end: for a token that the model is sure of, 1 − p is lost if 1 and p are
    rounded first.
    """
    grad = torch.zeros_like(normaliser) if grad is None else grad
    for rows in _at_once(logits):
        kept = logits[rows]
        if entropy_grad is None and how.softcap is None and _waits_for_memory(logits):
            _to_gradient_in_few_passes(kept, targets[rows, None], grad[rows, None], how)
            continue
        own = (_wide(kept) / how.temperature if how.temperature != 1.0 else _wide(kept)) - normaliser[rows, None]
        slope = own.exp()
        if entropy_grad is None:
            slope.mul_(-grad[rows, None])
        else:
            slope.mul_(own.add_(entropy[rows, None]).mul_(-entropy_grad[rows, None]).sub_(grad[rows, None]))
        slope.scatter_add_(1, targets[rows, None], grad[rows, None])
        if how.softcap is not None:  # d cap·tanh(x / cap) = 1 − tanh²
            slope.mul_((_wide(kept) / how.softcap).square_().neg_().add_(1.0))
        kept.copy_(slope if how.temperature == 1.0 else slope.mul_(1.0 / how.temperature))


def _to_gradient_in_few_passes(kept: Tensor, targets_C1: Tensor, grad_C1: Tensor, how: How) -> None:
    """The same on a GPU, of log-probabilities alone: rounded as it is written, but for the targets, which come after."""
    wide = torch.promote_types(kept.dtype, torch.float32)
    scaled = kept if how.temperature == 1.0 else _wide(kept) / how.temperature
    probabilities = torch.softmax(scaled, dim=-1, dtype=wide)
    slope_C1 = grad_C1 * (1.0 / how.temperature)
    at_targets_C1 = slope_C1 * (1.0 - probabilities.gather(1, targets_C1))
    torch.mul(probabilities, -slope_C1, out=kept)
    kept.scatter_(1, targets_C1, at_targets_C1.to(kept.dtype))


def _waits_for_memory(logits: Tensor) -> bool:
    """A GPU does; of a CPU's chunks all stays in its cache."""
    return logits.device.type != "cpu"


def _wide(logits: Tensor) -> Tensor:
    """In fp32 at least."""
    return logits if logits.dtype == torch.float64 else logits.float()


def _at_once(logits: Tensor) -> Iterator[slice]:
    elements = _CACHED_ELEMENTS if logits.device.type == "cpu" else _AT_ONCE_ELEMENTS
    return _chunks(len(logits), elements // logits.shape[1])


def _chunks(count: int, size: int) -> Iterator[slice]:
    size = max(1, size)
    return (slice(first, min(first + size, count)) for first in range(0, count, size))
