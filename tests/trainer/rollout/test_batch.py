"""What one batch of experience is made of, each response checked by itself."""

import pytest
import torch
from torch import Tensor

from tests import tolerance
from tests.trainer.stage_tools import four_models, logprobs_alone, new_codec, respond_and_learn, scores_alone
from trainer.ppo.experience import Experience
from trainer.spec import PPOSpec

PROMPTS = [[5], [6, 7, 8], [9, 10], [11, 12, 13, 14], [3, 4], [15]]
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
def test_the_kl_is_how_much_likelier_the_policy_finds_each_token_than_the_reference() -> None:
    models, experience = four_models(), collected()
    found = rows(experience, experience.scored.kl_BR)
    for prompt, response, kl in zip(PROMPTS, experience.scored.responses, found, strict=True):
        own = logprobs_alone(models.policy, prompt, response.ids, 0.7)
        theirs = logprobs_alone(models.reference, prompt, response.ids, 0.7)
        assert kl == pytest.approx((own - theirs).tolist(), abs=tolerance.largest(size=8))
        assert max(map(abs, kl)) > 0.01


def test_every_token_pays_for_its_kl_and_the_last_one_earns_the_score() -> None:
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


def test_whitening_moves_the_advantages_to_mean_0_and_variance_1_and_leaves_the_returns() -> None:
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
