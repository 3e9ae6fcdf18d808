"""A job over REST in two real processes has the same results as in one."""

import math
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file
from torch import Tensor

from proximal.sdk import Client
from proximal.sdk.spec_files import read_spec, with_uploads
from tests import tolerance
from tests.proximal.conftest import running_up
from tests.worker.jobs.test_kill_and_resume import TINY, numbers, wait_for_success

LEFT = tolerance.summed(24 * math.log(512))
"""Tolerance of a KL: the log-probabilities of 24 tokens out of 512 add up to 150 nats under either model."""


def brief(client: Client) -> dict[str, Any]:
    """The spec of the smallest run that samples, scores and trains."""
    spec = with_uploads(client, read_spec(TINY), TINY.parent)
    # low learning rates, since Adam turns rounding errors of tiny gradients into steps
    shorter = {
        "sft": spec["sft"] | {"epochs": 1, "learning_rate": 1e-3},
        "ppo": spec["ppo"] | {"steps": 2, "learning_rate": 1e-4},
    }
    return spec | shorter | {"stages": ["sft", "ppo"], "rewards": [{"type": "length", "target": 8}]}


def finished(client: Client, spec: dict[str, Any]) -> str:
    job_id = client.create_job(spec)["id"]
    wait_for_success(client, job_id)
    return job_id


def weights(client: Client, job_id: str, folder: Path) -> dict[str, Tensor]:
    """The weights of every stage's result, by stage and name."""
    found: dict[str, Tensor] = {}
    for checkpoint in client.list_job_checkpoints(job_id, final=True):
        for path in [file["path"] for file in checkpoint["files"] if file["path"].endswith("model.safetensors")]:
            target = client.download_checkpoint_file(checkpoint["id"], path, folder / f"{job_id}-{checkpoint['stage']}")
            found |= {f"{checkpoint['stage']} {name}": weight for name, weight in load_file(target).items()}
    return found


@pytest.mark.slow
def test_job_of_two_processes_matches_figures_and_weights_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROXIMAL_PROCESSES", "2")
    with running_up(tmp_path / "data") as up, up.client() as client:
        spec = brief(client)
        alone, together = finished(client, spec), finished(client, spec | {"resources": {"processes": 2}})
        one, two = numbers(client, alone), numbers(client, together)
        assert one.keys() == two.keys() and ("ppo", "objective/kl") in two
        for series, points in one.items():
            # the square of √KL, since the root enlarges errors near zero
            power = 2 if series[1].endswith("sqrt_kl") else 1
            expected = [(step, pytest.approx(value**power, rel=1e-5, abs=LEFT)) for step, value in points]
            assert [(step, value**power) for step, value in two[series]] == expected, series
        assert client.get_job(together)["summary"] == pytest.approx(client.get_job(alone)["summary"], rel=1e-5)
        single, shared = weights(client, alone, tmp_path), weights(client, together, tmp_path)
    assert single.keys() == shared.keys() and {name.split()[0] for name in single} == {"sft", "ppo"}
    for name, weight in single.items():
        assert float((shared[name] - weight).abs().max()) <= tolerance.weights(rate=1e-4, steps=8), name
