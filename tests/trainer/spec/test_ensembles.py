"""The fields of an ensemble of reward models, and the combinations that have no effect or measure the wrong thing."""

from typing import Any

import pytest
from pydantic import ValidationError

from trainer.spec import JobSpec, ModelReward
from trainer.spec.carry_over import BranchPoint, unusable_changes
from trainer.spec.named_resources import named_paths, with_paths
from trainer.spec.validation_errors import explain

SMALLEST: dict[str, Any] = {"model": "some/model", "data": {"preferences": "ds_1"}, "ppo": {}}
TWO = [{"path": "ck_1"}, {"path": "ck_2"}]


def spec(**changes: Any) -> JobSpec:
    return JobSpec.model_validate(SMALLEST | changes)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"reward_model": {"members": 0}}, "greater than or equal to 1"),
        ({"reward_model": {"member_share": 0.5}}, "`member_share` has no effect with one of `members`"),
        ({"reward_model": {"members": 3, "member_share": 0}}, "greater than 0"),
        ({"reward_model": {"members": 3, "normalize": "none"}}, "each member has a level of its own"),
        ({"rewards": [{"type": "model", "combine": "worst"}]}, "`combine` has no effect on a single reward model"),
        ({"rewards": [{"type": "model", "penalty": 2.0}]}, "`penalty` has no effect on a single reward model"),
        (
            {"rewards": [{"type": "model", "members": TWO, "combine": "worst", "penalty": 2.0}]},
            '`penalty` has no effect with `combine` = "worst"',
        ),
        ({"rewards": [{"type": "model", "path": "ck_3", "members": TWO}]}, "give either `path` or `members`, not both"),
        ({"rewards": [{"type": "model", "members": TWO[:1]}]}, "two or more different reward models"),
        ({"rewards": [{"type": "model", "members": TWO[:1] * 2}]}, "two or more different reward models"),
    ],
)
def test_ensemble_without_effect_or_level_is_refused(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError) as caught:
        spec(**changes)
    assert problem in " ".join(map(str, explain(caught.value)))


@pytest.mark.parametrize(
    "reward_model",
    [
        {"members": 3},
        {"members": 3, "normalize": "none", "center_coef": 0.01},
        {"members": 3, "normalize": "none", "loss": "pointwise"},
    ],
)
def test_ensembles_with_a_level_are_accepted(reward_model: dict[str, Any]) -> None:
    job = spec(reward_model=reward_model, data={"preferences": "ds_1", "thumbs": "ds_2"})
    assert job.scoring == (ModelReward(),) and JobSpec.model_validate(job.model_dump(mode="json")) == job


def test_members_of_other_runs_are_named_resources() -> None:
    job = spec(rewards=[{"type": "model", "members": TWO}], stages=["ppo"], data={"prompts": "ds_1"})
    named = [one for one in named_paths(job) if one.kind == "reward_model"]
    assert [one.pointer for one in named] == ["#/rewards/0/members/0/path", "#/rewards/0/members/1/path"]
    (reward,) = with_paths(job, {one.at: f"/abs/{one.value}" for one in named}).rewards
    assert isinstance(reward, ModelReward) and reward.paths == ("/abs/ck_1", "/abs/ck_2")
    assert not reward.is_trained_in_run and not job.own_reward_model


def test_penalty_may_change_in_ppo_and_members_may_not() -> None:
    old = spec(reward_model={"members": 3})
    harder = spec(reward_model={"members": 3}, rewards=[{"type": "model", "penalty": 2.0}])
    more = spec(reward_model={"members": 4})
    at = BranchPoint("ppo", 10, final=False)
    assert unusable_changes(old, harder, at) == []
    assert [one.pointer for one in unusable_changes(old, more, at)] == ["#/reward_model/members"]
    middle = BranchPoint("reward_model", 10, final=False)
    assert [one.pointer for one in unusable_changes(old, more, middle)] == ["#/reward_model/members"]
