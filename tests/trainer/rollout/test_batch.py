"""The parts of one batch of experience, with each response checked by itself."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tests import tolerance
from tests.trainer.ppo.tools import NO_CRITIC, PROMPTS, cast_for, iterate, spec_of, weights_of
from tests.trainer.stage_tools import (
    context_of,
    four_models,
    logprobs_alone,
    new_codec,
    respond_and_learn,
    scores_alone,
)
from tests.trainer.tiny_models import llama
from trainer.ppo.experience import Experience
from trainer.ppo.kl import KLCoefficients
from trainer.ppo.learners import Learners
from trainer.ppo.update import update
from trainer.rollout.batch import sample_and_score, sampler_logprobs
from trainer.sampling import Response
from trainer.spec import PPOSpec
from trainer.text.codec import TokenizedPrompt

BIAS = 0.25  # what the small scorers are made with


def collected(**changes: object) -> Experience:
    defaults = {
        "batch_size": 6,
        "minibatches": 1,
        "max_new_tokens": 9,
        "temperature": 0.7,
        "advantage": {"normalize": "none"},
    }
    spec = PPOSpec.model_validate({**defaults, **changes})
    return respond_and_learn(four_models(), PROMPTS, new_codec(), spec, seed=3)


def rows(experience: Experience, values_BR: Tensor) -> list[list[float]]:
    """Each response's own values, without what pads them."""
    return [row[: len(r.ids)] for row, r in zip(values_BR.tolist(), experience.scored.responses, strict=True)]


@torch.no_grad()
def test_a_response_without_an_eos_loses_the_penalty() -> None:
    scored = collected(shaping={"missing_eos_penalty": 5.0}).scored
    assert {r.finished for r in scored.responses} == {True, False}
    for prompt, response, score in zip(PROMPTS, scored.responses, scored.scores_B.tolist(), strict=True):
        raw = float(scores_alone(four_models().reward_model, prompt, response.ids)[-1]) - BIAS
        assert score == pytest.approx(raw if response.ids[-1] == 1 else raw - 5, abs=tolerance.largest(size=8))


@torch.no_grad()
def test_batch_kl_is_policy_logprob_minus_reference_logprob() -> None:
    models, experience = four_models(), collected()
    found = rows(experience, experience.scored.kl_BR)
    for prompt, response, kl in zip(PROMPTS, experience.scored.responses, found, strict=True):
        own = logprobs_alone(models.policy, prompt, response.ids, 0.7)
        theirs = logprobs_alone(models.reference, prompt, response.ids, 0.7)
        assert kl == pytest.approx((own - theirs).tolist(), abs=tolerance.largest(size=8))
        assert max(map(abs, kl)) > 0.01


def test_batch_rewards_are_kl_penalties_plus_score_at_last_token() -> None:
    experience = collected(kl={"coef": 0.3})
    kls, rewards = rows(experience, experience.scored.kl_BR), rows(experience, experience.rewards_BR)
    for kl, reward, score in zip(kls, rewards, experience.scored.scores_B.tolist(), strict=True):
        expected = [-0.3 * value for value in kl]
        expected[-1] += score
        assert reward == pytest.approx(expected, abs=tolerance.largest())


@torch.no_grad()
def test_the_values_are_the_critics_before_each_token() -> None:
    experience = collected()
    for prompt, response, values in zip(
        PROMPTS, experience.scored.responses, rows(experience, experience.values_BR), strict=True
    ):
        expected = scores_alone(four_models().critic, prompt, response.ids)[:-1] - BIAS
        assert values == pytest.approx(expected.tolist(), abs=tolerance.largest(size=8))


def test_gamma_discounts_and_lambda_only_weighs() -> None:
    experience = collected(advantage={"gamma": 0.9, "gae_lambda": 0.5, "normalize": "none"})
    parts = (experience.rewards_BR, experience.values_BR, experience.advantages_BR, experience.returns_BR)
    for rewards, values, advantages, returns in zip(*(rows(experience, part) for part in parts), strict=True):
        next_value = next_advantage = 0.0  # nothing comes after the last token
        for t in reversed(range(len(rewards))):
            delta = rewards[t] + 0.9 * next_value - values[t]
            next_value, next_advantage = values[t], delta + 0.45 * next_advantage
            assert advantages[t] == pytest.approx(next_advantage, abs=tolerance.largest(size=8))
            assert returns[t] == pytest.approx(next_advantage + values[t], abs=tolerance.largest(size=8))


def test_batch_whitening_normalises_advantages_but_not_returns() -> None:
    plain, white = collected(), collected(advantage={})
    mask = white.scored.batch.mask_BR
    inside, before = white.advantages_BR[mask], plain.advantages_BR[mask]
    torch.testing.assert_close(inside, (before - before.mean()) / before.std(unbiased=False), **tolerance.outputs())
    assert abs(float(before.mean())) > 0.05 and abs(float(before.var()) - 1) > 0.05
    assert torch.equal(plain.returns_BR, white.returns_BR)


def test_the_micro_batch_split_changes_no_experience() -> None:
    whole, split = collected(), collected(micro_batch_size=4)
    assert whole.scored.responses == split.scored.responses
    for name in ("values_BR", "rewards_BR", "advantages_BR", "returns_BR"):
        torch.testing.assert_close(getattr(split, name), getattr(whole, name), **tolerance.outputs())


