"""Whole runs on thumbs: a preference that was planted in single completions is learnt from them, by both losses."""

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


def thumbs(count: int) -> list[dict[str, str]]:
    """One completion for each prompt, with a thumb up if its adjective is a kind one; two of five are."""
    rng = random.Random(0)
    rows = []
    for number in range(count):
        up = rng.random() < 0.4
        said = f" the {rng.choice(SUBJECTS)} was {rng.choice(GOOD if up else BAD)} ."
        rows.append({"prompt": f"how was film {number} ?", "completion": said, "thumb": "up" if up else "down"})
    return rows


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder, rows = tmp_path_factory.mktemp("data"), thumbs(320)
    shown = [{"prompt": row["prompt"], "completion": row["completion"]} for row in rows]
    for name, lines in (("thumbs", rows), ("sft", shown)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
    return {"thumbs": str(folder / "thumbs.jsonl"), "sft": str(folder / "sft.jsonl"), "eval_fraction": 0.25}


def spec_of(data: dict[str, Any], **changes: Any) -> JobSpec:
    raw = tiny_spec() | {
        "data": data,
        "stages": ["sft", "reward_model", "kto", "evaluation"],
        "sft": {"epochs": 3, "batch_size": 16, "learning_rate": 1e-2},
        "reward_model": {"loss": "pointwise", "epochs": 4, "batch_size": 16, "learning_rate": 5e-3, "save_every": 9},
        "kto": {"epochs": 4, "batch_size": 16, "learning_rate": 1e-3, "save_every": 5, "desirable_weight": 2.0},
        "evaluation": {"prompts": 64, "max_new_tokens": 24},
    }
    del raw["ppo"]
    return JobSpec.model_validate(raw | changes)


@pytest.fixture(scope="module")
def finished(data: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    run_in_process(spec_of(data), folder)
    return folder


def last(folder: Path, stage: str) -> dict[str, float]:
    return [values for (name, _), values in metrics_of(folder).items() if name == stage][-1]


def test_reward_model_on_thumbs_separates_held_out_rows(finished: Path) -> None:
    found = last(finished, "reward_model")
    assert found["eval/accuracy"] > 0.95 and found["eval/auc"] > 0.95
    assert 0.5 < found["eval/majority_baseline"] < 0.7


def test_every_metric_is_in_the_table(finished: Path) -> None:
    assert unexplained(finished) == set()


def test_kto_raises_held_out_margin_and_policy_score(finished: Path) -> None:
    """The implied reward is β·log(π/ref) with β = 0.1: a margin of 0.2 is two nats between the two thumbs."""
    found = last(finished, "kto")
    assert found["eval/margin"] > 0.2 and found["eval/auc"] > 0.9
    assert found["eval/rewards/chosen"] > found["eval/rewards/rejected"]
    judged = last(finished, "evaluation")  # by the reward model, in log odds
    assert judged["score_after"] > judged["score_before"] + 1


@pytest.mark.slow
def test_thumbs_run_crashed_in_a_stage_resumes_to_same_bits(
    data: dict[str, Any], finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for stage, step in (("reward_model", 12), ("kto", 8)):
        with crashing(monkeypatch, stage, step):
            run_in_process(spec_of(data), tmp_path)
    run_in_process(spec_of(data), tmp_path)
    assert contents(tmp_path) == contents(finished)
    assert metrics_of(tmp_path) == metrics_of(finished)


def test_adapters_on_one_backbone_learn_from_thumbs_too(data: dict[str, Any], finished: Path, tmp_path: Path) -> None:
    model = {"path": str(finished / "checkpoints" / "sft"), "lora": {"rank": 8, "alpha": 16}}
    stages = {"stages": ["reward_model", "kto"], "model": model}
    faster = {"reward_model": {"loss": "pointwise", "epochs": 4, "batch_size": 16, "learning_rate": 1e-2},
              "kto": {"epochs": 2, "batch_size": 16, "learning_rate": 5e-3}}  # fmt: skip
    run_in_process(spec_of(data, **stages, **faster), tmp_path)
    assert last(tmp_path, "reward_model")["eval/auc"] > 0.9
    assert last(tmp_path, "kto")["eval/margin"] > 0.1
