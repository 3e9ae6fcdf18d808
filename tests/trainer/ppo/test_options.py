"""Each option, changed from its base, changes the described figures and no others."""

from typing import Any

import pytest
import torch
from torch import Tensor

from tests.trainer.ppo.tools import NO_CRITIC, iterate, spec_of, weights_of

LEARNT = ["rewards", "advantages", "returns", "policy", "critic"]
SCORED = ["shaped", *LEARNT]
CRITIC: dict[str, Any] = {}
WITHOUT: dict[str, Any] = {"advantage": NO_CRITIC, "samples_per_prompt": 2}
IN_LOSS: dict[str, Any] = {"kl": {"placement": "loss", "coef": 0.5}}
K3: dict[str, Any] = {"kl": {"placement": "loss", "coef": 0.5, "estimator": "k3"}}
REINFORCE: dict[str, Any] = {**WITHOUT, "policy_loss": {"kind": "reinforce"}}
CLASSES: dict[str, Any] = {"low": -2, "high": 2, "bins": 9}
BINS: dict[str, Any] = {"critic": {"classification": CLASSES}}
HOT: dict[str, Any] = {"learning_rate": 0.1}  # ratios far from 1

CASES: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [
    (CRITIC, {"advantage": {"gamma": 0.9}}, LEARNT[1:]),
    (CRITIC, {"advantage": {"gae_lambda": 0.5}}, LEARNT[1:]),
    (CRITIC, {"advantage": {"length_adaptive": 0.4}}, LEARNT[1:]),
    (CRITIC, {"advantage": {"critic_lambda": 1.0}}, ["returns", "critic"]),
    (CRITIC, {"critic": {"targets": "monte_carlo"}}, ["returns", "critic"]),
    (CRITIC, {"advantage": {"bootstrap_truncated": True}}, SCORED),
    (CRITIC, {"advantage": {"normalize": "none"}}, ["advantages", "policy"]),
    (WITHOUT, {"advantage": {**NO_CRITIC, "estimator": "reward_to_go"}}, ["advantages", "returns", "policy"]),
    (WITHOUT, {"advantage": {**NO_CRITIC, "gamma": 0.9}}, ["advantages", "returns", "policy"]),
    (WITHOUT, {"advantage": {**NO_CRITIC, "baseline": "batch_mean"}}, ["advantages", "policy"]),
    (WITHOUT, {"advantage": {**NO_CRITIC, "baseline": "leave_one_out"}}, ["advantages", "policy"]),
    (WITHOUT, {"advantage": {**NO_CRITIC, "baseline": "group_mean"}}, ["advantages", "policy"]),
    (WITHOUT, {"advantage": {**NO_CRITIC, "normalize": "group_std"}}, ["advantages", "policy"]),
    (WITHOUT, {"advantage": {**NO_CRITIC, "normalize": "whiten"}}, ["advantages", "policy"]),
    (CRITIC, {"policy_loss": {"clip_range": 0.01}}, ["policy"]),
    (HOT, {"policy_loss": {"clip_range_high": 0.9}}, ["policy"]),
    (HOT, {"policy_loss": {"dual_clip": 1.2}}, ["policy"]),
    (HOT, {"policy_loss": {"kind": "unclipped"}}, ["policy"]),
    (CRITIC, {"policy_loss": {"kind": "reinforce"}}, ["policy"]),
    (CRITIC, {"policy_loss": {"kind": "kl_penalty"}}, ["policy"]),
    ({"policy_loss": {"kind": "kl_penalty"}}, {"policy_loss": {"kind": "kl_penalty", "beta": 9.0}}, ["policy"]),
    (CRITIC, {"policy_loss": {"entropy_coef": 0.3}}, ["policy"]),
    (REINFORCE, {"policy_loss": {"kind": "reinforce", "entropy_coef": 0.3}}, ["policy"]),
    (CRITIC, {"policy_loss": {"aggregation": "sequence_mean"}}, ["policy"]),
    (REINFORCE, {"policy_loss": {"kind": "reinforce", "aggregation": "fixed_length"}}, ["policy"]),
    (CRITIC, {"critic": {"learning_rate": 2e-2}}, ["critic"]),
    (CRITIC, {"critic": {"epochs": 3}}, ["critic"]),
    (CRITIC, {"critic": {"minibatches": 3}}, ["critic"]),
    (CRITIC, {"steps": 9, "critic": {"warmup_ratio": 0.5}}, ["critic"]),
    (CRITIC, {"critic": {"value_clip_range": 0.01}}, ["critic"]),
    (CRITIC, {"critic": {"value_clip_range": None}}, ["critic"]),
    (BINS, {"critic": {"classification": CLASSES | {"target": "two_hot"}}}, [*LEARNT[1:]]),
    (BINS, {"critic": {"classification": CLASSES | {"sigma": 2.0}}}, ["critic"]),
    (CRITIC, {"critic": {"warmup_steps": 1}}, ["policy"]),
    (CRITIC, {"kl": {"coef": 0.5}}, LEARNT),
    (CRITIC, {"kl": {"placement": "loss"}}, LEARNT),
    (IN_LOSS, {"kl": {**IN_LOSS["kl"], "estimator": "k3"}}, ["policy"]),
    (IN_LOSS, {"kl": {**IN_LOSS["kl"], "estimator": "k2"}}, ["policy"]),
    (K3, {"kl": {**K3["kl"], "unbiased_gradient": False}}, ["policy"]),
    (CRITIC, {"shaping": {"missing_eos_penalty": 3.0}}, SCORED),
    (CRITIC, {"shaping": {"missing_eos": "replace"}}, SCORED),
    (CRITIC, {"shaping": {"clip": 0.1}}, SCORED),
    (CRITIC, {"shaping": {"length_penalty": 0.2}}, SCORED),
    (CRITIC, {"shaping": {"overlong_tokens": 8}}, SCORED),
    ({"shaping": {"overlong_tokens": 8}}, {"shaping": {"overlong_tokens": 8, "overlong_penalty": 3.0}}, SCORED),
    (CRITIC, {"shaping": {"whiten_rewards": True}}, LEARNT),
    (CRITIC, {"ptx": {"coef": 0.5}}, ["policy"]),
    (CRITIC, {"positive_examples": {"above": -2.0}}, ["policy"]),
    ({"positive_examples": {"above": -2.0}}, {"positive_examples": {"above": -2.0, "coef": 0.3}}, ["policy"]),
    (CRITIC, {"guards": {"target_kl": 1e-4}}, ["policy", "critic"]),
    (CRITIC, {"guards": {"lr_cut_kl": 1e-4}}, ["policy", "critic"]),
    (CRITIC, {"learning_rate": 2e-2}, ["policy"]),
    (CRITIC, {"adam_eps": 1e-2}, ["policy", "critic"]),
    (CRITIC, {"epochs": 3}, ["policy", "critic"]),
    (CRITIC, {"minibatches": 3}, ["policy", "critic"]),
]  # fmt: skip


def outcome(options: dict[str, Any]) -> dict[str, Tensor]:
    cast, experience, _ = iterate(spec_of(**options))
    found = {
        "sampled": experience.scored.logprobs_BR, "shaped": experience.shaped_B, "rewards": experience.rewards_BR,
        "advantages": experience.advantages_BR, "returns": experience.returns_BR,
        "policy": weights_of(cast.policy), "reference": weights_of(cast.reference),
        "reward model": weights_of(cast.reward_model),
    }  # fmt: skip
    return found if cast.critic is None else found | {"critic": weights_of(cast.critic)}


BASES: dict[str, dict[str, Tensor]] = {}


@pytest.mark.parametrize(("base", "change", "expected"), CASES, ids=lambda value: str(value)[:60])
def test_ppo_option_changes_exactly_the_documented_outcomes(
    base: dict[str, Any], change: dict[str, Any], expected: list[str]
) -> None:
    before = BASES[str(base)] = BASES.get(str(base)) or outcome(base)
    after = outcome(base | change)
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed == set(expected) & set(before)
