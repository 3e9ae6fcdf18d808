"""One iteration without the loop around it, and batches made by hand."""

from typing import Any

import torch
from torch import Tensor

from tests.trainer.stage_tools import context_of, new_codec, respond_and_learn, scored_by
from tests.trainer.tiny_models import llama, scorer
from trainer.models import Model, set_fresh
from trainer.models.heads import ValueHead
from trainer.models.sequences import Batch
from trainer.models.value_bins import give_bins
from trainer.models.value_heads import give_heads
from trainer.models.value_units import give_units
from trainer.ppo.experience import Experience
from trainer.ppo.kl import KLCoefficients
from trainer.ppo.learners import Learners
from trainer.ppo.ptx import Pretraining
from trainer.ppo.update import UpdateResult, update
from trainer.rewards.base import Scores
from trainer.rollout.batch import ScoredBatch
from trainer.rollout.context import PPOModels
from trainer.sampling import Response
from trainer.spec import PPOSpec

PROMPTS = [[5], [6, 7, 8], [9, 10], [11, 12, 13, 14], [3, 4], [15]]
TEXTS = [[3, 4, 5, 6], [7, 8], [9, 10, 11, 12, 13, 14], [15, 16, 17]]
NO_CRITIC = {"estimator": "sequence", "normalize": "none"}


def spec_of(**changes: object) -> PPOSpec:
    """Six responses, four optimizer steps."""
    defaults: dict[str, Any] = {
        "steps": 1, "batch_size": 6, "epochs": 2, "minibatches": 2, "max_new_tokens": 9, "temperature": 0.7,
        "learning_rate": 1e-2, "lr_schedule": "constant", "warmup_ratio": 0.0,
    }  # fmt: skip
    spec = PPOSpec.model_validate(defaults | changes)
    if spec.uses_critic and spec.critic.kind == "separate":
        critic = spec.critic.model_dump(exclude_unset=True)
        spec = PPOSpec.model_validate(defaults | changes | {"critic": {"learning_rate": 1e-2} | critic})
    return spec


def cast_for(spec: PPOSpec) -> PPOModels:
    """A policy, reference and reward model that all differ, and the critic that the spec asks for."""
    policy, reference, reward_model = llama(0), llama(2).requires_grad_(False), scorer(1).requires_grad_(False)
    critic: Model | None = scorer(3) if spec.uses_critic else None
    plain = spec.critic.classification is None and spec.critic.normalization is None
    if critic is not None and (spec.critic.kind == "value_head" or not plain):
        critic = ValueHead(policy) if spec.critic.kind == "value_head" else critic
        give_units(give_bins(critic, spec.critic.classification), spec.critic.normalization is not None)
        set_fresh(critic.score, 4)  # a head that has learnt: a fresh one sends no gradient into the trunk
    if critic is not None:
        give_heads(critic, spec.critic.count)
    teacher = None if spec.teacher is None else llama(6).requires_grad_(False)
    return PPOModels(policy, reference, reference, critic, scored_by(reward_model), reward_model, teacher=teacher)


def iterate(
    spec: PPOSpec, cast: PPOModels | None = None, iteration: int = 0
) -> tuple[PPOModels, Experience, UpdateResult]:
    """One batch and the update on it."""
    cast = cast_for(spec) if cast is None else cast
    experience = respond_and_learn(cast, PROMPTS, new_codec(), spec, seed=3)
    context, coefficients = context_of(cast, spec), KLCoefficients(spec.kl.coef, spec.policy_loss.beta)
    pretraining = Pretraining.build(context, TEXTS)
    learners = Learners.build(cast, spec)
    updated = update(context, experience, learners, coefficients, iteration, pretraining=pretraining)
    return cast, experience, updated


def weights_of(model: Model) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def scored_by_hand(kl: list[list[float]], scores: list[float], finished: list[bool]) -> ScoredBatch:
    """Responses of these lengths: k1 of each token (against a reference that finds every token certain) and scores."""
    responses = [Response([2] * len(row), end) for row, end in zip(kl, finished, strict=True)]
    batch = Batch.from_ids([[3]] * len(kl), [r.ids for r in responses], pad_id=0)
    logprobs = torch.zeros(batch.mask_BR.shape)
    for row, values in enumerate(kl):
        logprobs[row, : len(values)] = torch.tensor(values)
    said = Scores(scores, {"a": scores}, {})
    return ScoredBatch(batch, responses, [], logprobs, torch.zeros_like(logprobs), None, said, torch.tensor(scores), {})
