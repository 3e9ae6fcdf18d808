"""The peak memory of one pass of a model: forward, forward and backward, or sampling.

The trainer's own functions (trainer/models/sequences.py, trainer/sampling/) run on fake tensors, and the bytes that live
are counted.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, Protocol, TypeVar

import torch
from torch import Tensor
from transformers import Cache, DynamicCache

from trainer.models.builders import Head
from trainer.models.heads import Model, autocast
from trainer.models.sequences import (
    Batch,
    completion_logprobs,
    completion_values,
    sequence_scores,
    value_outputs,
)
from trainer.models.value_bins import bin_loss, bins_of
from trainer.preflight.memory.fake_models import Blueprint, tensors_of
from trainer.preflight.memory.layers import layer_kinds
from trainer.preflight.memory.live_bytes import LiveBytes, as_on, with_masks
from trainer.preflight.memory.shapes import Shape
from trainer.sampling.cache import keeps_in_place
from trainer.sampling.decoding import EagerDecoding, Progress, Step, eager, sample_in_place
from trainer.sampling.engine import SamplingOptions
from trainer.spec import CriticSpec
from trainer.text.stops import NO_STOPS


@dataclass(frozen=True)
class Widths:
    """Widths of one architecture and the memory of its passes by formula; `size` is the bytes per number.

    It serves architectures that cannot be followed on fake tensors, such as mixtures of experts. Numbers kept for the
    backward pass, per token and layer:

    - 6·H for the two norms, each of which keeps its input, the normalised and the weighed one.
    - 2·K for keys and values.
    - 3·A for queries, the attention's output and its copy.
    - 4·F for the gated feed-forward part.

    H is the hidden size, K and A are the widths of keys and queries. F is the feed-forward width times the experts per
    token. Source: Korthikanti et al. (2022, "Reducing activation recomputation in large transformer models"), §4, for
    RMSNorm, SwiGLU and an attention that keeps no scores.
    """

    layers: int
    hidden: int
    queries: int
    keys: int
    feed: int
    vocabulary: int
    size: int

    @classmethod
    def from_config(cls, config: Any, size: int) -> "Widths":
        hidden, heads = int(config.hidden_size), int(getattr(config, "num_attention_heads", 1))
        head = int(getattr(config, "head_dim", None) or hidden // heads)
        key_heads = int(getattr(config, "num_key_value_heads", None) or heads)
        feed = (
            getattr(config, "moe_intermediate_size", None) or getattr(config, "intermediate_size", None) or 4 * hidden
        )
        experts = int(getattr(config, "num_experts_per_tok", None) or 1)
        layers, vocabulary = int(config.num_hidden_layers), int(config.vocab_size)
        return cls(layers, hidden, heads * head, key_heads * head, int(feed) * experts, vocabulary, size)

    def kept(self, tokens: int, recompute: bool) -> int:
        """Bytes kept for the backward pass. With recomputed layers, all inputs and one whole layer are kept."""
        layer = 6 * self.hidden + 2 * self.keys + 3 * self.queries + 4 * self.feed
        numbers = self.layers * self.hidden + layer if recompute else self.layers * layer
        return tokens * numbers * self.size

    def working(self, tokens: int) -> int:
        """Bytes in use while one layer is computed without gradients."""
        return tokens * (2 * self.hidden + 2 * self.queries + 3 * self.feed) * self.size

    def logits(self, counted: int) -> int:
        return counted * self.vocabulary * self.size

    def cache(self, tokens: int) -> int:
        return 2 * self.layers * self.keys * tokens * self.size


T = TypeVar("T", bound="Grows")
DEEP = 8
"""Layers beyond which a model is extrapolated from shallow ones, because each further layer of one kind adds the same."""
_SHALLOW, _MORE = 2, 2
"""Layers of each kind in the shallowest model, and by how many of one kind the others are deeper."""
Pass = Literal["logprobs", "logprobs_and_entropy", "values", "scores"]
"""The output of a pass: of a policy the first two, of a scalar head a value for each token or a score for each row."""
_GROWING_DRAW = 4 + 3 * 8
"""Bytes per row and token of the vocabulary while drawing: the logits, and in float64 the scaled logits, the
probabilities and their cumulative sums (trainer/sampling/draws.py)."""


class Grows(Protocol):
    """Figures of a model, from which those of a deeper one follow. `others`: deeper models, and how many times each adds."""

    def grown(self, others: Sequence[tuple[Any, float]]) -> Any: ...


def head_of(what: Pass) -> Head:
    return "policy" if what.startswith("logprobs") else "scalar"


@dataclass(frozen=True)
class Training:
    """Peak bytes of a forward and a backward pass above the weights, gradients included."""

    first: int
    """Peak of the first micro-batch of a step, before any gradient exists."""
    later: int
    """Peak of a later micro-batch, when all gradients exist."""
    gradients: int
    """Bytes of the gradients after the pass."""

    def with_more(self, size: int) -> "Training":
        """The same with so many bytes more at both peaks."""
        return Training(self.first + size, self.later + size, self.gradients)

    def grown(self, others: Sequence[tuple["Training", float]]) -> "Training":
        """The first peak is at the end of the forward or of the backward pass.

        At the end of the backward pass, all gradients exist, and the temporaries beside them do not depend on the depth.
        """
        gradients = _line(self.gradients, [(other.gradients, times) for other, times in others])
        later = _line(self.later, [(other.later, times) for other, times in others])
        return Training(max(later - gradients, gradients + max(0, self.first - self.gradients)), later, gradients)


@dataclass(frozen=True)
class Forward:
    """Bytes above the weights of a pass without gradients."""

    peak: int

    def grown(self, others: Sequence[tuple["Forward", float]]) -> "Forward":
        return Forward(_line(self.peak, [(other.peak, times) for other, times in others]))


@dataclass(frozen=True)
class Sampling:
    """Bytes above the weights while sampling."""

    peak: int
    """Cache included."""
    cache: int
    """KV cache: for a transformer 2 · layers · key-value heads · head size · rows · columns numbers."""

    def grown(self, others: Sequence[tuple["Sampling", float]]) -> "Sampling":
        peak = _line(self.peak, [(other.peak, times) for other, times in others])
        return Sampling(peak, _line(self.cache, [(other.cache, times) for other, times in others]))


def _line(one: int, others: Sequence[tuple[int, float]]) -> int:
    return round(one + sum((other - one) * times for other, times in others))


_NOT_COUNTABLE = (RuntimeError, ValueError, TypeError, NotImplementedError, AttributeError, KeyError, IndexError)
"""Errors of an architecture's code that cannot run on fake tensors."""


