"""Changes of a spec in the middle of a run."""

from typing import Any

import pytest

from trainer.spec import JobSpec
from trainer.spec.carry_over import BranchPoint, carried_parts, unusable_changes

BASE: dict[str, Any] = {"model": "some/model", "data": {"preferences": "p.jsonl"}}
MID_PPO = BranchPoint("ppo", 10, final=False)


def spec(**changes: Any) -> JobSpec:
    return JobSpec.model_validate(BASE | changes)


@pytest.mark.parametrize(
    "ppo",
    [
        {"steps": 200},
        {"learning_rate": 1e-6, "lr_schedule": "constant"},
        {"kl": {"coef": 0.2}},
        {"batch_size": 128},
        {"policy_loss": {"clip_range": 0.1}},
        {"critic": {"learning_rate": 1e-6}},
        {"advantage": {"critic_lambda": 1.0}},
        {"critic": {"targets": "monte_carlo"}},
        {"positive_examples": {"above": 0.5}},
        {"critic": {"epochs": 2, "minibatches": 8, "schedule": "constant", "warmup_ratio": 0.1}},
    ],
)
def test_settings_of_the_update_may_change_in_ppo(ppo: dict[str, Any]) -> None:
    assert unusable_changes(spec(), spec(ppo=ppo), MID_PPO) == []


def test_steps_up_to_a_checkpoint_may_be_value_pretraining() -> None:
    """The checkpoint does not name their number, so only fewer steps than the most of both are refused here."""
    critic = {"critic": {"pretraining": {"iterations": 7}}}
    for steps, refused in ((MID_PPO.step - 7, True), (MID_PPO.step - 6, False)):
        found = unusable_changes(spec(ppo=critic), spec(ppo=critic | {"steps": steps}), MID_PPO)
        assert [one.pointer for one in found] == ["#/ppo/steps"] * refused


@pytest.mark.parametrize(
    "critic",
    [
        {"train": "all_but_attention"},
        {"pretraining": {}},
        {"pretraining": {"patience": 2}},
        {"classification": {"low": 0, "high": 1}},
        {"normalization": {}},
        {"heads": {}},
    ],
    ids=str,
)
def test_parts_of_the_critic_stay_in_the_middle_of_ppo(critic: dict[str, Any]) -> None:
    (found, *_) = unusable_changes(spec(), spec(ppo={"critic": critic}), MID_PPO)
    assert found.pointer.startswith("#/ppo/critic") and "cannot change in the middle of the stage ppo" in found.detail


def test_changes_of_waiting_responses_are_unusable() -> None:
    ahead = {"rollout": {"asynchronous": True}}
    (found,) = unusable_changes(spec(ppo=ahead), spec(ppo=ahead | {"batch_size": 128}), MID_PPO)
    assert found.pointer == "#/ppo/batch_size" and "sampled ahead" in found.detail


def test_optimal_values_keep_prompts_and_rewards() -> None:
    ppo = {"advantage": {"estimator": "sequence", "baseline": "optimal_value", "normalize": "none"}}
    other = {"rewards": [{"type": "model", "weight": 2.0}], "data": BASE["data"] | {"prompts": "q.jsonl"}}
    found = unusable_changes(spec(ppo=ppo), spec(ppo=ppo, **other), MID_PPO)
    assert [one.pointer for one in found] == ["#/data/prompts", "#/rewards"]


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"seed": 1}, "sampler"),
        ({"ppo": {"batch_size": 128}}, "sampler"),
        ({"ppo": {"curriculum": {"floor": 0.2}}}, "sampler"),
        ({"ppo": {"reference": {"path": "other"}}}, "reference"),
    ],
)
def test_part_that_a_change_replaces_is_not_carried(changes: dict[str, Any], part: str) -> None:
    carried = {one.part: one.carried for one in carried_parts(spec(), spec(**changes), MID_PPO)}
    assert not carried[part] and carried["weights"] and carried["optimizer"]


def test_refill_may_begin_and_change_in_ppo_with_other_draws() -> None:
    def groups(**rollout: Any) -> JobSpec:
        advantage = {"estimator": "sequence", "baseline": "group_mean"}
        return spec(ppo={"samples_per_prompt": 2, "advantage": advantage, "rollout": rollout})

    for old, new in ((groups(), groups(refill={})), (groups(refill={}), groups(refill={"max_rounds": 3}))):
        assert unusable_changes(old, new, MID_PPO) == []
        assert not {one.part: one.carried for one in carried_parts(old, new, MID_PPO)}["sampler"]


def test_adaptive_kl_coefficient_is_carried_unless_it_changes() -> None:
    def kl(**changes: Any) -> JobSpec:
        return spec(ppo={"kl": {"controller": "adaptive"} | changes})

    for new, expected in ((kl(), True), (kl(target=3.0), True), (kl(coef=0.3), False)):
        carried = {one.part: one.carried for one in carried_parts(kl(), new, MID_PPO)}
        assert carried["kl_controller"] is expected
