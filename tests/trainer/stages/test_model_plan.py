"""The models that each stage builds, for every kind of run."""

from typing import Any

import pytest

from trainer.spec import JobSpec, StageName
from trainer.stages.model_plan import (
    NewestCheckpoint,
    StageOutput,
    critic_start_path,
    planned_models,
    scores_with_own_reward_model,
)

LENGTH = {"type": "length", "target": 3}
OWN = {"type": "model"}
ALL = ["sft", "reward_model", "dpo", "ppo", "evaluation"]


def spec_of(stages: list[str], **changes: Any) -> JobSpec:
    raw = {"model": "base", "data": {"preferences": "p", "thumbs": "t"}, "stages": stages}
    return JobSpec.model_validate(raw | changes)


def uses(spec: JobSpec, stage: StageName) -> dict[str, str]:
    return {planned.part: planned.use for planned in planned_models(spec, stage)}


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        ("sft", {"policy": "trained"}),
        ("reward_model", {"reward_model": "trained"}),
        ("dpo", {"policy": "trained", "reference": "frozen"}),
        ("ppo", {"policy": "trained", "initial": "frozen", "reward_model": "frozen", "critic": "trained"}),
        ("evaluation", {"policy": "exact", "initial": "frozen", "reward_model": "frozen", "best": "exact"}),
    ],
)
def test_plan_of_a_whole_run_lists_each_stage(stage: StageName, expected: dict[str, str]) -> None:
    assert uses(spec_of(ALL), stage) == expected


@pytest.mark.parametrize(("loss", "reference"), [("sigmoid", True), ("ipo", True), ("orpo", False)])
def test_dpo_loads_a_reference_if_its_loss_has_one(loss: str, reference: bool) -> None:
    assert ("reference" in uses(spec_of(["dpo"], dpo={"loss": loss}), "dpo")) == reference


def test_plan_starts_from_the_newest_policy() -> None:
    plan = {planned.part: planned for planned in planned_models(spec_of(ALL), "ppo")}
    assert plan["policy"].start == plan["initial"].start == StageOutput("dpo")
    assert plan["policy"].saved == (NewestCheckpoint("ppo"),)
    assert plan["reward_model"].start == plan["critic"].start == StageOutput("sft"), "as the reward model did"
    assert plan["critic"].saved == (NewestCheckpoint("ppo", "critic"), StageOutput("reward_model"))
    assert planned_models(spec_of(["ppo"], rewards=[LENGTH]), "ppo")[0].start == "base"


def test_plan_of_a_new_model_starts_from_none() -> None:
    model = {"config": {"model_type": "llama"}, "tokenizer": {"vocab_size": 300}}
    spec = spec_of(["sft", "reward_model"], model=model)
    assert planned_models(spec, "sft")[0].start is None
    assert planned_models(spec, "reward_model")[0].start == StageOutput("sft")


def test_plan_without_a_critic_has_none() -> None:
    for ppo in ({"advantage": {"estimator": "sequence"}}, {"critic": {"kind": "value_head"}}):
        spec = spec_of(["ppo"], rewards=[LENGTH], ppo=ppo)
        assert uses(spec, "ppo") == {"policy": "trained", "initial": "frozen"}


@pytest.mark.parametrize(
    ("reference", "use"), [({"path": "other"}, "frozen"), ({"update": "ema"}, "moving"), ({}, None)]
)
def test_plan_has_a_reference_if_it_differs(reference: dict[str, str], use: str | None) -> None:
    assert uses(spec_of(["ppo"], rewards=[LENGTH], ppo={"reference": reference}), "ppo").get("reference") == use


def test_plan_of_an_online_run_moves_the_reward_model() -> None:
    ppo = {"online": {"rounds": 2, "label_by": LENGTH}}
    spec = spec_of(["reward_model", "ppo", "evaluation"], ppo=ppo)
    assert uses(spec, "ppo")["reward_model"] == "moving"
    evaluated = {planned.part: planned for planned in planned_models(spec, "evaluation")}["reward_model"]
    assert evaluated.saved == (StageOutput("ppo", "reward_model"), StageOutput("reward_model"))


def test_plan_of_an_evaluation_alone_has_two_named_models() -> None:
    spec = spec_of(["evaluation"], evaluation={"against": "other"}, rewards=[LENGTH])
    plan = {planned.part: planned.start for planned in planned_models(spec, "evaluation")}
    assert plan == {"against": "other", "policy": "base"}


def test_own_reward_model_scores_for_a_judge_or_labels() -> None:
    stages = ["reward_model", "ppo", "evaluation"]
    judged = spec_of(stages, rewards=[LENGTH], evaluation={"judge": OWN})
    assert scores_with_own_reward_model(judged, "ppo") and scores_with_own_reward_model(judged, "evaluation")
    other = spec_of(stages, rewards=[LENGTH])
    assert not scores_with_own_reward_model(other, "ppo")


def test_critic_starts_from_the_first_readable_reward_model() -> None:
    rewards = [LENGTH, OWN | {"path": "a"}, OWN | {"path": "b"}]
    spec = spec_of(["ppo"], rewards=rewards)
    assert critic_start_path(spec, lambda path: True) == "a"
    assert critic_start_path(spec, lambda path: path == "b") == "b"
    assert critic_start_path(spec, lambda path: False) is None
    own = spec_of(["reward_model", "ppo"], rewards=[*rewards, OWN])
    assert critic_start_path(own, lambda path: True) is None
    policy = spec_of(["ppo"], rewards=rewards, ppo={"critic": {"initial": "policy"}})
    assert critic_start_path(policy, lambda path: True) is None
    assert [p.start for p in planned_models(spec, "ppo", "a") if p.part == "critic"] == ["a"]
