"""Whatever the parts: on the first minibatch the policy is the old one, and the split into micro-batches changes nothing."""

from typing import Any

import pytest
import torch

from tests import tolerance
from tests.trainer.ppo.tools import NO_CRITIC, PROMPTS, iterate, spec_of, weights_of
from tests.trainer.stage_tools import context_of, new_codec, respond_and_learn, scored_by
from tests.trainer.tiny_models import gpt2, gpt2_scorer
from trainer.models.value_bins import give_bins
from trainer.ppo.iteration_log import update_metrics
from trainer.ppo.kl import KLCoefficients
from trainer.ppo.learners import Learners
from trainer.ppo.update import update
from trainer.rollout.context import PPOModels

CHOICES: dict[str, dict[str, Any]] = {
    "ppo": {},
    "value head": {"critic": {"kind": "value_head"}},
    "critic with bins": {"critic": {"classification": {"low": -2, "high": 2, "bins": 9}}},
    "critic apart": {"critic": {"epochs": 3, "minibatches": 1}, "advantage": {"critic_lambda": 1.0}},
    "bootstrapped, length-adaptive": {"advantage": {"bootstrap_truncated": True, "length_adaptive": 0.3}},
    "unclipped, sequence mean": {"policy_loss": {"kind": "unclipped", "aggregation": "sequence_mean"}},
    "kl penalty, fixed length": {"policy_loss": {"kind": "kl_penalty", "aggregation": "fixed_length"}},
    "dual clip, entropy, sequence mean": {
        "policy_loss": {"dual_clip": 3.0, "clip_range_high": 0.3, "entropy_coef": 0.1, "aggregation": "sequence_mean"}
    },
    "reinforce to go": {"advantage": {**NO_CRITIC, "estimator": "reward_to_go"}, "policy_loss": {"kind": "reinforce"}},
    "rloo": {"advantage": {**NO_CRITIC, "baseline": "leave_one_out"}, "samples_per_prompt": 2},
    "grpo": {
        "advantage": {"estimator": "sequence", "baseline": "group_mean", "normalize": "group_std"},
        "samples_per_prompt": 2, "kl": {"placement": "loss", "estimator": "k3"},
        "policy_loss": {"aggregation": "sequence_mean"},
    },
    "least squares": {
        "advantage": {**NO_CRITIC, "baseline": "optimal_value"}, "policy_loss": {"kind": "least_squares"},
        "kl": {"coef": 0.0},
    },
    "ptx": {"ptx": {"batch_size": 3}},
    "positive examples": {"positive_examples": {"coef": 0.5, "above": -1.0}},
}  # fmt: skip


@pytest.mark.parametrize("name", CHOICES)
def test_the_micro_batch_split_changes_nothing_but_rounding(name: str) -> None:
    results = []
    for micro_batch_size in (None, 2):
        cast, experience, updated = iterate(spec_of(**CHOICES[name], micro_batch_size=micro_batch_size))
        results.append((update_metrics(updated.history), experience.advantages_BR, weights_of(cast.policy)))
    (metrics, advantages, weights), (other_metrics, other_advantages, other_weights) = results
    for name, value in metrics.items():
        # A clipped fraction counts tokens. Rounding may move one over the edge of the clip range in two of the
        # four updates that are averaged. An update has at least 24 tokens.
        margin = 2.5 / (4 * 24) if "clipfrac" in name else 1e-4
        assert other_metrics[name] == pytest.approx(value, rel=1e-2, abs=margin), name
    torch.testing.assert_close(other_advantages, advantages, **tolerance.outputs())
    torch.testing.assert_close(other_weights, weights, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("name", CHOICES)
def test_on_the_first_minibatch_the_ratio_is_1(name: str) -> None:
    spec = spec_of(**CHOICES[name])
    _, _, updated = iterate(spec)
    first, last = updated.history[0], updated.history[-1]
    assert first["ratio"] == pytest.approx(1, abs=tolerance.mean())
    assert first["approxkl"] == pytest.approx(0, abs=tolerance.largest() ** 2)
    assert last["approxkl"] > 1e-6
    assert first.get("clipfrac") == (0 if spec.policy_loss.kind == "clipped" else None)


@pytest.mark.parametrize("name", [name for name in CHOICES if name != "value head"])
def test_ppo_pad_contents_change_no_bit_where_pad_is_eos(name: str) -> None:
    outcomes = []
    for pad in (1, 17):
        spec = spec_of(**CHOICES[name])
        policy, reward_model = gpt2(), gpt2_scorer().requires_grad_(False)
        reference = gpt2(2).requires_grad_(False)
        critic = give_bins(gpt2_scorer(3), spec.critic.classification) if spec.uses_critic else None
        cast = PPOModels(policy, reference, reference, critic, scored_by(reward_model), reward_model)
        experience = respond_and_learn(cast, PROMPTS, new_codec(), spec, seed=3)
        batch = experience.scored.batch
        padding = torch.arange(batch.input_ids_BT.shape[1]) >= (batch.last_positions_B + 1)[:, None]
        assert padding.any()
        batch.input_ids_BT[padding] = pad
        updated = update(
            context_of(cast, spec), experience, Learners.build(cast, spec), KLCoefficients(spec.kl.coef, 1.0), 0
        )
        outcomes.append((update_metrics(updated.history), weights_of(policy)))
    assert outcomes[0][0] == outcomes[1][0]
    assert torch.equal(outcomes[0][1], outcomes[1][1])
