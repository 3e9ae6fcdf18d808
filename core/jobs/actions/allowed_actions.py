"""The actions that a job allows at present, so that no client repeats the table of states."""

from typing import Literal, get_args

from core.jobs.actions.commands import LISTENING
from core.jobs.lifecycle.state import allowed_requests
from core.models import Job
from core.models.jobs import TERMINAL, JobStatus

JobAction = Literal[
    "pause",
    "resume",
    "cancel",
    "retry",
    "command",
    "clone",
    "branch",
    "extend",
    "archive",
    "unarchive",
    "delete",
]


def allowed_actions(job: Job) -> list[JobAction]:
    """The actions that the state of the job allows, in a fixed order.

    A request can still be refused for another reason: a branch without a stored checkpoint, or a deletion of a checkpoint in use.
    """
    status = JobStatus(job.status)
    allowed: set[str] = {"clone", *allowed_requests(status)}
    if status in LISTENING and job.stage is not None and job.spec.get("seeds", 1) == 1:
        allowed.add("command")
    if job.stage is not None:
        allowed.add("branch")
    if _can_extend(job, status):
        allowed.add("extend")
    if job.archived_at is not None:
        allowed.add("unarchive")
    elif status in TERMINAL:
        allowed.add("archive")
    if status in TERMINAL:
        allowed.add("delete")
    return [action for action in get_args(JobAction) if action in allowed]


def _can_extend(job: Job, status: JobStatus) -> bool:
    return status == JobStatus.SUCCEEDED and "ppo" in job.spec.get("stages", ()) and job.spec.get("seeds", 1) == 1