def test_sampler_logprobs_missing_for_one_response_gives_none() -> None:
    like = torch.zeros(2, 3)
    assert sampler_logprobs([Response([2], False, [-0.5]), Response([3], False)], like) is None
    assert sampler_logprobs([Response([2, 4], False, [-0.5, -1.0]), Response([3], False, [-2.0])], like).tolist() == [  # type: ignore[union-attr]
        [-0.5, -1.0, 0.0],
        [-2.0, 0.0, 0.0],
    ]


def test_the_loss_of_each_token_is_multiplied_by_its_weight() -> None:
    """Where every advantage is multiplied by the same, the first step is the same; and another one than without."""
    spec = spec_of(advantage=NO_CRITIC, epochs=1, minibatches=1, rollout={"importance_cap": 4.0}, kl={"coef": 0.0})
    moved = []
    pattern = 3 * torch.rand(6, 9, generator=torch.Generator().manual_seed(0))
    ones = torch.ones(6, 9)
    for weights, factors in ((pattern, ones), (ones, pattern), (ones, ones)):
        cast = cast_for(spec)
        found = respond_and_learn(cast, PROMPTS, new_codec(), spec, seed=3)
        torch.testing.assert_close(found.scored.sampler_logprobs_BR, found.scored.logprobs_BR, **tolerance.outputs())
        width = found.advantages_BR.shape[1]
        sampler_BR = found.scored.logprobs_BR - weights[:, :width].log()
        scored = replace(found.scored, sampler_logprobs_BR=sampler_BR)
        experience = replace(found, scored=scored, advantages_BR=found.advantages_BR * factors[:, :width])
        update(context_of(cast, spec), experience, Learners.build(cast, spec), KLCoefficients(0.0, 1.0), 0, 0, None)
        moved.append(weights_of(cast.policy))
    torch.testing.assert_close(moved[0], moved[1])
    assert float((moved[0] - moved[2]).abs().max()) > 1e-3


def test_update_with_sampler_logprobs_matches_recomputed_ones() -> None:
    learnt = {}
    for source in ("recomputed", "sampler"):
        cast, experience, updated = iterate(spec_of(rollout={"logprobs": source}))
        assert (experience.scored.sampler_logprobs_BR is None) == (source == "sampler")
        learnt[source] = (experience.scored.logprobs_BR, weights_of(cast.policy))
        assert updated.history[0]["ratio"] == pytest.approx(1.0, abs=tolerance.largest())
    torch.testing.assert_close(learnt["sampler"][0], learnt["recomputed"][0], rtol=1e-5, atol=tolerance.largest())
    torch.testing.assert_close(learnt["sampler"][1], learnt["recomputed"][1], rtol=1e-3, atol=1e-4)


@torch.no_grad()
def test_batch_kl_is_to_the_moved_reference() -> None:
    models = replace(four_models(), initial=llama(4).requires_grad_(False))
    spec = spec_of(kl={"coef": 0.3}, advantage={"normalize": "none"})
    experience = respond_and_learn(models, PROMPTS, new_codec(), spec, seed=3)
    scored = experience.scored
    assert scored.initial_logprobs_BR is not None
    found = zip(rows(experience, scored.kl_BR), rows(experience, scored.initial_logprobs_BR), strict=True)
    penalties = rows(experience, experience.rewards_BR)
    for prompt, response, (kl, initial), penalty in zip(PROMPTS, scored.responses, found, penalties, strict=True):
        own, theirs, first = (
            logprobs_alone(model, prompt, response.ids, 0.7)
            for model in (models.policy, models.reference, models.initial)
        )
        assert kl == pytest.approx((own - theirs).tolist(), abs=tolerance.largest(size=8))
        assert initial == pytest.approx(first.tolist(), abs=tolerance.largest(size=8))
        assert penalty[:-1] == pytest.approx((-0.3 * (own - theirs)).tolist()[:-1], abs=tolerance.largest(size=8))


@torch.no_grad()
def test_batch_at_a_temperature_measures_all_policies_at_it() -> None:
    models = replace(four_models(), initial=llama(4).requires_grad_(False))
    spec, draws = spec_of(), torch.rand(len(PROMPTS), 9, generator=torch.Generator().manual_seed(1))
    prompts = [TokenizedPrompt(f"prompt {number}", ids) for number, ids in enumerate(PROMPTS)]
    scored = sample_and_score(context_of(models, spec), prompts, draws, temperature=2.0)
    assert scored.initial_logprobs_BR is not None
    for row, (prompt, response) in enumerate(zip(PROMPTS, scored.responses, strict=True)):
        length = len(response.ids)
        for model, found_BR in (
            (models.policy, scored.logprobs_BR),
            (models.reference, scored.reference_logprobs_BR),
            (models.initial, scored.initial_logprobs_BR),
        ):
            expected = logprobs_alone(model, prompt, response.ids, 2.0).tolist()
            assert found_BR[row, :length].tolist() == pytest.approx(expected, abs=tolerance.largest(size=8))