class _LastStep(Exception):
    """Ends sampling after the step with the largest memory."""


class Passes:
    """Counts passes of the run's models. Each is counted once and remembered."""

    def __init__(self, blueprint: Blueprint) -> None:
        self.blueprint = blueprint
        self._shallow, self._times = _shallow_models(blueprint)
        self.uncounted: str | None = None
        """The reason why passes are estimated by formula; None while they are counted."""
        self.training = lru_cache(maxsize=None)(self._training)
        self._forward_once = lru_cache(maxsize=None)(self._forward)
        self.sampling = lru_cache(maxsize=None)(self._sampling)
        self._of_blueprint = lru_cache(maxsize=None)(type(self))

    def _training(self, what: Pass, shape: Shape) -> Training:
        def by_formula(widths: Widths) -> Training:
            kept = widths.kept(shape.tokens, self.blueprint.spec.gradient_checkpointing)
            kept += 2 * widths.logits(shape.counted) if head_of(what) == "policy" else 0
            gradients = self.blueprint.trained_bytes(head_of(what))
            return Training(max(kept, gradients), kept + gradients, gradients)

        return self._counted(lambda: self._count_training(what, shape), by_formula, lambda p: p.training(what, shape))

    def for_critic(self, critic: CriticSpec | None) -> "Passes":
        """The passes of a critic in which the parameters learn that the section names; the same for None."""
        return self.of(self.blueprint.for_critic(critic))

    def of(self, blueprint: Blueprint) -> "Passes":
        """The passes of another model of the run."""
        return self if blueprint is self.blueprint else self._of_blueprint(blueprint)

    def forward(self, what: Pass, trained: bool, shape: Shape) -> int:
        """Peak of a forward pass without gradients. A frozen copy that equals the trained model is not counted again."""
        return self._forward_once(what, trained or self.blueprint.frozen_as_trained, shape)

    def _forward(self, what: Pass, trained: bool, shape: Shape) -> int:

        def by_formula(widths: Widths) -> Forward:
            logits = widths.logits(shape.counted) if head_of(what) == "policy" else 0
            return Forward(widths.working(shape.tokens) + logits)

        count = lambda: Forward(self._count_forward(what, trained, shape))  # noqa: E731
        return self._counted(count, by_formula, lambda p: Forward(p.forward(what, trained, shape))).peak

    def _sampling(self, prompts: tuple[int, ...], limit: int) -> Sampling:
        """Memory of sampling responses of up to `limit` tokens to prompts of these lengths, in ascending order."""
        rows, width = len(prompts), max(prompts) + limit - 1

        def by_formula(widths: Widths) -> Sampling:
            cache = widths.cache(rows * width)
            return Sampling(cache + widths.working(sum(prompts)), cache)

        return self._counted(
            lambda: self._count_sampling(prompts, limit), by_formula, lambda p: p.sampling(prompts, limit)
        )

    def _counted(self, count: Callable[[], T], by_formula: Callable[[Widths], T], of: Callable[["Passes"], T]) -> T:
        """The figures of a pass; those of a deep model are extrapolated from shallow ones.

        They are computed by formula if the architecture reads values, which fake tensors do not have, or lacks a kernel
        for them.
        """
        if self._shallow and self.uncounted is None:
            found = [of(passes) for passes in self._shallow]
            self.uncounted = next((passes.uncounted for passes in self._shallow if passes.uncounted), None)
            if self.uncounted is None:
                grown: T = found[0].grown(list(zip(found[1:], self._times, strict=True)))
                return grown
        elif self.uncounted is None:
            try:
                with as_on(self.blueprint.device):
                    return count()
            except _NOT_COUNTABLE as error:
                self.uncounted = str(error).splitlines()[0] if str(error) else type(error).__name__
        return by_formula(Widths.from_config(self.blueprint.config.get_text_config(), self.blueprint.dtype.itemsize))

    def _count_training(self, what: Pass, shape: Shape) -> Training:
        model = self.blueprint.trained(head_of(what))
        model.zero_grad(set_to_none=True)
        bytes_ = LiveBytes(tensors_of(model))

        def put_aside(weight: Tensor) -> None:
            bytes_.aside += weight.nbytes

        learning = [weight for weight in model.parameters() if weight.requires_grad]
        hooks = [weight.register_post_accumulate_grad_hook(put_aside) for weight in learning]
        batch = self.blueprint.fake.batch(shape.prompts, shape.completions)
        with self.blueprint.fake, bytes_:
            _output(model, what, batch).sum().backward()
        for hook in hooks:
            hook.remove()
        return Training(bytes_.peak, bytes_.peak_beside + bytes_.aside, bytes_.aside)

    def _count_forward(self, what: Pass, trained: bool, shape: Shape) -> int:
        head = head_of(what)
        model = self.blueprint.trained(head) if trained else self.blueprint.frozen(head)
        batch = self.blueprint.fake.batch(shape.prompts, shape.completions)
        with self.blueprint.fake, LiveBytes(tensors_of(model)) as bytes_, torch.no_grad():
            _output(model, what, batch)
        return int(bytes_.peak)

    def _count_sampling(self, prompts: tuple[int, ...], limit: int) -> Sampling:
        model = self.blueprint.trained("policy")
        count = self._in_place if keeps_in_place(model) else self._growing
        ragged = len(set(prompts)) > 1
        with (
            with_masks(model) if ragged else nullcontext(),
            self.blueprint.fake,
            LiveBytes(tensors_of(model)) as bytes_,
        ):
            return count(model, bytes_, prompts, limit)

    def _in_place(self, model: Model, bytes_: LiveBytes, prompts: tuple[int, ...], limit: int) -> Sampling:
        """The prompts and the last token. Every step before it attends to fewer columns."""
        caches: list[int] = []

        class LastStep(EagerDecoding):
            def step(self, model: Model, progress: Progress) -> Step:
                step, window = eager(model, progress), progress.cache.window
                caches.append(sum(_cached(progress.cache)))

                def last(tokens_B: Tensor) -> Tensor:
                    window.at = window.width - 1
                    progress.take(step(tokens_B), slice(0, window.live), limit - 1)
                    raise _LastStep

                return last

        options = SamplingOptions(NO_STOPS, 0, 1.0, torch.device("cpu"))
        ids = [[row % 2] * length for row, length in enumerate(prompts)]  # no two neighbours alike
        with suppress(_LastStep):
            sample_in_place(model, ids, torch.rand(len(prompts), limit), options, LastStep())
        return Sampling(int(bytes_.peak), caches[0])

    def _growing(self, model: Model, bytes_: LiveBytes, prompts: tuple[int, ...], limit: int) -> Sampling:
        """The larger of reading the prompts and the last step, with a copy of one layer's cache and the draw."""
        rows, width, config = len(prompts), max(prompts), self.blueprint.config.get_text_config()
        with torch.no_grad(), autocast(model):
            cache = DynamicCache(config=model.config)
            ids_BT = torch.zeros(rows, width, dtype=torch.long)
            logits = model(input_ids=ids_BT, past_key_values=cache, use_cache=True, logits_to_keep=1).logits
            del ids_BT, logits
        grown = sum(_cached(cache)) * (width + limit - 1) // width
        last = grown + grown // int(config.num_hidden_layers) + rows * int(config.vocab_size) * _GROWING_DRAW
        return Sampling(max(int(bytes_.peak), last), grown)


