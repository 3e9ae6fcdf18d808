import statistics

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trainer.models.sequences import masked_mean, masked_whiten
from trainer.rollout.shaping import RunningScale, missing_eos, scaled_to_unit_variance, shaped_scores, token_rewards
from trainer.spec import ShapingSpec


def test_token_rewards_put_score_on_last_token_and_kl_on_all() -> None:
    mask = torch.tensor([[True, True, True], [True, False, False]])
    kl = torch.tensor([[0.1, -0.2, 0.3], [0.5, 7.0, 7.0]])
    rewards = token_rewards(torch.tensor([2.0, -1.0]), kl, mask, kl_coef=0.5)
    torch.testing.assert_close(rewards, torch.tensor([[-0.05, 0.1, 1.85], [-1.25, 0.0, 0.0]]))


@pytest.mark.parametrize(("rule", "expected"), [("subtract", [1.0, -0.5]), ("replace", [1.0, -1.5])])
def test_only_unfinished_responses_are_penalised(rule: str, expected: list[float]) -> None:
    spec = ShapingSpec.model_validate({"missing_eos": rule, "missing_eos_penalty": 1.5})
    assert missing_eos(torch.tensor([1.0, 1.0]), torch.tensor([True, False]), spec).tolist() == expected


def test_shaped_scores_scale_clip_then_apply_penalties_in_order() -> None:
    """The penalty for a missing EOS precedes the one for length."""
    spec = ShapingSpec(normalize="running", clip=2.0, missing_eos_penalty=0.5, length_penalty=0.1, length_free=3)
    scores, finished = torch.tensor([6.0, 3.0, -8.0]), torch.tensor([True, False, False])
    # ÷ 2: 3, 1.5, −4; clipped: 2, 1.5, −2; cut off: 2, 1, −2.5; 2, 0 and 1 tokens beyond 3: 1.8, 1, −2.6
    shaped = shaped_scores(scores, finished, torch.tensor([5, 3, 4]), spec, longest=5, scale=2.0)
    torch.testing.assert_close(shaped, torch.tensor([1.8, 1.0, -2.6]))


def test_without_options_the_scale_is_not_even_looked_at() -> None:
    scores = torch.tensor([1.0, -2.0])
    shaped = shaped_scores(
        scores, torch.tensor([True, True]), torch.tensor([1, 2]), ShapingSpec(), longest=2, scale=9.0
    )
    assert torch.equal(shaped, scores)


def test_soft_overlong_punishment_rises_over_the_last_tokens() -> None:
    """DAPO's eq. 13 with L_max = 20 and L_cache = 4: 0 up to 16, then (16 − length)/4, −1 from 20 on; here twice that."""
    spec, lengths = ShapingSpec(overlong_tokens=4, overlong_penalty=2.0), torch.tensor([1, 16, 17, 19, 25, 20])
    finished = torch.tensor([True] * 5 + [False])
    shaped = shaped_scores(torch.full((6,), 3.0), finished, lengths, spec, longest=20)
    torch.testing.assert_close(
        shaped, torch.tensor([3.0, 3.0, 2.5, 1.5, 1.0, 0.0])
    )  # the last one has no EOS either: −1


@given(st.lists(st.lists(st.floats(-1e3, 1e3), max_size=6), min_size=1, max_size=6))
def test_running_scale_is_the_deviation_for_any_batching(batches: list[list[float]]) -> None:
    scale = RunningScale()
    for batch in batches:
        scale = scale.with_scores(batch)
    everything = [score for batch in batches for score in batch]
    expected = statistics.pstdev(everything) if everything else 0.0
    if expected > 1e-3:
        assert scale.deviation == pytest.approx(expected, rel=1e-6)
    assert scale.count == len(everything)


def test_scores_that_never_vary_are_left_as_they_are() -> None:
    assert RunningScale().deviation == RunningScale().with_scores([3.0, 3.0]).deviation == 1.0


def test_reward_whitening_keeps_the_mean() -> None:
    # 1, 3 | 5, 7 has mean 4 and variance 5
    mask = torch.tensor([[True, True, False], [True, True, False]])
    rewards = torch.tensor([[1.0, 3.0, 500.0], [5.0, 7.0, -500.0]])
    scaled = scaled_to_unit_variance(rewards, mask)
    expected = 4 + (rewards[mask] - 4) / 5**0.5
    torch.testing.assert_close(scaled[mask], expected)
    assert not scaled[~mask].any()


def test_masked_mean_counts_only_masked_values() -> None:
    assert float(masked_mean(torch.tensor([1.0, 3.0, torch.nan]), torch.tensor([True, True, False]))) == 2.0


def test_whitening_has_mean_0_and_variance_1_over_the_mask_only() -> None:
    mask = torch.tensor([[True, True, False], [True, True, False]])
    white = masked_whiten(torch.tensor([[1.0, 2.0, 500.0], [3.0, 6.0, -500.0]]), mask)
    inside = white[mask]
    torch.testing.assert_close(inside.mean(), torch.tensor(0.0))
    torch.testing.assert_close(inside.var(unbiased=False), torch.tensor(1.0))
    assert not white[~mask].any()


def test_whitening_with_a_floor_leaves_small_values_small() -> None:
    """(1, 3, 5, 3) lies at −2, 0, 2 and 0 from its mean, with a variance of 2."""
    mask = torch.tensor([[True, True, False], [True, True, False]])
    values = torch.tensor([[1.0, 3.0, 500.0], [5.0, 3.0, -500.0]])
    few = masked_whiten(values, mask, floor=4.0)
    torch.testing.assert_close(few, torch.tensor([[-0.5, 0.0, 0.0], [0.5, 0.0, 0.0]]))
    assert torch.equal(masked_whiten(values, mask, floor=1.4), masked_whiten(values, mask))
