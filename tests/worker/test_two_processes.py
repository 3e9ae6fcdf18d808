"""The promise of `resources`: a job over REST in two real processes comes to what it comes to in one."""

from pathlib import Path
from typing import Any

import pytest

from client.sdk import Client
from client.submit import read_spec, with_uploads
from tests.client.conftest import running_up
from tests.worker.test_kill_and_resume import TINY, numbers, wait_for_success


def brief(client: Client) -> dict[str, Any]:
    """The smallest run that samples, scores and trains."""
    spec = with_uploads(client, read_spec(TINY), TINY.parent)
    shorter = {"sft": spec["sft"] | {"epochs": 1}, "ppo": spec["ppo"] | {"steps": 2}}
    return spec | shorter | {"stages": ["sft", "ppo"], "rewards": [{"type": "length", "target": 8}]}


def finished(client: Client, spec: dict[str, Any]) -> str:
    job_id = client.create_job(spec)["id"]
    wait_for_success(client, job_id)
    return job_id


def test_two_processes_come_to_the_figures_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROXIMAL_PROCESSES", "2")
    with running_up(tmp_path / "data") as up, up.client() as client:
        spec = brief(client)
        alone, together = finished(client, spec), finished(client, spec | {"resources": {"processes": 2}})
        one, two = numbers(client, alone), numbers(client, together)
        assert one.keys() == two.keys() and ("ppo", "objective/kl") in two
        for series, points in one.items():
            assert two[series] == [(step, pytest.approx(value, rel=1e-5, abs=1e-6)) for step, value in points], series
        assert client.get_job(together)["summary"] == pytest.approx(client.get_job(alone)["summary"], rel=1e-5)
