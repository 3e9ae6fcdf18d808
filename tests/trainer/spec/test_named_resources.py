import typing
from typing import Any

from pydantic import BaseModel

from trainer import spec as spec_package
from trainer.spec import DataSpec, JobSpec
from trainer.spec.named_resources import named_paths, named_urls, with_paths
from trainer.spec.section import Path

FULL: dict[str, Any] = {
    "model": "m",
    "data": {"preferences": "p.jsonl"},
    "reward_model": {"path": "rm"},
    "ppo": {
        "reference": {"path": "ref"},
        "online": {"label_by": {"type": "http", "url": "http://label/"}},
    },
    "rewards": [
        {"type": "model", "path": "gold"},
        {"type": "model"},
        {"type": "classifier", "path": "toxic"},
        {"type": "lexicon", "path": "words.txt"},
        {"type": "http", "url": "https://score/"},
    ],
    "evaluation": {"against": "old", "judge": {"type": "http_judge", "url": "http://judge/"}},
}


def test_named_resources_lists_paths_and_urls_with_pointers() -> None:
    spec = JobSpec.model_validate(FULL)
    assert {(found.pointer, found.kind, found.value) for found in named_paths(spec)} == {
        ("#/model/path", "policy", "m"),
        ("#/reward_model/path", "reward_model", "rm"),
        ("#/ppo/reference/path", "policy", "ref"),
        ("#/rewards/0/path", "reward_model", "gold"),
        ("#/rewards/2/path", "classifier", "toxic"),
        ("#/rewards/3/path", "file", "words.txt"),
        ("#/evaluation/against", "policy", "old"),
    }
    assert {(found.param, found.value) for found in named_urls(spec)} == {
        ("rewards.4.url", "https://score/"),
        ("evaluation.judge.url", "http://judge/"),
        ("ppo.online.label_by.url", "http://label/"),
    }


def test_a_judge_and_a_source_of_labels_may_be_models_too() -> None:
    raw = {"judge": {"type": "model", "path": "j"}}, {"label_by": {"type": "classifier", "path": "c"}}
    spec = JobSpec.model_validate(FULL | {"evaluation": raw[0], "ppo": {"online": raw[1]}})
    found = {(named.param, named.kind) for named in named_paths(spec)}
    assert {("evaluation.judge.path", "reward_model"), ("ppo.online.label_by.path", "classifier")} <= found


def test_named_resources_covers_every_path_field_of_the_spec() -> None:
    """A new field with a path must be added to `named_paths` and to this test."""
    sections = [kind for kind in vars(spec_package).values() if isinstance(kind, type) and issubclass(kind, BaseModel)]
    named = {
        (section.__name__, name)
        for section in sections
        for name, hint in typing.get_type_hints(section, include_extras=True).items()
        if section is not DataSpec and (name == "url" or Path in (hint, *typing.get_args(hint)))
    }
    assert named == {
        ("ModelSpec", "path"),
        ("RewardModelSpec", "path"),
        ("ReferenceSpec", "path"),
        ("EvaluationSpec", "against"),
        ("ModelReward", "path"),
        ("ClassifierReward", "path"),
        ("LexiconReward", "path"),
        ("HttpReward", "url"),
        ("HttpJudge", "url"),
    }


def test_named_resources_paths_can_be_replaced() -> None:
    spec = JobSpec.model_validate(FULL)
    changed = with_paths(spec, {named.at: f"/abs/{named.value}" for named in named_paths(spec)})
    assert [named.value for named in named_paths(changed)] == [f"/abs/{named.value}" for named in named_paths(spec)]
    assert changed.data == spec.data and changed.rewards[1] == spec.rewards[1]
