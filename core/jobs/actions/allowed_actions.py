"""The actions of a user on a job: one table, from which the API, the SDK, the command line and the dashboard take the names.

An action is a route `POST /v1/jobs/{job_id}/NAME`, apart from `command` (a request to `/commands`) and `delete`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeAlias

from core.jobs.actions.commands import LISTENING
from core.jobs.lifecycle.state import REQUESTS, Request
from core.models import Job
from core.models.jobs import TERMINAL, JobStatus


def _in(*states: JobStatus) -> Callable[[Job], bool]:
    return lambda job: job.status in states


def _has_begun(job: Job) -> bool:
    return job.stage is not None


def _has_one_seed(job: Job) -> bool:
    return bool(job.spec.get("seeds", 1) == 1)


def _can_extend(job: Job) -> bool:
    return job.status == JobStatus.SUCCEEDED and "ppo" in job.spec.get("stages", ()) and _has_one_seed(job)


ACTIONS: dict[str, Callable[[Job], bool]] = {
    "pause": _in(*REQUESTS[Request.PAUSE]),
    "resume": _in(*REQUESTS[Request.RESUME]),
    "cancel": _in(*REQUESTS[Request.CANCEL]),
    "retry": _in(*REQUESTS[Request.RETRY]),
    "command": lambda job: job.status in LISTENING and _has_begun(job) and _has_one_seed(job),
    "clone": lambda job: True,
    "branch": _has_begun,
    "extend": _can_extend,
    "archive": lambda job: job.status in TERMINAL and job.archived_at is None,
    "unarchive": lambda job: job.archived_at is not None,
    "delete": _in(*TERMINAL),
}
"""Every action, with the jobs that allow it."""
if TYPE_CHECKING:
    JobAction: TypeAlias = str
else:
    JobAction = Literal[tuple(ACTIONS)]


def allowed_actions(job: Job) -> list[JobAction]:
    """The actions that the job allows at present, so that no client repeats the table.

    A request can still be refused for another reason: a branch without a stored checkpoint, or a deletion of a checkpoint in use.
    """
    return [action for action, allows in ACTIONS.items() if allows(job)]
