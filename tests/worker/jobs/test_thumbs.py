"""Thumbs through the whole platform: uploaded over REST, and used by a real trainer with both losses."""

from pathlib import Path

import pytest

from proximal.sdk.spec_files import read_spec
from tests.proximal.conftest import running_up
from tests.worker.jobs.test_kill_and_resume import TINY, numbers, wait_for_success

STAGES = ["sft", "reward_model", "kto", "ppo", "evaluation"]


@pytest.mark.slow
def test_job_on_thumbs_runs_every_stage_that_uses_them(tmp_path: Path) -> None:
    with running_up(tmp_path / "data") as up, up.client() as client:
        dataset = client.upload_dataset(TINY.parent / "tiny" / "thumbs.jsonl")
        assert (dataset["kind"], dataset["rows"]) == ("thumbs", 160)
        spec = read_spec(TINY) | {"data": {"thumbs": dataset["id"]}, "stages": STAGES}
        spec["reward_model"] |= {"loss": "pointwise"}
        spec["kto"] = {"batch_size": 16, "learning_rate": 1e-4, "save_every": 4}
        spec["ppo"] |= {"steps": 2}
        job = client.create_job(spec)["id"]
        wait_for_success(client, job)
        found = numbers(client, job)
        assert {stage for stage, _ in found} == set(STAGES)
        assert {"loss", "kl", "margin", "rewards/chosen", "eval/auc"} <= {
            name for stage, name in found if stage == "kto"
        }
        (card,) = client.list_job_events(job, types=["report_card"])
        assert card["data"]["card"]["loss"] == "pointwise"
        assert set(card["data"]["card"]["by_thumb"]) == {"up", "down"}
        assert {"reward_model", "kto"} <= {one["stage"] for one in client.list_job_checkpoints(job, final=True)}
        pinned = client.get_job(job)["spec"]["data"]["thumbs"]
        assert pinned.startswith(f"{dataset['id']}@sha256:")
