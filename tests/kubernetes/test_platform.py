"""A platform whose worker creates Jobs: reasons to wait, a killed worker, a lost server, evictions, deletions and cancels."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proximal.sdk import Client
from proximal.sdk.spec_files import read_spec, with_uploads
from tests.kubernetes.api_server import NAMESPACE
from tests.kubernetes.cluster import Cluster
from tests.kubernetes.conftest import TINY, VARIABLES
from tests.proximal.conftest import Up, running_up
from tests.proximal.test_local import parts
from tests.waiting import eventually
from tests.worker.jobs.test_kill_and_resume import in_the_middle_of_ppo

pytestmark = pytest.mark.slow
HOSTILE = '$(touch x); "'
UNSCHEDULABLE = {
    "conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes are available"}
    ]
}


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path / "node", tmp_path / "data")
    cluster.start()
    changed = {"PROXIMAL_KUBERNETES_CONFIG": str(cluster.config_file), "PROXIMAL_KUBERNETES_POLL_SECONDS": "0.3"}
    for name, value in (VARIABLES | changed).items():
        if name.startswith("PROXIMAL_"):
            monkeypatch.setenv(name, value)
    try:
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def up(cluster: Cluster, tmp_path: Path) -> Iterator[Up]:
    with running_up(tmp_path / "data") as up:
        yield up


@pytest.fixture
def client(up: Up) -> Iterator[Client]:
    with up.client() as client:
        yield client


def submit(client: Client, **changes: Any) -> str:
    spec = read_spec(TINY)
    spec["ppo"] |= {"steps": 24, "eval_every": 12}
    return client.create_job(with_uploads(client, spec | changes, TINY.parent))["id"]


def ends(cluster: Cluster, client: Client, job_id: str) -> str:
    cluster.until(lambda: client.get_job(job_id)["status"] in ("succeeded", "failed", "cancelled", "paused"))
    return client.get_job(job_id)["status"]


def test_run_survives_worker_server_and_eviction(cluster: Cluster, up: Up, client: Client, tmp_path: Path) -> None:
    cluster.pod_problem = UNSCHEDULABLE
    job_id = submit(client, name=HOSTILE)
    cluster.until(lambda: "waits for a node: Unschedulable" in (client.get_job(job_id)["queue_reason"] or ""))
    (worker,) = (one for one in client.list_workers() if one["launcher"] == "kubernetes")
    assert worker["cluster"] == {"engine": "kubernetes", "name": NAMESPACE, "partitions": []}
    cluster.pod_problem = None
    cluster.until(lambda: in_the_middle_of_ppo(client, job_id))
    before = parts(up)["worker"]
    cluster.api.hang_up()
    os.kill(before, signal.SIGKILL)
    eventually(lambda: parts(up).get("worker") not in (None, before))
    eventually(lambda: "followed by its events alone" in (client.get_job(job_id)["queue_reason"] or ""))
    cluster.api.listen()
    cluster.evict()
    assert ends(cluster, client, job_id) == "succeeded", client.get_job(job_id)["error"]
    job = client.get_job(job_id)
    assert (job["attempt"], job["name"]) == (1, HOSTILE)
    started = [event["data"]["resumed_stage"] for event in client.list_job_events(job_id, types=["run_started"])]
    assert started[0] is None and len(started) in (1, 2)
    cluster.until(lambda: cluster.jobs == [] and cluster.pods == [])
    assert not list(tmp_path.rglob("x"))


def test_deleted_job_is_paused_and_cancel_deletes(cluster: Cluster, up: Up, client: Client) -> None:
    job_id = submit(client)
    cluster.until(lambda: in_the_middle_of_ppo(client, job_id))
    cluster.api.remove("jobs", cluster.jobs[0]["metadata"]["name"])
    assert ends(cluster, client, job_id) == "paused"
    assert "was deleted in Kubernetes" in (client.get_job(job_id)["status_reason"] or "")
    client.resume_job(job_id)
    cluster.until(lambda: cluster.runs_a_pod() and client.get_job(job_id)["attempt"] == 2)
    client.cancel_job(job_id)
    assert ends(cluster, client, job_id) == "cancelled"
    cluster.until(lambda: cluster.jobs == [] and cluster.pods == [])