def _shallow_models(blueprint: Blueprint) -> tuple[list[Passes], list[float]]:
    """Up to two layers of each kind, and the same with more of one kind, with how often each difference is added.

    Both are empty for a model that is counted as it is.
    """
    kinds = layer_kinds(blueprint.config, blueprint.frozen_layers)
    counts = {kinds.index(kind): count for kind, count in Counter(kinds).items()}
    base = [layer for layer, count in counts.items() for _ in range(min(_SHALLOW, count))]
    if blueprint.layers <= max(DEEP, len(base) + _MORE):
        return [], []
    deeper = {layer: (count - _SHALLOW) / _MORE for layer, count in counts.items() if count > _SHALLOW}
    chosen = [base, *(sorted(base + [layer] * _MORE) for layer in deeper)]
    return [Passes(blueprint.with_layers(layers)) for layers in chosen], list(deeper.values())


def _cached(cache: Cache) -> list[int]:
    return [tensor.nbytes for layer in cache.layers for tensor in vars(layer).values() if isinstance(tensor, Tensor)]


def _value_loss(critic: Model, batch: Batch) -> Tensor:
    """The values, or with bins the loss of their distributions."""
    outputs, bins = value_outputs(critic, batch), bins_of(critic.config)
    return outputs if bins is None else bin_loss(outputs, outputs.new_zeros(batch.mask_BR.shape), bins)


def _output(model: Model, what: Pass, batch: Batch) -> Tensor:
    match what:
        case "values":
            return _value_loss(model, batch) if torch.is_grad_enabled() else completion_values(model, batch)
        case "scores":
            return sequence_scores(model, batch)
        case "logprobs":
            return completion_logprobs(model, batch)[0]
    logprobs_BR, entropy_BR = completion_logprobs(model, batch, with_entropy=True)
    assert entropy_BR is not None  # asked for
    return logprobs_BR + entropy_BR
