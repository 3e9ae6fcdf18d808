"""Responses of a sampler that is not the policy: the weights by hand, and what the loss makes of them."""

from dataclasses import replace
from math import log

import pytest
import torch

from tests import tolerance
from tests.trainer.ppo.tools import NO_CRITIC, PROMPTS, cast_for, iterate, spec_of, weights_of
from tests.trainer.stage_tools import new_codec, respond_and_learn
from trainer.ppo.learners import Learners
from trainer.ppo.minibatch import Coefficients
from trainer.ppo.update import update
from trainer.rollout.off_policy import describe_gap, importance_weights, sampler_logprobs
from trainer.sampling import Response


def test_a_token_weighs_as_much_more_as_it_has_become_likelier_up_to_the_cap() -> None:
    own = torch.tensor([[log(0.5), log(0.2), log(0.9), 0.0]])
    sampler = torch.tensor([[log(0.4), log(0.4), log(0.1), 0.0]])  # ratios 1.25, 0.5, 9, and a pad
    weights = importance_weights(own, sampler, 2.0)
    torch.testing.assert_close(weights, torch.tensor([[1.25, 0.5, 2.0, 1.0]]))
    figures = describe_gap(own, sampler, torch.tensor([[True, True, True, False]]), weights)
    expected = {"min": 0.5, "mean": 3.75 / 3, "max": 2.0}
    assert {name.split("/")[-1]: value for name, value in figures.items() if "ratio" in name} == pytest.approx(expected)
    assert figures["sampling/logp_difference/mean"] == pytest.approx((log(1.25) + log(2) + log(9)) / 3)
    assert figures["sampling/logp_difference/max"] == pytest.approx(log(9))


def test_a_sampler_that_is_the_policy_weighs_every_token_exactly_1() -> None:
    logprobs = torch.randn(3, 5)
    assert torch.equal(importance_weights(logprobs, logprobs, 1.0), torch.ones(3, 5))


def test_an_engine_that_does_not_say_how_likely_its_tokens_were_leaves_no_gap() -> None:
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
        assert found.scored.importance_BR is not None  # all but 1, by rounding
        torch.testing.assert_close(found.scored.importance_BR, torch.ones_like(found.scored.importance_BR))
        width = found.advantages_BR.shape[1]
        sampler_BR = found.scored.logprobs_BR - weights[:, :width].log()
        scored = replace(found.scored, sampler_logprobs_BR=sampler_BR)
        experience = replace(found, scored=scored, advantages_BR=found.advantages_BR * factors[:, :width])
        update(experience, Learners.of(cast, spec), spec, 0, 0, Coefficients(0.0, 1.0), 0, None)
        moved.append(weights_of(cast.policy))
    torch.testing.assert_close(moved[0], moved[1])
    assert float((moved[0] - moved[2]).abs().max()) > 1e-3


def test_the_samplers_own_logprobs_come_to_the_same_update_but_for_rounding() -> None:
    learnt = {}
    for source in ("recomputed", "sampler"):
        cast, experience, updated = iterate(spec_of(rollout={"logprobs": source}))
        assert (experience.scored.sampler_logprobs_BR is None) == (source == "sampler")
        learnt[source] = (experience.scored.logprobs_BR, weights_of(cast.policy))
        assert updated.history[0]["ratio"] == pytest.approx(1.0, abs=tolerance.largest())
    torch.testing.assert_close(learnt["sampler"][0], learnt["recomputed"][0], rtol=1e-5, atol=tolerance.largest())
    torch.testing.assert_close(learnt["sampler"][1], learnt["recomputed"][1], rtol=1e-3, atol=1e-4)
