"""A worker that is killed in the middle of PPO changes no metric and no weight of the run."""

import os
import signal
from pathlib import Path

import pytest

from proximal.sdk import Client
from proximal.sdk.spec_files import read_spec, with_uploads
from proximal.sdk.types import Checkpoint
from tests.proximal.conftest import running_up
from tests.proximal.test_local import parts
from tests.waiting import eventually

TINY = Path(__file__).parents[3] / "examples" / "tiny.toml"
Numbers = dict[tuple[str, str], list[tuple[int, float]]]


def submit(client: Client) -> str:
    """Queue the tiny job with so many steps of PPO that the worker is killed before the last one."""
    spec = read_spec(TINY)
    spec["ppo"] |= {"steps": 24, "eval_every": 12}
    return client.create_job(with_uploads(client, spec, TINY.parent))["id"]


def wait_for_success(client: Client, job_id: str) -> None:
    def ended() -> bool:
        return client.get_job(job_id)["status"] in ("succeeded", "failed", "cancelled")

    eventually(ended)
    job = client.get_job(job_id)
    assert job["status"] == "succeeded", job["error"]


def in_the_middle_of_ppo(client: Client, job_id: str) -> bool:
    progress = client.get_job(job_id)["progress"]
    return progress is not None and progress["stage"] == "ppo" and 3 <= progress["step"] < progress["total_steps"]


def numbers(client: Client, job_id: str) -> Numbers:
    """Every series of the run except timings."""
    series = client.get_job_metrics(job_id)["series"]
    return {
        (one["stage"], one["name"]): list(zip(one["steps"], one["values"] or [], strict=True))
        for one in series
        if not one["name"].startswith(("time/", "memory/"))
    }


def weights(client: Client, job_id: str) -> dict[str, str]:
    """Hashes of the model files of each stage's result."""

    def of(checkpoint: Checkpoint) -> dict[str, str]:
        models = [file for file in checkpoint["files"] if file["path"].endswith(".safetensors")]
        return {f"{checkpoint['stage']}/{file['path']}": file["sha256"] for file in models}

    found: dict[str, str] = {}
    for checkpoint in client.list_job_checkpoints(job_id, final=True):
        found |= of(checkpoint)
    return found


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_of_ppo_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROXIMAL_LEASE_SECONDS", "5")
    monkeypatch.setenv("PROXIMAL_HEARTBEAT_SECONDS", "0.5")
    monkeypatch.setenv("PROXIMAL_SWEEP_SECONDS", "0.5")
    with running_up(tmp_path / "data") as up, up.client() as client:
        undisturbed = submit(client)
        wait_for_success(client, undisturbed)
        killed = submit(client)
        eventually(lambda: in_the_middle_of_ppo(client, killed))
        os.kill(parts(up)["worker"], signal.SIGKILL)
        wait_for_success(client, killed)
        assert client.get_job(killed)["attempt"] == 2
        resumed = list(client.list_job_events(killed, types=["run_started"]))[1]["data"]
        assert resumed["resumed_stage"] == "ppo"
        assert resumed["resumed_step"] >= 2
        assert numbers(client, killed) == numbers(client, undisturbed)
        assert weights(client, killed) == weights(client, undisturbed) != {}
        assert client.get_job(killed)["summary"] == client.get_job(undisturbed)["summary"]


@pytest.mark.slow
def test_changed_knob_is_repeated_after_a_lost_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The change is made after the last checkpoint, and the worker is killed before the next one."""
    monkeypatch.setenv("PROXIMAL_LEASE_SECONDS", "5")
    monkeypatch.setenv("PROXIMAL_HEARTBEAT_SECONDS", "0.5")
    monkeypatch.setenv("PROXIMAL_SWEEP_SECONDS", "0.5")
    spec = read_spec(TINY)
    spec["stages"], spec["rewards"] = ["sft", "ppo"], [{"type": "length", "target": 3}]
    spec["ppo"] |= {"steps": 40, "save_every": 1000, "eval_every": 1000, "lr_schedule": "constant"}
    with running_up(tmp_path / "data") as up, up.client() as client:
        job_id = client.create_job(with_uploads(client, spec, TINY.parent))["id"]
        eventually(lambda: in_the_middle_of_ppo(client, job_id))
        (command,) = client.create_job_commands(job_id, learning_rate=5e-4)
        eventually(lambda: next(client.list_job_commands(job_id))["status"] == "applied")
        os.kill(parts(up)["worker"], signal.SIGKILL)
        wait_for_success(client, job_id)
        applied = next(client.list_job_commands(job_id))
        changes = [event["data"] for event in client.list_job_events(job_id, types=["knob_changed"])]
        assert len(changes) == 2 and changes[0] == changes[1]
        assert (changes[0]["command"], changes[0]["step"]) == (command["id"], applied["step"])
        rates = dict(numbers(client, job_id)["ppo", "lr"])
        assert applied["step"] is not None and applied["step"] >= 3
        assert {rate for step, rate in rates.items() if 2 < step <= applied["step"]} == {1e-3}
        assert {rate for step, rate in rates.items() if step > applied["step"]} == {5e-4}
