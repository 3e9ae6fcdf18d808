"""Commands on their way from the row to the trainer and back."""

import json
from collections.abc import Callable

from core.db import session_scope
from core.jobs.actions.commands import Wanted, request_commands
from core.jobs.lifecycle.actors import PLATFORM
from core.models import Job, JobCommand
from core.models.jobs import JobStatus
from tests.waiting import eventually
from tests.worker.conftest import events, job, meanwhile, status
from worker.health import WorkerHeartbeat
from worker.jobs.claim import run_queued_jobs
from worker.jobs.context import WorkerContext


def set_coef(job_id: str, value: float) -> str:
    """Wait until the trainer runs, and request the value. Returns the command's id."""
    eventually(lambda: job(job_id).stage == "ppo" and status(job_id) == JobStatus.RUNNING)
    with session_scope() as session:
        wanted = Wanted({"kl_coef": value})
        return request_commands(session, session.get_one(Job, job_id), wanted, PLATFORM)[0].id


def row(id_: str) -> JobCommand:
    with session_scope() as session:
        return session.get_one(JobCommand, id_)


def test_command_reaches_the_trainer_and_is_settled(
    queue: Callable[[str], str], context: WorkerContext, heartbeat: WorkerHeartbeat
) -> None:
    job_id, ids = queue("begin obey finish"), list[str]()
    with meanwhile(lambda: ids.append(set_coef(job_id, 0.2))):
        run_queued_jobs(context, heartbeat)
    done = row(ids[0])
    assert (done.status, done.step, done.value_before, done.value) == ("applied", 3, 0.05, 0.2)
    kinds = [event.type for event in events(job_id) if event.type in ("command_requested", "knob_changed")]
    assert kinds == ["command_requested", "knob_changed"]


def test_next_attempt_gets_applied_commands_with_steps(
    queue: Callable[[str], str], context: WorkerContext, heartbeat: WorkerHeartbeat
) -> None:
    """The first attempt carries out one command and is lost. The second one gets its result, and a further command."""
    job_id, ids = queue("begin obey die_the_first_time finish"), list[str]()

    def two() -> None:
        ids.append(set_coef(job_id, 0.2))
        eventually(lambda: job(job_id).attempt == 2)
        ids.append(set_coef(job_id, 0.3))

    with meanwhile(two):
        run_queued_jobs(context, heartbeat)
    told = [json.loads(event.data["text"]) for event in events(job_id, "message")]
    assert told == [[], [[ids[0], 3]]]
    assert [row(id_).status for id_ in ids] == ["applied", "applied"] and status(job_id) == "succeeded"
