"""From a scored batch to advantages, by hand."""

import pytest
import torch

from tests.trainer.ppo.tools import NO_CRITIC, PROMPTS, cast_for, scored_by_hand, spec_of
from tests.trainer.stage_tools import context_of, new_codec, respond_and_learn, scores_alone
from trainer.ppo.experience import Experience, build_experience
from trainer.spec import PPOSpec

KL, SCORES = [[0.1, 0.3], [0.2], [-0.2, 0.4], [0.0, 0.1]], [2.0, -1.0, 3.0, 1.0]
# returns at β = 1: 2 − .4 = 1.6, −1 − .2 = −1.2, 3 − .2 = 2.8, 1 − .1 = .9


def learnt_from(
    advantage: dict[str, object], optimal_values: list[float] | None = None, **options: object
) -> Experience:
    """Experience of four finished responses, two to a prompt, with β = 1."""
    spec = PPOSpec.model_validate(
        {"batch_size": 4, "samples_per_prompt": 2, "advantage": {**NO_CRITIC, **advantage}, **options}
    )
    scored = scored_by_hand(KL, SCORES, [True] * 4)
    return build_experience(context_of(cast_for(spec), spec), scored, kl_coef=1.0, optimal_values=optimal_values)


@pytest.mark.parametrize(
    ("baseline", "expected"),
    [
        ("none", [1.6, -1.2, 2.8, 0.9]),
        ("batch_mean", [0.575, -2.225, 1.775, -0.125]),  # mean 1.025
        ("leave_one_out", [2.8, -2.8, 1.9, -1.9]),  # less the other one
        ("group_mean", [1.4, -1.4, 0.95, -0.95]),  # less .2 and 1.85
        ("optimal_value", [1.1, -1.7, 0.8, -1.1]),  # less .5 and 2
    ],
)
def test_each_baseline_by_hand(baseline: str, expected: list[float]) -> None:
    experience = learnt_from({"baseline": baseline}, [0.5, 0.5, 2.0, 2.0])
    assert experience.advantages_BR[:, 0].tolist() == pytest.approx(expected)
    mask = experience.scored.batch.mask_BR
    assert torch.equal(experience.advantages_BR[:, 1], experience.advantages_BR[:, 0] * mask[:, 1])
    assert experience.returns_BR[:, 0].tolist() == pytest.approx([1.6, -1.2, 2.8, 0.9])


@pytest.mark.parametrize(
    ("baseline", "expected"),
    [
        # to go: 1.6, 1.7 | −1.2 (ended: stays −1.2) | 2.8, 2.6 | .9, .9
        ("batch_mean", [[0.575, 0.7], [-2.225, 0.0], [1.775, 1.6], [-0.125, -0.1]]),  # less 1.025 and 1
        ("group_mean", [[1.4, 1.45], [-1.4, 0.0], [0.95, 0.85], [-0.95, -0.85]]),  # less .2, .25 and 1.85, 1.75
        ("leave_one_out", [[2.8, 2.9], [-2.8, 0.0], [1.9, 1.7], [-1.9, -1.7]]),
    ],
)
def test_reward_to_go_subtracts_the_baseline_of_each_position(baseline: str, expected: list[list[float]]) -> None:
    experience = learnt_from({"estimator": "reward_to_go", "baseline": baseline})
    torch.testing.assert_close(experience.advantages_BR, torch.tensor(expected))
    to_go = [[1.6, 1.7], [-1.2, 0.0], [2.8, 2.6], [0.9, 0.9]]
    torch.testing.assert_close(experience.returns_BR, torch.tensor(to_go))


@pytest.mark.parametrize("baseline", ["batch_mean", "group_mean", "leave_one_out"])
def test_equal_responses_have_zero_advantage_for_every_discount(baseline: str) -> None:
    """A baseline of the whole responses would leave 0, .125, .375, .875 at γ = .5 and a score of 1."""
    spec = PPOSpec.model_validate(
        {
            "batch_size": 4,
            "samples_per_prompt": 2,
            "advantage": {"estimator": "reward_to_go", "baseline": baseline, "normalize": "none", "gamma": 0.5},
        }
    )
    scored = scored_by_hand([[0.0] * 4] * 4, [1.0] * 4, [True] * 4)
    experience = build_experience(context_of(cast_for(spec), spec), scored, kl_coef=0.0)
    assert experience.returns_BR[0].tolist() == [0.125, 0.25, 0.5, 1.0]
    assert not experience.advantages_BR.any()


