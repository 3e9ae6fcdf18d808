"""Samplers that are not the policy: engines with a planted gap, for measurements and tests only.

An engine samples by other weights, in another type or from another distribution than the policy, and reports the
log-probabilities that it drew by. The evaluations of a run keep the built-in sampler, so they measure the policy itself.
"""

import copy
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor

from trainer.models import Model
from trainer.models.heads import compute_in
from trainer.ppo import stage
from trainer.rollout.context import PPOContext
from trainer.rollout.producer import RolloutProducer
from trainer.sampling import Response, Sampler, SamplingOptions
from trainer.text.codec import TokenizedPrompt


@dataclass(frozen=True)
class Gap:
    """The ways in which the sampler differs from the policy. The defaults plant nothing."""

    top_k: int | None = None
    """Only so many of the most probable tokens are drawn, with their probabilities renormalised."""
    temperature: float = 1.0
    """A factor of the sampling temperature."""
    weights: Literal["policy", "bfloat16"] = "policy"
    """`bfloat16`: weights, activations and logits have 8 bits."""
    behind: int = 0
    """Age of the sampling weights in iterations; those of the first policy in the iterations before."""


class GapEngine:
    """Samples with a planted gap. Every call counts as an iteration, so an iteration has to sample once."""

    def __init__(self, policy: Model, gap: Gap, sampler: Sampler, options: SamplingOptions) -> None:
        """`sampler` and `options`: those of a run without a gap."""
        self._policy, self._gap, self._options = policy, gap, options
        # the cut is a hook on the forward pass, which other ways to decode go around
        decode = sampler.decode if gap.top_k is None else "eager"
        self._sampler = replace(sampler, engine=None, decode=decode)
        self._own: Model | None = None
        """The model that samples; None: the policy itself."""
        if gap.behind or gap.weights != "policy":
            own = copy.deepcopy(policy).requires_grad_(False)
            self._own = own if gap.weights == "policy" else compute_in(own.to(torch.bfloat16), torch.bfloat16)
        self._weights: deque[dict[str, Tensor]] = deque(maxlen=gap.behind + 1)

    def serves(self, model: Model) -> bool:
        return model is self._policy

    def sample(self, prompts: Sequence[list[int]], draws_BR: Tensor, temperature: float) -> list[Response]:
        model = self._policy
        if self._own is not None:
            self._weights.append({name: weight.clone() for name, weight in self._policy.state_dict().items()})
            self._own.load_state_dict(self._weights[0])
            model = self._own
        options = replace(self._options, temperature=temperature * self._gap.temperature)
        with _cut_to(model, self._gap.top_k):
            return self._sampler.sample(model, prompts, draws_BR, options)

    def free_memory(self, keep_weights: bool = False) -> None:
        """The copies are small and stay."""

    def policy_moved(self) -> None:
        """The next call reads the weights."""


@contextmanager
def _cut_to(model: Model, count: int | None) -> Iterator[None]:
    """Inside, the model's logits below its `count` largest are −∞ (None: no cut)."""
    if count is None:
        yield
        return

    def cut(module: Any, inputs: Any, output: Any) -> None:
        lowest_BT1 = output.logits.topk(count, dim=-1).values[..., -1:]
        output.logits = output.logits.masked_fill(output.logits < lowest_BT1, -torch.inf)

    hook = model.register_forward_hook(cut)
    try:
        yield
    finally:
        hook.remove()


def plant(gap: Gap) -> None:
    """From now on, the PPO stages of this process sample their training responses with the gap."""

    class Planted(RolloutProducer):
        def __init__(self, context: PPOContext, prompts: Sequence[TokenizedPrompt], *others: Any) -> None:
            models = context.models
            engine = GapEngine(models.policy, gap, models.sampler, context.sampling_options())
            sampler = replace(models.sampler, engine=engine)
            super().__init__(replace(context, models=replace(models, sampler=sampler)), prompts, *others)

    vars(stage)["RolloutProducer"] = Planted
