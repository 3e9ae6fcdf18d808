"""Labelled steps through the whole platform: uploaded over REST, shown, exported, and used by a real trainer."""

import json
from pathlib import Path

import pytest

from proximal.sdk.spec_files import read_spec
from tests.proximal.conftest import running_up
from tests.worker.jobs.test_kill_and_resume import TINY, numbers, wait_for_success

STAGES = ["sft", "reward_model", "ppo", "evaluation"]


@pytest.mark.slow
def test_job_on_steps_trains_a_reward_model_and_ppo_uses_it(tmp_path: Path) -> None:
    rows = [
        {"prompt": f"sum {n} :", "completions": ["one", "two", "three"][: 2 + n % 2], "labels": labels[: 2 + n % 2]}
        for n in range(120)
        for labels in [[True, n % 3 > 0, n % 5 > 0]]
    ]
    (tmp_path / "steps.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with running_up(tmp_path / "data") as up, up.client() as client:
        dataset = client.upload_dataset(tmp_path / "steps.jsonl")
        assert (dataset["kind"], dataset["rows"]) == ("steps", 120)
        shown = client.upload_dataset(TINY.parent / "tiny" / "sft.jsonl")
        spec = read_spec(TINY) | {"data": {"steps": dataset["id"], "sft": shown["id"]}, "stages": STAGES}
        spec["reward_model"] |= {"loss": "stepwise"}
        spec["ppo"] |= {"steps": 2}
        job = client.create_job(spec)["id"]
        wait_for_success(client, job)
        found = numbers(client, job)
        assert {stage for stage, _ in found} == set(STAGES)
        assert {"first_error_accuracy", "eval/first_error_accuracy"} <= {
            name for stage, name in found if stage == "reward_model"
        }
        (card,) = client.list_job_events(job, types=["report_card"])
        assert card["data"]["card"]["loss"] == "stepwise"
        pinned = client.get_job(job)["spec"]["data"]["steps"]
        assert pinned.startswith(f"{dataset['id']}@sha256:")
