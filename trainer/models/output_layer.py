"""Log-probabilities and entropies of tokens from last hidden states, with one implementation of the softmax gradient.

The logits of a batch are its largest tensor. The usual way holds them two or three times: for the backward pass, as their
gradient, and for the two matrix products after it. Here the backward pass overwrites the logits with their gradient, some
rows at a time. Where even one such buffer is too large, the logits are computed a second time, chunk by chunk. Gradient
checkpointing does the same for layers, and Wijmans et al. 2024 do it inside one kernel.

Shapes: N tokens, C of them in a chunk, V vocabulary, H hidden size.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor

from trainer.models.heads import Float32Output, Model, autocast, head_logits

BUFFER_BYTES = 1 << 28
"""The most bytes of logits that are kept for the backward pass. A larger batch computes them twice, in chunks."""
_READ_BYTES = 1 << 25
"""Bytes of logits in a chunk on a CPU where there is no backward pass."""
_CACHED_ELEMENTS = 1 << 18
"""Logits that a CPU takes statistics of at a time: 1 MiB in float32, which fits its cache."""
_AT_ONCE_ELEMENTS = 1 << 24
"""The same on a GPU, where each chunk costs a few kernel launches: 64 MiB."""


@dataclass(frozen=True)
class LogitOptions:
    """How the logits are computed, and what is computed from them."""

    temperature: float
    softcap: float | None
    dtype: torch.dtype
    """The type in which logits are computed and kept. Statistics are in float32 at least."""
    with_entropy: bool
    keep: bool
    """Whether there will be a backward pass."""


def token_logprobs(
    model: Model, hidden_NH: Tensor, targets_N: Tensor, temperature: float = 1.0, with_entropy: bool = False
) -> tuple[Tensor, Tensor | None]:
    """log softmax(logits / temperature) at the targets, (N,) fp32 (fp64 for fp64 weights), and, if asked, the entropies in nats.

    Differentiable in the hidden states and in the weights of the output layer.
    """
    head = model.get_output_embeddings()
    learns = hidden_NH.requires_grad or any(weight.requires_grad for weight in head.parameters())
    keep = learns and torch.is_grad_enabled()
    if not _is_plain(head):
        logits_NV = head_logits(model, hidden_NH)
        options = LogitOptions(temperature, None, logits_NV.dtype, with_entropy, keep)
        logprobs_N, entropy_N = _FromLogits.apply(logits_NV, targets_N, options)  # type: ignore[no-untyped-call]
        return logprobs_N, entropy_N if with_entropy else None
    with autocast(model):
        device = hidden_NH.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else head.weight.dtype
    if isinstance(head, Float32Output):
        dtype = torch.promote_types(head.weight.dtype, torch.float32)
    softcap = getattr(model.config, "final_logit_softcapping", None)
    options = LogitOptions(temperature, softcap, dtype, with_entropy, keep)
    logprobs_N, entropy_N = _FromHidden.apply(hidden_NH, head.weight, head.bias, targets_N, options)  # type: ignore[no-untyped-call]
    return logprobs_N, entropy_N if with_entropy else None


def _is_plain(head: Any) -> bool:
    """Whether `head` is an nn.Linear or a Float32Output with its whole weights in memory, no hooks and its own `forward`.

    Fake tensors count as weights in memory, because the preflight counts memory with them.
    """
    linear = type(head) in (nn.Linear, Float32Output)
    hooked = not linear or head._forward_hooks or head._forward_pre_hooks or "forward" in vars(head)
    return not hooked and type(head.weight) in (nn.Parameter, Tensor, FakeTensor) and head.weight.device.type != "meta"


class _FromLogits(torch.autograd.Function):
    """Statistics of logits that exist already, for output layers that are not plain."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor, options: LogitOptions) -> tuple[Tensor, Tensor]:
        ctx.set_materialize_grads(False)
        found_3N = _empty_statistics(targets, options)
        for rows in _at_once(logits):
            _fill_statistics(found_3N[:, rows], _finite(logits[rows]), targets[rows], options)
        logprobs, normaliser, entropy = found_3N
        ctx.save_for_backward(logits, targets, normaliser, entropy)
        ctx.options = options
        return logprobs, entropy

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, entropy_grad: Tensor | None) -> tuple[Tensor, None, None]:
        logits, targets, normaliser, entropy = ctx.saved_tensors
        gradient = _finite(logits)
        _to_gradient(gradient, targets, _Statistics(normaliser, entropy, grad, entropy_grad), ctx.options)
        return gradient, None, None


