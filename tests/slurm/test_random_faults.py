"""Fifty random cancels, requeues and restarts lose no job and change no result."""

import os
import random
import signal
import subprocess

import pytest

from proximal.sdk import Client
from tests.processes import children
from tests.proximal.conftest import Up
from tests.slurm.cluster import SlurmCluster, ask
from tests.slurm.conftest import Platform
from tests.slurm.test_jobs import same_result, submit
from tests.waiting import eventually
from tests.worker.jobs.test_kill_and_resume import wait_for_success

pytestmark = [pytest.mark.slow, pytest.mark.slurm, pytest.mark.timeout(3600)]
FAULTS, JOBS, SEED = 50, 4, 28
ENDED = ("succeeded", "failed", "cancelled")


def running() -> list[tuple[str, str]]:
    """The number and the job of each batch job that runs now; none while the controller is away."""
    lines = ask("squeue", "--noheader", "--states=RUNNING", "--format=%A|%k").splitlines()
    return [(line.split("|")[0], line.split()[1]) for line in lines if "proximal job_" in line]


def kill_a_worker(up: Up, choice: random.Random) -> None:
    found = [pid for pid, command in children(up.process.pid).items() if command.endswith("-m worker")]
    os.kill(choice.choice(found), signal.SIGKILL)


def restart_controller(cluster: SlurmCluster) -> None:
    cluster.stop_controller()
    cluster.start_controller()
    eventually(cluster.states)


def resume_paused(client: Client, jobs: list[str]) -> None:
    for job_id in jobs:
        if client.get_job(job_id)["status"] == "paused":
            client.resume_job(job_id)


def test_fifty_random_faults_lose_no_job(platform: Platform, cluster: SlurmCluster) -> None:
    choice = random.Random(SEED)
    counts = dict.fromkeys(("scancel", "requeue", "worker", "controller"), 0)
    with platform("--workers", "3") as (up, client):
        undisturbed = submit(client)
        wait_for_success(client, undisturbed)
        jobs: list[str] = []
        while sum(counts.values()) < FAULTS:
            open_jobs = [job_id for job_id in jobs if client.get_job(job_id)["status"] not in ENDED]
            if len(open_jobs) < JOBS:
                jobs.append(submit(client))
            resume_paused(client, jobs)
            eventually(running)
            fault = choice.choice(list(counts))
            number, _ = choice.choice(running() or [("", "")])
            if fault == "worker":
                kill_a_worker(up, choice)
            elif fault == "controller":
                restart_controller(cluster)
            elif number:
                command = ["scancel", number] if fault == "scancel" else ["scontrol", "requeue", number]
                subprocess.run(command, capture_output=True, check=False)  # the job may have ended meanwhile
            counts[fault] += 1
        for job_id in jobs:

            def ended(job_id: str = job_id) -> bool:
                resume_paused(client, jobs)
                return client.get_job(job_id)["status"] in ENDED

            eventually(ended, 900)
            same_result(client, job_id, undisturbed)
        print(counts, len(jobs), [client.get_job(job_id)["attempt"] for job_id in jobs])  # noqa: T201  for the lab notes
