"""Whole runs on labelled steps: a preference that was planted in single steps is learnt, and PPO is rewarded step by step."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.run.tools import contents, crashing
from tests.trainer.running import metrics_of, tiny_spec, unexplained
from trainer.run.process import run_in_process
from trainer.spec import JobSpec

GOOD, BAD = ("warm", "bold", "fresh", "clever"), ("boring", "clumsy", "plain", "slow")
SUBJECTS = ("plot", "cast", "music", "ending", "story")


def solutions(count: int) -> list[dict[str, Any]]:
    """Two or three steps for each prompt, each with a kind or an unkind adjective; three of five are kind."""
    rng = random.Random(0)
    rows = []
    for number in range(count):
        labels = [rng.random() < 0.6 for _ in range(rng.choice((2, 3)))]
        steps = [f"the {rng.choice(SUBJECTS)} was {rng.choice(GOOD if good else BAD)}" for good in labels]
        rows.append({"prompt": f"how was film {number} ?\n", "steps": steps, "labels": labels})
    return rows


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder, rows = tmp_path_factory.mktemp("data"), solutions(320)
    shown = [{"prompt": row["prompt"], "completion": "\n".join(row["steps"])} for row in rows]
    for name, lines in (("steps", rows), ("sft", shown)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
    return {"steps": str(folder / "steps.jsonl"), "sft": str(folder / "sft.jsonl"), "eval_fraction": 0.25}


def spec_of(data: dict[str, Any], **changes: Any) -> JobSpec:
    ppo = {
        "steps": 12, "batch_size": 32, "minibatches": 2, "epochs": 2, "max_new_tokens": 24, "learning_rate": 1e-3,
        "save_every": 4, "eval_every": 6, "log_samples": 2, "critic": {"learning_rate": 2e-3},
    }  # fmt: skip
    raw = tiny_spec() | {
        "data": data,
        "stages": ["sft", "reward_model", "ppo", "evaluation"],
        "sft": {"epochs": 4, "batch_size": 16, "learning_rate": 1e-2},
        "reward_model": {"loss": "stepwise", "epochs": 4, "batch_size": 16, "learning_rate": 5e-3, "save_every": 9},
        "ppo": ppo,
        "rewards": [{"type": "model", "step_delimiter": "\n", "step_output": "log_probability"}],
        "evaluation": {"prompts": 32, "max_new_tokens": 24},
    }
    return JobSpec.model_validate(raw | changes)


@pytest.fixture(scope="module")
def finished(data: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    run_in_process(spec_of(data), folder)
    return folder


def last(folder: Path, stage: str) -> dict[str, float]:
    return [values for (name, _), values in metrics_of(folder).items() if name == stage][-1]


def test_reward_model_on_steps_finds_held_out_errors(finished: Path) -> None:
    found = last(finished, "reward_model")
    assert found["eval/accuracy"] > 0.95 and found["eval/auc"] > 0.95
    assert found["eval/first_error_accuracy"] > 0.9


def test_every_metric_is_in_the_table(finished: Path) -> None:
    assert unexplained(finished) == set()


def test_ppo_writes_fewer_bad_steps(finished: Path) -> None:
    """The score is the log of the probability that all steps are good, by the reward model."""
    judged = last(finished, "evaluation")
    assert judged["score_after"] > judged["score_before"] + 0.5


@pytest.mark.slow
def test_steps_run_crashed_in_a_stage_resumes_to_same_bits(
    data: dict[str, Any], finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for stage, step in (("reward_model", 12), ("ppo", 7)):
        with crashing(monkeypatch, stage, step):
            run_in_process(spec_of(data), tmp_path)
    run_in_process(spec_of(data), tmp_path)
    assert contents(tmp_path) == contents(finished)
    assert metrics_of(tmp_path) == metrics_of(finished)


def test_adapters_on_one_backbone_keep_the_delimiter(data: dict[str, Any], finished: Path, tmp_path: Path) -> None:
    """The second run reads the adapter of the first as a reward, and refuses it for whole responses."""
    model = {"path": str(finished / "checkpoints" / "sft"), "lora": {"rank": 8, "alpha": 16}}
    faster = {"loss": "stepwise", "epochs": 4, "batch_size": 16, "learning_rate": 1e-2}
    ppo = {"steps": 1, "batch_size": 8, "minibatches": 1, "max_new_tokens": 12}
    both = {"model": model, "ppo": ppo, "evaluation": {"prompts": 8, "max_new_tokens": 12}}
    run_in_process(spec_of(data, stages=["reward_model", "ppo"], reward_model=faster, **both), tmp_path / "first")
    assert last(tmp_path / "first", "reward_model")["eval/auc"] > 0.9
    reward = {"type": "model", "path": str(tmp_path / "first" / "checkpoints" / "reward_model"), "step_delimiter": "\n"}
    run_in_process(spec_of(data, stages=["ppo"], rewards=[reward], **both), tmp_path / "second")
    assert 0 < last(tmp_path / "second", "ppo")["reward/model"] <= 3
    whole = spec_of(data, stages=["ppo"], rewards=[reward | {"step_delimiter": None}], **both)
    with pytest.raises(Exception, match="not the whole one"):
        run_in_process(whole, tmp_path / "third")
