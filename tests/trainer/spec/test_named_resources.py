from typing import Any

from trainer.spec import JobSpec
from trainer.spec.named_resources import named_paths, named_urls, with_paths

FULL: dict[str, Any] = {
    "model": "m",
    "data": {"preferences": "p.jsonl"},
    "reward_model": {"path": "rm"},
    "ppo": {
        "reference": {"path": "ref"},
        "teacher": {"path": "master"},
        "online": {"label_by": {"type": "http", "url": "http://label/"}},
    },
    "rewards": [
        {"type": "model", "path": "gold"},
        {"type": "model"},
        {"type": "classifier", "path": "toxic"},
        {"type": "lexicon", "path": "words.txt"},
        {"type": "http", "url": "https://score/"},
        {"type": "model", "members": [{"path": "one"}, {"path": "two"}]},
    ],
    "evaluation": {"against": "old", "judge": {"type": "http_judge", "url": "http://judge/"}},
}


def test_named_resources_lists_paths_and_urls_with_pointers() -> None:
    spec = JobSpec.model_validate(FULL)
    assert {(found.pointer, found.kind, found.value) for found in named_paths(spec)} == {
        ("#/model/path", "policy", "m"),
        ("#/reward_model/path", "reward_model", "rm"),
        ("#/ppo/reference/path", "policy", "ref"),
        ("#/ppo/teacher/path", "policy", "master"),
        ("#/rewards/5/members/0/path", "reward_model", "one"),
        ("#/rewards/5/members/1/path", "reward_model", "two"),
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


def test_named_resources_paths_can_be_replaced() -> None:
    spec = JobSpec.model_validate(FULL)
    changed = with_paths(spec, {named.at: f"/abs/{named.value}" for named in named_paths(spec)})
    assert [named.value for named in named_paths(changed)] == [f"/abs/{named.value}" for named in named_paths(spec)]
    assert changed.data == spec.data and changed.rewards[1] == spec.rewards[1]
