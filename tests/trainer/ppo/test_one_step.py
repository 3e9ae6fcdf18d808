"""With one optimizer step an iteration, its own forward pass gives π_old: one pass fewer, and the same update."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests import tolerance
from tests.trainer.ppo.tools import NO_CRITIC, PROMPTS, TEXTS, cast_for, spec_of, weights_of
from tests.trainer.running import metrics_of
from tests.trainer.stage_tools import context_of, new_codec, respond_and_learn, session_in, train_ppo
from trainer.errors import Diverged
from trainer.models.attention import pack_as
from trainer.ppo.experience import Experience
from trainer.ppo.kl import KLCoefficients
from trainer.ppo.learners import Learners
from trainer.ppo.update import UpdateResult, update
from trainer.rollout.context import PPOModels
from trainer.spec import EvaluationSpec, PPOSpec
from trainer.stages.evaluation import HeldOut
from trainer.text.codec import TokenizedPrompt

ONE_STEP = {"epochs": 1, "minibatches": 1, "kl": {"coef": 0.0}}
IN_LOSS = {"kl": {"coef": 0.3, "placement": "loss", "estimator": "k3"}}


def without_old_logprobs(experience: Experience) -> Experience:
    return replace(experience, scored=replace(experience.scored, old_logprobs_BR=None))


def updated(spec: PPOSpec, experience: Experience, cast: PPOModels) -> UpdateResult:
    learners = replace(Learners.build(cast, spec), on_not_finite=lambda step, error: None)
    return update(context_of(cast, spec), experience, learners, KLCoefficients(spec.kl.coef, spec.policy_loss.beta), 0)


CASES: dict[str, dict[str, Any]] = {
    "clipped, no KL": {},
    "a KL in the loss, in micro-batches": {**IN_LOSS, "micro_batch_size": 2},
    "a value head": {**IN_LOSS, "critic": {"kind": "value_head"}},
    "unclipped, no critic": {"advantage": NO_CRITIC, "policy_loss": {"kind": "unclipped"}},
    "kl penalty": {"advantage": NO_CRITIC, "policy_loss": {"kind": "kl_penalty", "beta": 2.0}},
    "importance weights": {**IN_LOSS, "advantage": NO_CRITIC, "rollout": {"importance_cap": 1.5}},
    "a mask": {**IN_LOSS, "advantage": NO_CRITIC, "rollout": {"correction": {"kind": "sequence_mask"}}},
    "a mask with a bypass": {
        **IN_LOSS, "advantage": NO_CRITIC, "rollout": {"correction": {"kind": "mask", "denominator": "sampler"}},
    },
    "least squares": {
        "advantage": {**NO_CRITIC, "baseline": "optimal_value"}, "policy_loss": {"kind": "least_squares"},
    },
}  # fmt: skip


def drifted(experience: Experience) -> Experience:
    """The experience with log-probabilities of another policy as the sampler's."""
    noise = torch.randn(experience.advantages_BR.shape, generator=torch.Generator().manual_seed(0))
    sampler_BR = torch.where(experience.scored.batch.mask_BR, experience.scored.logprobs_BR + noise, 0.0)
    return replace(experience, scored=replace(experience.scored, sampler_logprobs_BR=sampler_BR))


@pytest.mark.parametrize("name", CASES)
def test_update_without_pass_for_old_logprobs_is_the_same(name: str) -> None:
    spec = spec_of(**{**ONE_STEP, "adam_eps": 1.0, **CASES[name]})  # a step in proportion to the gradient
    assert spec.update_gives_old_logprobs(0)
    outcomes: list[tuple[Tensor, Tensor, dict[str, float]]] = []
    for taken_before in (True, False):
        cast = cast_for(spec)
        start = weights_of(cast.policy)
        experience = drifted(respond_and_learn(cast, PROMPTS, new_codec(), spec, seed=3))
        found = updated(spec, experience if taken_before else without_old_logprobs(experience), cast)
        moved = weights_of(cast.policy) - start
        outcomes.append((moved, found.experience.scored.logprobs_BR, found.history[0]))
    (moved, logprobs, entry), (other_moved, other_logprobs, other_entry) = outcomes
    torch.testing.assert_close(other_logprobs, logprobs, **tolerance.outputs())
    furthest = float(moved.abs().max())
    torch.testing.assert_close(
        other_moved, moved, rtol=64 * tolerance.largest(), atol=tolerance.gradients()["rtol"] * furthest
    )
    assert furthest > 1e-4
    assert other_entry == pytest.approx(entry, rel=tolerance.gradients()["rtol"], abs=tolerance.largest())
    assert (other_entry["ratio"], other_entry["approxkl"]) == (pytest.approx(1.0, abs=1e-6), 0.0)


