"""Gaps planted in the real sampler: the rules on them fire, and they are silent without one."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from transformers import LlamaForCausalLM

from tests.trainer.ppo.tools import cast_for, spec_of
from tests.trainer.stage_tools import context_of
from tests.trainer.tiny_models import llama
from trainer.health import Monitor
from trainer.models import Model
from trainer.models.sequences import Batch
from trainer.rollout.batch import response_logprobs, sample_responses, sampler_logprobs
from trainer.rollout.correction import beyond_rounding, gap_metrics
from trainer.sampling import uniforms
from trainer.spec import HealthSpec, PPOSpec
from trainer.text.codec import TokenizedPrompt

PROMPTS = [TokenizedPrompt(f"prompt {n}", [3 + n % 12, 4]) for n in range(48)]
SHARP = 3.0
"""Factor of the output layer: a fresh model is nearly uniform, and every temperature would be the same."""
LIKELIEST = 1


class TopK(LlamaForCausalLM):
    """A sampler that draws the likeliest tokens only."""

    def forward(self, *arguments: Any, **options: Any) -> Any:
        found = super().forward(*arguments, **options)
        least = found.logits.topk(LIKELIEST, dim=-1).values[..., -1:]
        found.logits = found.logits.masked_fill(found.logits < least, -1e4)
        return found


def sharp(seed: int = 0) -> Any:
    model = llama(seed)
    model.get_output_embeddings().weight.data *= SHARP
    return model


def top_k() -> Model:
    model = sharp()
    model.__class__ = TopK
    return model


def half() -> Model:
    return sharp().to(torch.bfloat16)


def stale() -> Model:
    """Weights of some updates before."""
    model, noise = sharp(), torch.Generator().manual_seed(5)
    for weight in model.parameters():
        weight.data += 0.1 * weight.data.std() * torch.randn(weight.shape, generator=noise)
    return model


GAPS: dict[str, tuple[Callable[[], Model], float]] = {
    "none": (sharp, 1.0),
    "top-k": (top_k, 1.0),
    "low temperature": (sharp, 0.25),
    "high temperature": (sharp, 2.0),
    "half precision": (half, 1.0),
    "stale": (stale, 1.0),
}


def measured(gap: str) -> dict[str, float]:
    spec = spec_of(temperature=1.0, advantage={"estimator": "sequence", "normalize": "none"})
    cast = cast_for(spec)
    cast.policy.get_output_embeddings().weight.data *= SHARP
    build, temperature = GAPS[gap]
    context, draws = context_of(cast, spec), torch.Generator().manual_seed(1)
    drawn = sample_responses(context, PROMPTS, uniforms(draws, len(PROMPTS), 9), build(), temperature)
    batch = Batch.from_ids([prompt.ids for prompt in PROMPTS], [response.ids for response in drawn], 0)
    own_BR = response_logprobs(context, cast.policy, batch)
    sampler_BR = sampler_logprobs(drawn, own_BR)
    assert sampler_BR is not None
    rounding = beyond_rounding(cast.policy, torch.float32)
    return gap_metrics(own_BR, sampler_BR, batch.mask_BR, rounding=rounding)


def fired(metrics: dict[str, float], **rollout: object) -> set[str]:
    monitor = Monitor(HealthSpec(), PPOSpec.model_validate({"rollout": rollout}))
    found = [finding for step in (1, 2, 3) for finding in monitor.look(step, metrics)]
    assert all(finding.step == 3 for finding in found)
    return {finding.rule for finding in found}


@pytest.mark.parametrize(
    ("gap", "rules"),
    [
        ("none", set()),
        ("top-k", {"sampler_gap", "sampler_differs"}),
        ("low temperature", {"sampler_gap", "sampler_differs"}),
        ("high temperature", {"sampler_gap", "sampler_differs"}),
        ("half precision", {"sampler_differs"}),
        ("stale", {"sampler_gap", "sampler_differs"}),
    ],
)
def test_rules_fire_with_a_planted_gap_and_not_without(gap: str, rules: set[str]) -> None:
    metrics = measured(gap)
    assert fired(metrics) == rules
    assert fired(metrics, asynchronous=True) == rules - {"sampler_differs"}