def test_leave_one_out_baseline_ignores_its_own_response() -> None:
    """Else the gradient would be biased; at every position, also after the other one has ended."""
    found = []
    for own in (2.0, -5.0):
        spec = PPOSpec.model_validate(
            {
                "batch_size": 2,
                "minibatches": 1,
                "samples_per_prompt": 2,
                "advantage": {
                    "estimator": "reward_to_go", "baseline": "leave_one_out", "normalize": "none", "gamma": 0.9,
                },
            }
        )  # fmt: skip
        scored = scored_by_hand([[own, 0.1, 0.4], [0.3, -0.2]], [own, 1.0], [True] * 2)
        experience = build_experience(context_of(cast_for(spec), spec), scored, kl_coef=1.0)
        found.append((experience.returns_BR - experience.advantages_BR)[0])
    torch.testing.assert_close(found[0], found[1])
    # of the other: −.3 + .9·(1 + .2) = .78, then 1.2, and 1.2 after its end
    torch.testing.assert_close(found[0], torch.tensor([0.78, 1.2, 1.2]))


def test_the_groups_deviation_divides() -> None:
    experience = learnt_from({"baseline": "group_mean", "normalize": "group_std"})
    # ±1.4 and ±.95, n − 1: deviations 1.4·√2 and .95·√2; 1e-4 beside them
    expected = [1.4 / (1.4 * 2**0.5 + 1e-4), 0.95 / (0.95 * 2**0.5 + 1e-4)]
    assert experience.advantages_BR[:, 0].tolist() == pytest.approx(
        [expected[0], -expected[0], expected[1], -expected[1]]
    )


def test_the_kl_in_the_reward_is_k1_at_every_token() -> None:
    assert learnt_from({}).rewards_BR[0].tolist() == pytest.approx([-0.1, 1.7])  # −.1 and 2 − .3


def test_a_kl_in_the_loss_is_not_in_the_reward() -> None:
    experience = learnt_from({}, kl={"placement": "loss"})
    assert experience.rewards_BR.tolist() == [[0.0, 2.0], [-1.0, 0.0], [0.0, 3.0], [0.0, 1.0]]


def test_rewards_scaled_to_variance_1_keep_their_mean() -> None:
    plain, scaled = learnt_from({}), learnt_from({}, shaping={"whiten_rewards": True})
    mask = plain.scored.batch.mask_BR
    inside = plain.rewards_BR[mask]
    expected = (inside - inside.mean()) / inside.std(unbiased=False) + inside.mean()
    torch.testing.assert_close(scaled.rewards_BR[mask], expected)
    assert torch.equal(scaled.shaped_B, plain.shaped_B)


@torch.no_grad()
def test_truncated_response_return_is_next_value_less_penalty() -> None:
    """The critic's value after the last token replaces the score."""
    spec = spec_of(
        advantage={"bootstrap_truncated": True, "gae_lambda": 1.0, "normalize": "none"}, kl={"coef": 0.0},
        shaping={"missing_eos_penalty": 0.75},
    )  # fmt: skip
    cast = cast_for(spec)
    experience = respond_and_learn(cast, PROMPTS, new_codec(), spec, seed=3)
    assert {r.finished for r in experience.scored.responses} == {True, False}
    for row, (prompt, response) in enumerate(zip(PROMPTS, experience.scored.responses, strict=True)):
        after = float(scores_alone(cast.critic, prompt, response.ids)[-1]) - 0.25
        score = float(scores_alone(cast.reward_model, prompt, response.ids)[-1]) - 0.25
        expected = score if response.finished else after - 0.75
        assert float(experience.returns_BR[row, 0]) == pytest.approx(expected, abs=1e-4)
        assert float(experience.shaped_B[row]) == pytest.approx(score if response.finished else -0.75, abs=1e-4)


def test_the_lambda_of_each_response_follows_its_own_length() -> None:
    adaptive = spec_of(advantage={"length_adaptive": 0.4, "normalize": "none"})
    experience = respond_and_learn(cast_for(adaptive), PROMPTS, new_codec(), adaptive, seed=3)
    lengths = {len(r.ids) for r in experience.scored.responses}
    assert len(lengths) > 1
    for length in lengths:
        lam = max(0.0, 1 - 1 / (0.4 * length))
        alone = spec_of(advantage={"gae_lambda": lam, "normalize": "none"})
        other = respond_and_learn(cast_for(alone), PROMPTS, new_codec(), alone, seed=3)
        rows = experience.scored.batch.completion_lengths_B == length
        torch.testing.assert_close(experience.advantages_BR[rows], other.advantages_BR[rows])