class _FromHidden(torch.autograd.Function):
    """The same from the hidden states and a plain output layer, whose logits exist at most once."""

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, options: LogitOptions
    ) -> tuple[Tensor, Tensor]:
        ctx.set_materialize_grads(False)  # an entropy that is only reported has no gradient
        size = len(hidden) * len(weight) * options.dtype.itemsize
        linear = _Linear(hidden, weight, bias, options)
        whole = linear.logits(slice(None)) if options.keep and size <= BUFFER_BYTES else None
        logprobs, normaliser, entropy = _statistics(linear, whole, targets)
        if options.keep:
            ctx.save_for_backward(hidden, weight, bias, targets, normaliser, entropy)
            ctx.options, ctx.whole = options, whole
        return logprobs, entropy

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, entropy_grad: Tensor | None) -> tuple[Tensor | None, ...]:
        hidden, weight, bias, targets, normaliser, entropy = ctx.saved_tensors
        whole, ctx.whole = ctx.whole, None  # overwritten below; a second backward pass computes the logits again
        linear = _Linear(hidden, weight, bias, ctx.options)
        gradients = _Gradients(linear, ctx.needs_input_grad)
        statistics = _Statistics(normaliser, entropy, grad, entropy_grad)
        for rows in (slice(0, len(hidden)),) if whole is not None else linear.chunks():
            logits = linear.logits(rows) if whole is None else whole
            _to_gradient(logits, targets[rows], statistics.of(rows), ctx.options)
            gradients.add(rows, logits)
            del logits  # frees this chunk before the next is computed
        return gradients.hidden, gradients.weight, gradients.bias, None, None


