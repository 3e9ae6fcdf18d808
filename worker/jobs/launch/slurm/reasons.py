"""Slurm's words for people: why a batch job waits, and why it ended."""

import signal

from core.slurm.client import JobView
from trainer.errors import Stopped
from worker.jobs.launch.interface import EngineEnd

ACTIVE = frozenset(
    [
        "PENDING",
        "CONFIGURING",
        "RUNNING",
        "COMPLETING",
        "SUSPENDED",
        "STOPPED",
        "STAGE_OUT",
        "SIGNALING",
        "RESIZING",
        "REQUEUED",
        "REQUEUE_FED",
        "REQUEUE_HOLD",
        "SPECIAL_EXIT",
        "RESV_DEL_HOLD",
    ]
)
"""States of a job that has not ended."""
RUNS = frozenset({"RUNNING", "COMPLETING", "SIGNALING", "RESIZING", "STAGE_OUT"})
"""States in which the trainer runs, or is ending."""
_BUSY = frozenset(
    {
        "Resources",
        "Priority",
        "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions",
    }
)
_NOT_YET = ("None", "")
"""Reasons of a job that the scheduler has not considered yet."""
_LIMITS = ("QOS", "Assoc", "Max", "Group")
_IMPOSSIBLE = frozenset(
    [
        "PartitionConfig",
        "PartitionNodeLimit",
        "PartitionTimeLimit",
        "InvalidAccount",
        "InvalidQOS",
        "BadConstraints",
        "AccountNotAllowed",
        "QOSNotAllowed",
    ]
)
_DOWN = ("ReqNodeNotAvail", "NodeDown", "PartitionDown", "PartitionInactive")
_CAUSES = {
    "TIMEOUT": "its time limit was reached, and the trainer had not saved in time",
    "DEADLINE": "its deadline was reached",
    "NODE_FAIL": "Slurm lost a node of the job",
    "BOOT_FAIL": "a node of the job did not start",
    "PREEMPTED": "a job of a higher tier preempted it",
    "OUT_OF_MEMORY": "it needed more memory than it had asked for (`resources.slurm.memory_gib`, PROXIMAL_SLURM_MEMORY_GIB)",
    "REVOKED": "another cluster has taken it",
}
NEAR_LIMIT_SECONDS = 90
"""Slurm sends the signal before the time limit up to a minute earlier than it was asked to."""


def why_waiting(job: str, view: JobView) -> str | None:
    """Why the job does not run, as a sentence; None if it runs."""
    if view.state in RUNS or (view.state == "PENDING" and view.reason in _NOT_YET and not view.restarts):
        return None
    if view.state in ("SUSPENDED", "STOPPED"):
        return f"Slurm has suspended job {job}. It continues when Slurm resumes it."
    if view.state == "CONFIGURING":
        return f"Slurm prepares the nodes of job {job}."
    return f"{_why_again(job, view)}{_why_pending(job, view)}"


def why_ended(job: str, view: JobView, *, asked: bool, signal_seconds: int) -> EngineEnd | None:
    """Why Slurm ended the job, and not the trainer itself. `asked`: the worker had asked for the end."""
    if view.state in _CAUSES:
        return EngineEnd(f"Slurm ended job {job}: {_CAUSES[view.state]}.")
    if view.state == "CANCELLED" and not asked:
        return EngineEnd(
            f"Job {job} was cancelled in Slurm, by a person or a program. Resume the job to go on from its last checkpoint.",
            by_a_person=True,
        )
    if asked or view.status not in (Stopped.exit_status, -signal.SIGTERM):
        return None
    near = view.seconds_left is not None and view.seconds_left <= signal_seconds + NEAR_LIMIT_SECONDS
    cause = (
        "its time limit came near" if near else "a job of a higher tier needs its nodes, or a person sent it a signal"
    )
    return EngineEnd(f"Slurm asked job {job} to end: {cause}.")


def _why_again(job: str, view: JobView) -> str:
    if not view.restarts:
        return ""
    cause = f"Slurm has queued job {job} again, for a job of a higher tier, after the failure of a node, or by `scontrol requeue`."
    return f"{cause} It resumes from its last checkpoint. "


def _why_pending(job: str, view: JobView) -> str:
    reason = view.reason
    if reason in _IMPOSSIBLE:
        return (
            f"Slurm will not start job {job} as it was submitted ({reason}). Change `resources`, or ask the operator to change "
            "the worker's settings for Slurm."
        )
    if reason.startswith(_DOWN):
        return f"Job {job} waits in Slurm, because nodes that it needs are down or reserved ({reason})."
    if reason in _BUSY:
        return f"Slurm's queue is full: job {job} waits for free nodes ({reason})."
    if reason in _NOT_YET or reason == "BeginTime":
        return f"Slurm starts job {job} again after a short pause."
    if reason.startswith("JobHeld") or "held" in reason:
        return f"Job {job} is held in Slurm. `scontrol release {job}` lets it start."
    if reason.startswith(_LIMITS):
        return (
            f"Slurm's queue is full: job {job} waits for a limit of its account or its quality of service ({reason})."
        )
    return f"Job {job} waits in Slurm ({reason})."
