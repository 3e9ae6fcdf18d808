"""What one pass of a model holds at its peak: forward, forward and backward, or sampling.

Shapes: B sequences, T positions, N tokens that the output layer sees, V vocabulary.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import torch
from torch import Tensor
from transformers import DynamicCache

from trainer.logprobs import entropies, selected_logprobs
from trainer.models.heads import Model, autocast, head_logits, scalar_head, trunk
from trainer.preflight.memory.blueprint import Blueprint, Head, tensors_of
from trainer.preflight.memory.closed_form import Widths
from trainer.preflight.memory.counting import LiveBytes

T = TypeVar("T")


@dataclass(frozen=True)
class Shape:
    """A batch as a model sees it."""

    rows: int
    width: int
    counted: int
    """Tokens whose logits are taken; for a scalar head, positions at which it is read."""


@dataclass(frozen=True)
class Training:
    """Peak bytes of a forward and a backward pass above the weights, gradients included."""

    first: int
    """While no gradient stands yet: the first micro-batch of a step."""
    later: int
    """While all gradients stand: the further ones."""


@dataclass(frozen=True)
class Sampling:
    """Bytes above the weights while sampling."""

    prefill: int
    """Peak of reading the prompts, their cache included."""
    cache: int
    """KV cache of the prompts: for a transformer 2 · layers · key-value heads · head size · B · T numbers."""


class Passes:
    """Counts passes of the run's models. Each is counted once and remembered."""

    def __init__(self, blueprint: Blueprint) -> None:
        self.blueprint = blueprint
        self.uncounted: str | None = None
        """Why passes had to be worked out by formula, where they had to."""
        self.training = lru_cache(maxsize=None)(self._training)
        self.forward = lru_cache(maxsize=None)(self._forward)
        self.sampling = lru_cache(maxsize=None)(self._sampling)

    def _training(self, head: Head, shape: Shape, entropy: bool = False) -> Training:
        def by_formula(widths: Widths) -> Training:
            kept = widths.kept(shape.rows * shape.width, self.blueprint.spec.gradient_checkpointing)
            kept += 2 * widths.logits(shape.counted) if head == "policy" else 0
            gradients = self.blueprint.trained_bytes(head)
            return Training(max(kept, gradients), kept + gradients)

        return self._counted(lambda: self._count_training(head, shape, entropy), by_formula)

    def _forward(self, head: Head, trained: bool, shape: Shape) -> int:
        """Peak of a forward pass without gradients."""

        def by_formula(widths: Widths) -> int:
            return widths.working(shape.rows * shape.width) + (widths.logits(shape.counted) if head == "policy" else 0)

        return self._counted(lambda: self._count_forward(head, trained, shape), by_formula)

    def _sampling(self, rows: int, width: int) -> Sampling:
        def by_formula(widths: Widths) -> Sampling:
            cache = widths.cache(rows * width)
            return Sampling(cache + widths.working(rows * width), cache)

        return self._counted(lambda: self._count_sampling(rows, width), by_formula)

    def _counted(self, count: Callable[[], T], by_formula: Callable[[Widths], T]) -> T:
        """By formula where the architecture looks at values, which fake tensors do not have, or misses a kernel for them."""
        if self.uncounted is None:
            try:
                return count()
            except (RuntimeError, ValueError, TypeError, NotImplementedError) as error:
                self.uncounted = str(error).splitlines()[0] if str(error) else type(error).__name__
        return by_formula(Widths.of(self.blueprint.config.get_text_config(), self.blueprint.dtype.itemsize))

    def _count_training(self, head: Head, shape: Shape, entropy: bool) -> Training:
        model = self.blueprint.trained(head)
        model.zero_grad(set_to_none=True)
        bytes_ = LiveBytes(tensors_of(model))

        def put_aside(weight: Tensor) -> None:
            bytes_.aside += weight.nbytes

        learning = [weight for weight in model.parameters() if weight.requires_grad]
        hooks = [weight.register_post_accumulate_grad_hook(put_aside) for weight in learning]
        with self.blueprint.fake, bytes_:
            _output(model, head, shape, entropy).sum().backward()
        for hook in hooks:
            hook.remove()
        return Training(bytes_.peak, bytes_.peak_beside + bytes_.aside)

    def _count_forward(self, head: Head, trained: bool, shape: Shape) -> int:
        model = self.blueprint.trained(head) if trained else self.blueprint.frozen(head)
        with self.blueprint.fake, LiveBytes(tensors_of(model)) as bytes_, torch.no_grad():
            _output(model, head, shape, entropy=False)
        return int(bytes_.peak)

    def _count_sampling(self, rows: int, width: int) -> Sampling:
        model = self.blueprint.trained("policy")
        with self.blueprint.fake, LiveBytes(tensors_of(model)) as bytes_, torch.no_grad(), autocast(model):
            cache = DynamicCache(config=model.config)
            ids_BT = torch.zeros(rows, width, dtype=torch.long)
            logits = model(input_ids=ids_BT, past_key_values=cache, use_cache=True, logits_to_keep=1).logits
            del ids_BT, logits
        return Sampling(bytes_.peak, sum(_cached(cache)))


def _cached(cache: DynamicCache) -> list[int]:
    return [tensor.nbytes for layer in cache.layers for tensor in vars(layer).values() if isinstance(tensor, Tensor)]


def _output(model: Model, head: Head, shape: Shape, entropy: bool) -> Tensor:
    """The trainer's forward pass over a batch, as in trainer/sequences.py, where no value decides anything."""
    ids_BT = torch.zeros(shape.rows, shape.width, dtype=torch.long)
    hidden_BTH = trunk(model)(input_ids=ids_BT, use_cache=False).last_hidden_state
    hidden_NH = hidden_BTH.flatten(0, 1).index_select(0, torch.zeros(shape.counted, dtype=torch.long))
    if head == "scalar":
        return scalar_head(model, hidden_NH)
    logits_NV = head_logits(model, hidden_NH)
    logprobs_N = selected_logprobs(logits_NV, torch.zeros(shape.counted, dtype=torch.long))
    return logprobs_N + entropies(logits_NV) if entropy else logprobs_N
