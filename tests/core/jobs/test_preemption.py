"""Preemption in the database: the rows that the policy reads, and the states that it leads to."""

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from core.jobs.lifecycle import attempts
from core.jobs.lifecycle.actors import PLATFORM
from core.jobs.lifecycle.preemption import preempt_jobs
from core.jobs.lifecycle.state import Request, request
from core.jobs.queue.workers import report_worker, set_worker_state
from core.jobs.submission.submit import Queueing
from core.models import Job
from core.models.jobs import JobStatus
from core.models.workers import WorkerState
from core.scheduling.policy import Priority
from core.settings import Settings
from tests.core.factories import make_job, running


@pytest.fixture
def victim(session: Session) -> Job:
    """A preemptible job that has run for 11 minutes, and a waiting job of a higher class."""
    job = make_job(session, queueing=Queueing(Priority.LOW, preemptible=True))
    report_worker(session, "wrk_1", "host", job.id)
    running(session, job)
    session.execute(text("UPDATE job_attempts SET started_at = started_at - interval '11 min'"))
    make_job(session, name="waiting")
    return job


def test_preempted_job_returns_to_the_queue_when_saved(session: Session, settings: Settings, victim: Job) -> None:
    assert preempt_jobs(session, settings) == [victim.id]
    assert (victim.status, victim.preempting) == (JobStatus.PAUSING, True)
    assert attempts.renew(session, victim.id, 1).pause_requested
    assert preempt_jobs(session, settings) == []  # its worker will be free
    assert attempts.release(session, victim.id, 1, "Saved.") is JobStatus.QUEUED
    assert (victim.status, victim.preempting, victim.worker_id) == (JobStatus.QUEUED, False, None)
    claim = attempts.claim(session, "wrk_1")
    assert claim is not None and claim.spec["name"] == "waiting"


def test_preempted_job_of_a_lost_worker_returns_to_the_queue(session: Session, settings: Settings, victim: Job) -> None:
    preempt_jobs(session, settings)
    session.execute(text("UPDATE jobs SET lease_expires_at = now() - interval '1 s' WHERE status = 'pausing'"))
    assert attempts.sweep(session).requeued == [victim.id]


def test_preempted_job_may_be_cancelled(session: Session, settings: Settings, victim: Job) -> None:
    preempt_jobs(session, settings)
    request(session, victim, Request.CANCEL, PLATFORM)
    assert (victim.status, victim.preempting) == (JobStatus.CANCELLING, False)
    assert attempts.release(session, victim.id, 1, "Ended.") is JobStatus.CANCELLED


def test_job_on_a_cordoned_worker_is_not_preempted(session: Session, settings: Settings, victim: Job) -> None:
    set_worker_state(session, "wrk_1", WorkerState.CORDONED)
    assert preempt_jobs(session, settings) == []
    set_worker_state(session, "wrk_1", WorkerState.ONLINE)
    report_worker(session, "wrk_2", "host", None)  # an idle worker runs the waiting job
    assert preempt_jobs(session, settings) == []
