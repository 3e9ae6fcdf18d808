"""Specs of stepwise reward models: what is refused with which reason, and the defaults that follow."""

from typing import Any

import pytest
from pydantic import ValidationError

from trainer.spec import JobSpec, ModelReward, RewardModelSpec

BASE: dict[str, Any] = {
    "model": "m",
    "data": {"steps": "steps.jsonl", "sft": "sft.jsonl"},
    "reward_model": {"loss": "stepwise"},
    "ppo": {},
}
OWN = {"type": "model", "step_delimiter": "\n"}


def test_the_runs_own_reward_scores_steps_without_being_named() -> None:
    spec = JobSpec.model_validate(BASE | {"reward_model": {"loss": "stepwise", "step_delimiter": "\n\n"}})
    assert spec.scoring == (ModelReward(step_delimiter="\n\n"),)
    assert spec.reward_model.normalize == "none"
    assert JobSpec.model_validate(spec.model_dump(mode="json")) == spec


def test_a_spec_without_steps_is_as_it_was() -> None:
    assert RewardModelSpec().normalize == "mean" and ModelReward().step_delimiter is None


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"data": {"sft": "sft.jsonl"}}, '`reward_model.loss` = "stepwise" needs `data.steps`'),
        ({"reward_model": {}}, '`data.steps` needs `reward_model.loss` = "stepwise"'),
        ({"reward_model": {"loss": "stepwise", "normalize": "mean"}}, "a shift would change every probability"),
        ({"reward_model": {"loss": "stepwise", "members": 3}}, "is defined for one score of a response"),
        ({"reward_model": {"loss": "stepwise", "margin": True}}, "they are terms of a pair"),
        ({"reward_model": {"loss": "stepwise", "center_coef": 0.01}}, "they are terms of a pair"),
        ({"reward_model": {"step_delimiter": "."}}, 'only "stepwise" reads steps'),
        ({"reward_model": {"neutral": "skip"}}, 'only "stepwise" reads steps'),
        ({"rewards": [{"type": "model"}]}, "is read at the ends of steps, at '\\n', and the reward has none"),
        ({"rewards": [OWN | {"step_delimiter": "."}]}, "and the reward has '.'"),
        ({"evaluation": {"judge": {"type": "model"}}}, "and the reward has none"),
        (
            {"data": {"preferences": "p"}, "reward_model": {}, "rewards": [OWN]},
            "trains to score whole responses: its value at a step means nothing",
        ),
        ({"rewards": [OWN | {"combine": "worst"}]}, "`combine` has no effect with `step_delimiter`"),
        (
            {"rewards": [{"type": "model", "step_output": "logit"}]},
            "`step_output` has no effect without `step_delimiter`",
        ),
        (
            {"rewards": [OWN, OWN | {"name": "other", "members": [{"path": "a"}, {"path": "b"}]}]},
            "Name each model as a reward of its own",
        ),
        ({"ppo": {"online": {}}}, "refits the reward model on pairs"),
    ],
)
def test_what_has_no_meaning_is_refused_with_the_reason(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError) as error:
        JobSpec.model_validate(BASE | changes)
    assert problem in str(error.value)
