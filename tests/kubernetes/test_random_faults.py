"""Random evictions, deletions, killed workers and lost servers lose no job and change no result."""

import os
import random
import signal
from pathlib import Path

import pytest

from proximal.sdk import Client
from tests.kubernetes.cluster import Cluster
from tests.kubernetes.test_platform import cluster, submit  # noqa: F401  a fixture
from tests.processes import children
from tests.proximal.conftest import Up, running_up
from tests.worker.jobs.test_kill_and_resume import numbers, weights

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
FAULTS, JOBS, SEED = 16, 2, 29
ENDED = ("succeeded", "failed", "cancelled")


def kill_a_worker(up: Up, choice: random.Random) -> None:
    found = [pid for pid, command in children(up.process.pid).items() if command.endswith("-m worker")]
    if found:
        os.kill(choice.choice(found), signal.SIGKILL)


def delete_a_job(cluster: Cluster, choice: random.Random) -> None:  # noqa: F811
    cluster.api.remove("jobs", choice.choice(cluster.jobs)["metadata"]["name"])


def lose_the_server(cluster: Cluster) -> None:  # noqa: F811
    cluster.api.hang_up()
    for _ in range(5):
        cluster.work()
    cluster.api.listen()


def events(cluster: Cluster) -> int:  # noqa: F811
    """The lines that all trainers have written so far."""
    return sum(len(file.read_bytes().splitlines()) for file in cluster.claim.glob("runs/*/attempt-*/events.jsonl"))


def resume_paused(client: Client, jobs: list[str]) -> None:
    for job_id in jobs:
        if client.get_job(job_id)["status"] == "paused":
            client.resume_job(job_id)


def same_result(client: Client, one: str, other: str) -> None:
    assert client.get_job(one)["status"] == "succeeded", client.get_job(one)["error"]
    assert numbers(client, one) == numbers(client, other)
    assert weights(client, one) == weights(client, other) != {}
    assert client.get_job(one)["summary"] == client.get_job(other)["summary"]


def test_random_faults_lose_no_job(cluster: Cluster, tmp_path: Path) -> None:  # noqa: F811
    choice = random.Random(SEED)
    counts = dict.fromkeys(("evict", "delete", "worker", "server"), 0)
    with running_up(tmp_path / "data", "--workers", str(JOBS)) as up, up.client() as client:
        undisturbed = submit(client)
        cluster.until(lambda: client.get_job(undisturbed)["status"] in ENDED)
        jobs: list[str] = []
        while sum(counts.values()) < FAULTS:
            while sum(client.get_job(job_id)["status"] not in ENDED for job_id in jobs) < JOBS:
                jobs.append(submit(client))
            resume_paused(client, jobs)
            cluster.until(lambda: cluster.runs_a_pod() or all(client.get_job(one)["status"] in ENDED for one in jobs))
            if not cluster.runs_a_pod():
                continue  # both have ended meanwhile
            fault = choice.choice(list(counts))
            if fault == "worker":
                kill_a_worker(up, choice)
            elif fault == "server":
                lose_the_server(cluster)
            elif fault == "delete":
                delete_a_job(cluster, choice)
            else:
                cluster.evict()
            counts[fault] += 1
            seen, more = events(cluster), choice.randrange(60)
            cluster.until(lambda seen=seen, more=more: events(cluster) >= seen + more or not cluster.runs_a_pod())
        for job_id in jobs:

            def ended(job_id: str = job_id) -> bool:
                resume_paused(client, jobs)
                return client.get_job(job_id)["status"] in ENDED

            cluster.until(ended)
            same_result(client, job_id, undisturbed)
        print(counts, len(jobs), [client.get_job(job_id)["attempt"] for job_id in jobs])  # noqa: T201  for the lab notes