class _Linear:
    """The layer's matrix product in the type that it is computed in."""

    def __init__(self, hidden: Tensor, weight: Tensor, bias: Tensor | None, options: LogitOptions) -> None:
        self.hidden, self.weight = hidden.to(options.dtype), weight.to(options.dtype)
        self.bias, self.options = None if bias is None else bias.to(options.dtype), options
        self.originals = hidden, weight, bias

    def logits(self, rows: slice) -> Tensor:
        """(C, V), capped where the model caps them."""
        hidden = self.hidden[rows]
        with torch.autocast(hidden.device.type, enabled=False):
            logits = hidden @ self.weight.T if self.bias is None else torch.addmm(self.bias, hidden, self.weight.T)
        cap = self.options.softcap
        return logits if cap is None else logits.div_(cap).tanh_().mul_(cap)

    def chunks(self) -> Iterator[slice]:
        """Chunks of the rows that fit one buffer. A CPU without a backward pass takes a smaller buffer, which is as fast."""
        size = BUFFER_BYTES if self.options.keep or self.hidden.device.type != "cpu" else _READ_BYTES
        return _chunks(len(self.hidden), size // (len(self.weight) * self.options.dtype.itemsize))


class _Gradients:
    """Gradients of the layer's inputs, added up from the logits' gradients chunk by chunk."""

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
    """(N,) each: log-probabilities of the targets, log-sums over the vocabulary, entropies (undefined if not asked for).

    Each chunk writes into one tensor made before. Small results allocated between large ones that are freed keep glibc
    from using the space again, which lost a megabyte with every chunk.
    """
    found_3N = _empty_statistics(targets, linear.options)
    for rows in linear.chunks() if whole is None else (slice(0, len(targets)),):
        logits = linear.logits(rows) if whole is None else whole
        _fill_statistics(found_3N[:, rows], logits, targets[rows], linear.options)
        del logits  # frees this chunk before the next is computed
    logprobs, normaliser, entropy = found_3N
    return logprobs, normaliser, entropy


def _empty_statistics(targets: Tensor, options: LogitOptions) -> Tensor:
    wide = torch.float64 if options.dtype == torch.float64 else torch.float32
    return torch.empty(3, len(targets), dtype=wide, device=targets.device)


def _fill_statistics(found_3C: Tensor, logits: Tensor, targets: Tensor, options: LogitOptions) -> None:
    for rows in _at_once(logits):
        for place, values in zip(found_3C, _of_rows(logits[rows], targets[rows], options), strict=True):
            place[rows] = values


def _of_rows(logits: Tensor, targets: Tensor, options: LogitOptions) -> tuple[Tensor, Tensor, Tensor]:
    if _waits_for_memory(logits):
        return _of_rows_in_few_passes(logits, targets, options)
    scaled = _scaled(logits, options)
    normaliser = scaled.logsumexp(-1)
    logprobs = scaled.gather(1, targets[:, None]).squeeze(1) - normaliser
    if not options.with_entropy:
        return logprobs, normaliser, normaliser.new_empty(len(targets))
    # H = −Σ p·log p
    own = scaled - normaliser[:, None]
    return logprobs, normaliser, -torch.linalg.vecdot(own.exp(), own)


def _of_rows_in_few_passes(logits: Tensor, targets: Tensor, options: LogitOptions) -> tuple[Tensor, Tensor, Tensor]:
    """The same for a GPU, which waits for memory. Its fused softmax reads the logits in their own type and writes once; the
    sum of exponentials above takes seven passes."""
    wide = torch.promote_types(logits.dtype, torch.float32)
    scaled = logits if options.temperature == 1.0 else _wide(logits) / options.temperature
    own = torch.log_softmax(scaled, dim=-1, dtype=wide)
    logprobs = own.gather(1, targets[:, None]).squeeze(1)
    normaliser = scaled.gather(1, targets[:, None]).squeeze(1).to(wide) - logprobs
    if not options.with_entropy:
        return logprobs, normaliser, normaliser.new_empty(len(targets))
    return logprobs, normaliser, -torch.linalg.vecdot(torch.softmax(scaled, dim=-1, dtype=wide), own)


@dataclass(frozen=True)
class _Statistics:
    """(C,) each: what the forward pass found, and the gradients of log-probabilities and entropies, None for zero."""

    normaliser: Tensor
    entropy: Tensor
    grad: Tensor | None
    entropy_grad: Tensor | None

    def of(self, rows: slice) -> "_Statistics":
        grad = None if self.grad is None else self.grad[rows]
        entropy_grad = None if self.entropy_grad is None else self.entropy_grad[rows]
        return _Statistics(self.normaliser[rows], self.entropy[rows], grad, entropy_grad)


def _to_gradient(logits: Tensor, targets: Tensor, found: _Statistics, options: LogitOptions) -> None:
    """Overwrite logits with their gradient: grad·(1[v = target] − p_v) − entropy_grad·p_v·(log p_v + H), over the temperature.

    It is rounded to the logits' type only at the end. For a token whose p is near 1, 1 − p would be lost if 1 and p were
    rounded first.
    """
    grad = torch.zeros_like(found.normaliser) if found.grad is None else found.grad
    for rows in _at_once(logits):
        kept = logits[rows]
        if found.entropy_grad is None and options.softcap is None and _waits_for_memory(logits):
            _to_gradient_in_few_passes(kept, targets[rows, None], grad[rows, None], options)
            continue
        own = _scaled(kept, options) - found.normaliser[rows, None]
        slope = own.exp()
        if found.entropy_grad is None:
            slope.mul_(-grad[rows, None])
        else:
            own.add_(found.entropy[rows, None]).mul_(-found.entropy_grad[rows, None]).sub_(grad[rows, None])
            slope.mul_(own)
        slope.scatter_add_(1, targets[rows, None], grad[rows, None])
        if options.softcap is not None:  # d cap·tanh(x / cap) = 1 − tanh²
            slope.mul_((_wide(kept) / options.softcap).square_().neg_().add_(1.0))
        kept.copy_(slope if options.temperature == 1.0 else slope.mul_(1.0 / options.temperature))


def _to_gradient_in_few_passes(kept: Tensor, targets_C1: Tensor, grad_C1: Tensor, options: LogitOptions) -> None:
    """The same on a GPU for log-probabilities alone: rounded when it is written, except the targets, which are written last."""
    wide = torch.promote_types(kept.dtype, torch.float32)
    scaled = kept if options.temperature == 1.0 else _wide(kept) / options.temperature
    probabilities = torch.softmax(scaled, dim=-1, dtype=wide)
    slope_C1 = grad_C1 * (1.0 / options.temperature)
    at_targets_C1 = slope_C1 * (1.0 - probabilities.gather(1, targets_C1))
    torch.mul(probabilities, -slope_C1, out=kept)
    kept.scatter_(1, targets_C1, at_targets_C1.to(kept.dtype))


def _waits_for_memory(logits: Tensor) -> bool:
    """True for a GPU. A CPU keeps its chunks in the cache."""
    return logits.device.type != "cpu"


def _scaled(logits: Tensor, options: LogitOptions) -> Tensor:
    return _wide(logits) if options.temperature == 1.0 else _wide(logits) / options.temperature


def _wide(logits: Tensor) -> Tensor:
    """In fp32 at least."""
    return logits if logits.dtype == torch.float64 else logits.float()


def _finite(logits: Tensor) -> Tensor:
    """A copy in which a logit of −∞, an impossible token, is a finite one with probability 0: 0·log 0 is then 0, not NaN."""
    narrow = logits.dtype == torch.float16  # whose smallest number is −65504
    return logits.clamp(min=torch.finfo(logits.dtype).min / (2 if narrow else 1e6))


def _at_once(logits: Tensor) -> Iterator[slice]:
    elements = _CACHED_ELEMENTS if logits.device.type == "cpu" else _AT_ONCE_ELEMENTS
    return _chunks(len(logits), elements // logits.shape[1])


def _chunks(count: int, size: int) -> Iterator[slice]:
    size = max(1, size)
    return (slice(first, min(first + size, count)) for first in range(0, count, size))