def passes(folder: Path, **changes: Any) -> tuple[int, int]:
    """Forward passes of the policy over whole sequences in a run of three iterations: with and without gradients."""
    spec = spec_of(
        **{**ONE_STEP, "steps": 3, "eval_every": 9, "save_every": 9, "self_test": False, "log_samples": 0, **changes}
    )
    cast, counts = cast_for(spec), {True: 0, False: 0}

    def count(module: object, arguments: object, options: dict[str, Any]) -> None:
        if options.get("past_key_values") is None:
            counts[torch.is_grad_enabled()] += 1

    pack_as(cast.policy, False)  # packing would be tried out first, by passes of its own
    cast.policy.base_model.register_forward_pre_hook(count, with_kwargs=True)
    prompts = [TokenizedPrompt(f"prompt {n}", ids) for n, ids in enumerate(PROMPTS)]
    held_out = HeldOut(prompts[:2], None, EvaluationSpec(prompts=2, keep_best=False))
    with session_in(folder) as session:
        train_ppo(session, spec, cast, prompts, held_out, texts=TEXTS)
    return counts[True], counts[False]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, (3, 2)),  # three updates; two evaluations
        (IN_LOSS, (3, 2)),
        ({"rollout": {"asynchronous": True}}, (3, 2)),
        ({"rollout": {"logprobs": "sampler"}}, (3, 0)),
        ({"kl": {"coef": 0.05}}, (3, 5)),  # the KL in the reward needs π_old before the update
        ({"kl": {"coef": 0.0, "controller": "linear", "final_coef": 0.1}}, (3, 5)),
        ({"epochs": 2}, (6, 5)),
        ({"minibatches": 2}, (6, 5)),
        ({"critic": {"warmup_steps": 1}}, (2, 3)),  # in the first iteration the policy does not learn
    ],
)
def test_how_often_the_policy_looks_at_the_responses(
    tmp_path: Path, changes: dict[str, Any], expected: tuple[int, int]
) -> None:
    assert passes(tmp_path, **changes) == expected
    metrics = metrics_of(tmp_path)
    for step in (1, 2, 3):
        assert metrics["ppo", step]["objective/kl"] > 0.01  # the reference is another model


def test_a_step_left_out_has_the_old_logprobs_all_the_same() -> None:
    spec = spec_of(**ONE_STEP, micro_batch_size=2)
    cast = cast_for(spec)
    experience = respond_and_learn(cast, PROMPTS, new_codec(), spec, seed=3)
    broken = without_old_logprobs(replace(experience, advantages_BR=experience.advantages_BR * float("nan")))
    found = updated(spec, broken, cast)
    assert found.history == [{}]
    torch.testing.assert_close(
        found.experience.scored.logprobs_BR, experience.scored.logprobs_BR, **tolerance.outputs()
    )


def test_update_not_finite_without_old_logprobs_raises() -> None:
    spec = spec_of(**ONE_STEP)
    cast = cast_for(spec)
    experience = respond_and_learn(cast, PROMPTS, new_codec(), spec, seed=3)
    broken = without_old_logprobs(replace(experience, advantages_BR=experience.advantages_BR * float("nan")))
    with pytest.raises(Diverged):
        update(context_of(cast, spec), broken, Learners.build(cast, spec), KLCoefficients(0.0, 1.0), 0)
