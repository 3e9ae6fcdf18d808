"""The arguments of sbatch, the capacity of a cluster, and Slurm's words for people. `tests/slurm` has the real Slurm."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from core.scheduling.matching import Requirement
from core.settings import Settings, SlurmSettings
from core.slurm import client
from core.slurm.client import JobView
from core.slurm.cluster import Cluster, NodeGroup, Partition, problem_of
from tests.waiting import eventually
from worker.jobs.launch.interface import RunToStart
from worker.jobs.launch.slurm.launcher import capacity_of
from worker.jobs.launch.slurm.reasons import why_ended, why_waiting
from worker.jobs.launch.slurm.request import SCRIPT, arguments_of
from worker.jobs.launch.slurm.trainer import SlurmTrainer, Submission
from worker.jobs.workspace import Workspace

GPUS = NodeGroup("idle", 4, "g[1-4]", cores=64, memory_mib=512_000, gpus=8)
CLUSTER = Cluster(
    "c",
    (Partition("gpu", True, True, "1-00:00:00", (GPUS,)), Partition("old", False, False, "infinite")),
)


def settings(**values: Any) -> Settings:
    return Settings(database_url="postgresql://localhost/x", redis_url="redis://localhost", launcher="slurm", **values)


def arguments(folder: Path, spec: dict[str, Any], **values: Any) -> list[str]:
    return arguments_of(RunToStart("job_1", 2, spec, Workspace(folder), settings(**values)), CLUSTER)


def test_name_and_paths_are_arguments_and_the_script_is_fixed(tmp_path: Path) -> None:
    folder = tmp_path / "50% of $(touch x)"
    folder.mkdir()
    found = arguments(folder, {"name": '$(touch x); "\n--wrap=id'})
    assert '--job-name=$(touch x); " --wrap=id' in found and "--comment=proximal job_1 2" in found
    assert f"--output={folder}/trainer.log".replace("%", "%%") in found
    assert (folder / "batch.sh").read_text() == SCRIPT == '#!/bin/sh\nexec "$@"\n'
    assert str(folder / "spec.json") in found[found.index(str(folder / "batch.sh")) :]


def test_options_of_the_job_come_before_those_of_the_worker(tmp_path: Path) -> None:
    resources = {"machines": 2, "processes": 4, "slurm": {"partition": "long", "minutes": 1, "memory_gib": 300}}
    found = arguments(
        tmp_path,
        {"resources": resources, "runtime": {"device": "cuda"}},
        slurm_partition="gpu",
        slurm_minutes=60,
        slurm_qos="high",
        slurm_cpus_per_process=8,
        slurm_options="--constraint=a100 --exclusive",
        stop_seconds=120,
    )
    expected = [
        "--signal=B:TERM@30",  # half of the minute
        "--nodes=2",
        "--ntasks-per-node=1",
        "--cpus-per-task=32",
        "--gres=gpu:4",
        "--partition=long",
        "--qos=high",
        "--time=1",
        "--mem=300G",
        "--constraint=a100",
        "--exclusive",
    ]
    assert [option for option in found if option in expected] == expected
    assert found[-1] == "--slurm"


@pytest.mark.parametrize("options", ["--wrap=id", "--output=/etc/passwd", "-p gpu", "gpu", "--array=1-9"])
def test_options_that_the_launcher_sets_are_refused(options: str) -> None:
    with pytest.raises(ValidationError, match=r"the launcher sets this option itself|an option begins with"):
        SlurmSettings(slurm_options=options)


def test_capacity_is_that_of_the_partition() -> None:
    found = capacity_of(CLUSTER, settings(slurm_gpu_memory_gib=80, labels=["a100"]))
    assert (found.gpus, found.gpu_processes, found.cpu_processes, found.machines) == (8, 8, 64, 4)
    assert found.labels == {"a100", "launcher=slurm", "partition=gpu", "partition=old"}
    assert found.fits(Requirement.of_spec({"resources": {"slurm": {"partition": "old"}}}))
    assert not found.fits(Requirement.of_spec({"resources": {"slurm": {"partition": "new"}}}))
    assert json.loads(json.dumps(CLUSTER.stored()))["partitions"][0]["groups"][0]["gpus"] == 8


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", None),
        ("nope", "Slurm has no partition 'nope' (PROXIMAL_SLURM_PARTITION). It has gpu, old. Name one of them."),
        ("old", "Slurm's partition 'old' is down. `scontrol update PartitionName=old State=UP` opens it."),
    ],
)
def test_partition_of_the_settings_is_checked(name: str, problem: str | None) -> None:
    assert problem_of(SlurmSettings(slurm_partition=name), CLUSTER) == problem


@pytest.mark.parametrize(
    ("view", "part"),
    [
        (JobView("RUNNING"), None),
        (JobView("PENDING", "None"), None),
        (JobView("PENDING", "Resources"), "Slurm's queue is full: job 7 waits for free nodes (Resources)."),
        (JobView("PENDING", "QOSMaxJobsPerUserLimit"), "waits for a limit of its account"),
        (JobView("PENDING", "PartitionConfig"), "Slurm will not start job 7 as it was submitted"),
        (JobView("PENDING", "BeginTime", restarts=1), "Slurm has queued job 7 again"),
        (JobView("PENDING", "JobHeldUser"), "`scontrol release 7` lets it start."),
        (JobView("SUSPENDED"), "Slurm has suspended job 7."),
    ],
)
def test_each_state_has_its_own_reason_to_wait(view: JobView, part: str | None) -> None:
    found = why_waiting("7", view)
    assert found is None if part is None else part in str(found)


@pytest.mark.parametrize(
    ("view", "asked", "part"),
    [
        (JobView("FAILED", status=75, seconds_left=30), False, "its time limit came near"),
        (JobView("FAILED", status=75, seconds_left=9000), False, "a job of a higher tier needs its nodes"),
        (JobView("FAILED", status=75, seconds_left=30), True, None),
        (JobView("FAILED", status=6), False, None),
        (JobView("TIMEOUT"), False, "its time limit was reached"),
        (JobView("OUT_OF_MEMORY"), False, "more memory than it had asked for"),
        (JobView("CANCELLED"), False, "was cancelled in Slurm"),
    ],
)
def test_each_end_by_slurm_has_its_own_reason(view: JobView, asked: bool, part: str | None) -> None:
    end = why_ended("7", view, asked=asked, signal_seconds=60)
    assert end is None if part is None else part in str(end and end.reason)


def test_lost_node_is_seen_after_a_new_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slurm may queue a job again and start it elsewhere between two looks of the worker."""
    views = iter([JobView("RUNNING", nodes="n1"), JobView("RUNNING", nodes="n2", restarts=1)])
    cancelled: list[str] = []
    monkeypatch.setattr(client, "submit", lambda *_, **__: "7")
    monkeypatch.setattr(client, "look_up", lambda *_: next(views))
    monkeypatch.setattr(client, "lost_nodes", lambda nodes: nodes if nodes == "n1" else "")
    monkeypatch.setattr(client, "cancel", cancelled.append)
    run = RunToStart("job_1", 1, {}, Workspace(tmp_path), settings(slurm_poll_seconds=0.01))
    trainer = SlurmTrainer(run, Submission(list, lambda: None))
    eventually(lambda: trainer.poll() is not None)
    assert trainer.poll() == -signal.SIGKILL
    end = trainer.engine_end()
    assert end is not None and end.reason.startswith("Slurm lost the node n1 of job 7.") and end.waits
    assert cancelled == ["7"]
