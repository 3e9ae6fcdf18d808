"""Jobs of the platform as batch jobs of a real Slurm: their ends, their resumes, and the reasons why they wait."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from proximal.sdk import Client
from proximal.sdk.spec_files import read_spec, with_uploads
from tests.proximal.conftest import Up
from tests.proximal.test_local import parts
from tests.slurm.cluster import SlurmCluster, ask
from tests.slurm.conftest import Platform
from tests.waiting import eventually
from tests.worker.jobs.test_kill_and_resume import TINY, in_the_middle_of_ppo, numbers, wait_for_success, weights
from worker.jobs.launch.slurm.trainer import RECORD

pytestmark = [pytest.mark.slow, pytest.mark.slurm]
HOSTILE = "$(touch x); \"' `id` | -- %j\n--partition=urgent"


def tiny(client: Client, **changes: Any) -> dict[str, Any]:
    """The tiny job with so many steps of PPO that a test can interrupt it."""
    spec = read_spec(TINY)
    spec["ppo"] |= {"steps": 24, "eval_every": 12}
    return with_uploads(client, spec | changes, TINY.parent)


def submit(client: Client, **changes: Any) -> str:
    return client.create_job(tiny(client, **changes))["id"]


def slurm_job(up: Up, job_id: str, attempt: int = 1) -> str:
    """The number of the batch job of an attempt."""
    comment = f"proximal {job_id} {attempt}"
    lines = ask("squeue", "--noheader", "--states=all", "--format=%A|%k").splitlines()
    return next(line.partition("|")[0] for line in lines if line.partition("|")[2] == comment)


def state(number: str) -> str:
    return ask("squeue", "--noheader", "--states=all", f"--jobs={number}", "--format=%T")


def why(client: Client, job_id: str) -> str:
    return client.get_job(job_id)["queue_reason"] or ""


def same_result(client: Client, one: str, other: str) -> None:
    assert numbers(client, one) == numbers(client, other)
    assert weights(client, one) == weights(client, other) != {}
    assert client.get_job(one)["summary"] == client.get_job(other)["summary"]


def test_hostile_name_is_just_a_name(platform: Platform, tmp_path: Path) -> None:
    with platform() as (up, client):
        job_id = submit(client, name=HOSTILE, ppo=read_spec(TINY)["ppo"])
        wait_for_success(client, job_id)
        number = slurm_job(up, job_id)
        assert ask("squeue", "--noheader", "--states=all", f"--jobs={number}", "--format=%j|%P") == (
            HOSTILE.replace("\n", " ") + "|main"
        )
        assert client.get_job(job_id)["name"] == HOSTILE
        assert not list(tmp_path.rglob("x")) and not Path("x").exists()
        worker = next(worker for worker in client.list_workers() if worker["launcher"] == "slurm")
        assert worker["cluster"] is not None and worker["problem"] is None
        assert [(one["name"], one["default"]) for one in worker["cluster"]["partitions"]] == [
            ("main", True),
            ("urgent", False),
        ]
        assert sum(group["count"] for group in worker["cluster"]["partitions"][0]["groups"]) == 2


def test_every_interruption_resumes_bit_for_bit(platform: Platform, cluster: SlurmCluster) -> None:
    """Preemption, requeue, a lost node, a killed worker and a restarted controller, each in the middle of PPO."""
    with platform() as (up, client):
        undisturbed = submit(client)
        wait_for_success(client, undisturbed)

        preempted = submit(client)
        eventually(lambda: in_the_middle_of_ppo(client, preempted))
        number = slurm_job(up, preempted)
        urgent = ask(
            "sbatch",
            "--parsable",
            "--partition=urgent",
            "--nodes=2",
            "--exclusive",
            "--output=/dev/null",
            "--wrap=sleep 5",
        )
        eventually(lambda: state(number) == "PENDING")
        eventually(lambda: "queued job" in why(client, preempted))
        eventually(lambda: state(urgent) == "COMPLETED")
        wait_for_success(client, preempted)
        same_result(client, preempted, undisturbed)
        assert [
            event["data"]["resumed_stage"] for event in client.list_job_events(preempted, types=["run_started"])
        ] == [
            None,
            "ppo",
        ]

        requeued = submit(client)
        eventually(lambda: in_the_middle_of_ppo(client, requeued))
        ask("scontrol", "requeue", slurm_job(up, requeued))
        eventually(lambda: "scontrol requeue" in why(client, requeued))
        wait_for_success(client, requeued)
        same_result(client, requeued, undisturbed)

        stranded = submit(client)
        eventually(lambda: in_the_middle_of_ppo(client, stranded))
        node = ask("squeue", "--noheader", f"--jobs={slurm_job(up, stranded)}", "--format=%N")
        ask("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=pulled the plug")
        eventually(lambda: f"Slurm lost the node {node} of job" in why(client, stranded))
        wait_for_success(client, stranded)
        same_result(client, stranded, undisturbed)
        ask("scontrol", "update", f"NodeName={node}", "State=RESUME")

        followed = submit(client)
        eventually(lambda: in_the_middle_of_ppo(client, followed))
        number, worker = slurm_job(up, followed), parts(up)["worker"]
        os.kill(worker, signal.SIGKILL)
        cluster.stop_controller()
        eventually(lambda: parts(up).get("worker") not in (None, worker))
        eventually(
            lambda: "does not respond" in why(client, followed) or client.get_job(followed)["status"] != "running"
        )
        cluster.start_controller()
        wait_for_success(client, followed)
        same_result(client, followed, undisturbed)
        assert (client.get_job(followed)["attempt"], slurm_job(up, followed)) == (1, number)


def test_two_processes_on_two_nodes_save_and_resume(platform: Platform) -> None:
    with platform() as (up, client):
        job_id = submit(client, resources={"processes": 1, "machines": 2})
        eventually(lambda: in_the_middle_of_ppo(client, job_id))
        number = slurm_job(up, job_id)
        assert ask("squeue", "--noheader", f"--jobs={number}", "--format=%D|%N") == "2|n[1-2]"
        ask("scancel", "--batch", "--signal=TERM", number)
        eventually(lambda: client.get_job(job_id)["attempt"] == 2)
        stopped = list(client.list_job_events(job_id, types=["run_stopped"]))
        assert [event["data"]["reason"] for event in stopped] == ["signal"]
        wait_for_success(client, job_id)
        started = list(client.list_job_events(job_id, types=["run_started"]))
        assert [event["data"]["resumed_stage"] for event in started] == [None, "ppo"]
        assert ask("squeue", "--noheader", "--states=all", f"--jobs={slurm_job(up, job_id, 2)}", "--format=%D") == "2"


def test_time_limit_saves_and_queues_the_job_again(platform: Platform) -> None:
    with platform(stop_seconds="15") as (up, client):
        spec = read_spec(TINY)["ppo"] | {"steps": 400, "eval_every": 400}
        job_id = submit(client, ppo=spec, resources={"slurm": {"minutes": 1, "partition": "main"}})
        eventually(lambda: client.get_job(job_id)["attempt"] == 2)
        reasons = [event["data"]["reason"] for event in client.list_job_events(job_id, types=["status_changed"])]
        assert any("its time limit came near" in reason and "was saved" in reason for reason in reasons)
        eventually(lambda: client.get_job(job_id)["status"] == "running")
        client.cancel_job(job_id)
        eventually(lambda: client.get_job(job_id)["status"] == "cancelled")
        eventually(lambda: state(slurm_job(up, job_id, client.get_job(job_id)["attempt"])) in ("CANCELLED", "FAILED"))


def test_cancels_here_and_in_slurm_end_the_batch_job(platform: Platform) -> None:
    with platform() as (up, client):
        job_id = submit(client)
        eventually(lambda: client.get_job(job_id)["status"] == "running")
        number = slurm_job(up, job_id)
        ask("scancel", number)
        eventually(lambda: client.get_job(job_id)["status"] == "paused")
        assert f"Job {number} was cancelled in Slurm" in client.get_job(job_id)["status_reason"]
        client.resume_job(job_id)
        eventually(lambda: client.get_job(job_id)["status"] == "running")
        again = slurm_job(up, job_id, 2)
        client.cancel_job(job_id)
        eventually(lambda: client.get_job(job_id)["status"] == "cancelled")
        eventually(lambda: state(again) in ("CANCELLED", "FAILED"))


def test_reused_number_of_another_job_is_left_alone(platform: Platform, tmp_path: Path) -> None:
    """A controller that lost its state gives old numbers again. The record is that of an attempt that no worker holds."""
    number = ask("sbatch", "--parsable", "--output=/dev/null", "--wrap=sleep 600")
    record = tmp_path / "data" / "runs" / "job_before" / "attempt-1" / RECORD
    record.parent.mkdir(parents=True)
    record.write_text(json.dumps({"job": number}))
    try:
        with platform():
            eventually(lambda: not record.exists())
        assert state(number) in ("PENDING", "CONFIGURING", "RUNNING")
    finally:
        ask("scancel", number)


def test_full_queue_and_cancel_while_pending(platform: Platform) -> None:
    blocker = ask("sbatch", "--parsable", "--nodes=2", "--exclusive", "--output=/dev/null", "--wrap=sleep 600")
    try:
        with platform() as (up, client):
            job_id = submit(client)
            eventually(lambda: "waits for free nodes" in why(client, job_id))
            assert client.get_job(job_id)["status"] == "starting"
            client.cancel_job(job_id)
            eventually(lambda: client.get_job(job_id)["status"] == "cancelled")
            assert state(slurm_job(up, job_id)) == "CANCELLED"
    finally:
        ask("scancel", blocker)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"slurm_partition": "nope"}, "Slurm has no partition 'nope' (PROXIMAL_SLURM_PARTITION). It has main, urgent."),
        ({"slurm_options": "--licenses=none:1"}, "Slurm refuses the worker's settings: "),
    ],
)
def test_refused_settings_are_a_reason_to_wait(settings: dict[str, str], reason: str, platform: Platform) -> None:
    with platform(**settings) as (_, client):
        job_id = submit(client)
        eventually(lambda: reason in why(client, job_id))
        assert client.get_job(job_id)["status"] in ("queued", "starting")
        client.cancel_job(job_id)
        eventually(lambda: client.get_job(job_id)["status"] == "cancelled")


def test_refused_options_of_a_job_fail_it(platform: Platform) -> None:
    with platform() as (_, client):
        job_id = submit(client, resources={"slurm": {"memory_gib": 4000}})
        eventually(lambda: client.get_job(job_id)["status"] == "failed")
        error = client.get_job(job_id)["error"]
        assert error is not None and error["code"] == "launch_refused"
        assert "Memory specification can not be satisfied" in error["message"]
        unknown = submit(client, resources={"slurm": {"partition": "nope"}})
        assert "the labels launcher=slurm, partition=nope" in why(client, unknown)


def test_unreachable_controller_is_a_reason_to_wait(platform: Platform, cluster: SlurmCluster) -> None:
    cluster.stop_controller()
    with platform() as (_, client):
        job_id = submit(client)
        eventually(lambda: "The controller of Slurm does not respond" in why(client, job_id))
        assert client.get_job(job_id)["status"] == "queued"
        cluster.start_controller()
        wait_for_success(client, job_id)
