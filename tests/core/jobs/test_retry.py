"""A failed or cancelled job that is queued again."""

from datetime import timedelta

import pytest
from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from core.errors import IllegalTransition, NotFound, QuotaExceeded
from core.jobs.actions.retry import retry_job
from core.jobs.checkpoints.checkpoints import checkpoints_to_resume, record_checkpoint
from core.jobs.lifecycle import attempts
from core.jobs.lifecycle.actors import PLATFORM
from core.jobs.lifecycle.removal import archive_job
from core.jobs.lifecycle.state import Request, request
from core.models import Checkpoint, CheckpointPin, Dataset, Job, JobAttempt
from core.models.jobs import JobStatus
from core.settings import Settings
from tests.core.factories import dataset_id_of, make_job, running
from trainer.events import CheckpointSaved


def saved(session: Session, job: Job, step: int) -> Checkpoint:
    event = CheckpointSaved(stage="ppo", step=step, path=f"checkpoints/ppo-{step:06d}", final=False)
    return record_checkpoint(session, job.id, job.attempt, event, [], f"at/{step}")


def fail(session: Session, job: Job) -> None:
    error = {"code": "diverged", "message": "The loss is not finite."}
    attempts.finish(session, job.id, job.attempt, JobStatus.FAILED, error["message"], error=error)


def test_retry_of_failed_job_resumes_its_last_checkpoint(session: Session, settings: Settings) -> None:
    job = make_job(session)
    running(session, job)
    checkpoint = saved(session, job, 3)
    fail(session, job)
    retry_job(session, job, PLATFORM, settings)
    session.commit()  # the CHECK constraints agree
    assert (job.status, job.error, job.summary, job.finished_at) == ("queued", None, None, None)
    assert checkpoints_to_resume(session, job.id) == [checkpoint]
    assert running(session, job) == 2


@pytest.mark.parametrize("before", ["queued", "running"])
def test_retry_of_unfinished_job_is_refused(session: Session, settings: Settings, before: str) -> None:
    job = make_job(session)
    if before == "running":
        running(session, job)
    with pytest.raises(IllegalTransition):
        retry_job(session, job, PLATFORM, settings)


def test_retry_of_succeeded_job_is_refused(session: Session, settings: Settings) -> None:
    job = make_job(session)
    attempts.finish(session, job.id, running(session, job), JobStatus.SUCCEEDED, "", summary={"win_rate": 1.0})
    with pytest.raises(IllegalTransition, match="Possible now: no transition"):
        retry_job(session, job, PLATFORM, settings)
    assert job.summary == {"win_rate": 1.0}


def test_retry_pins_the_checkpoints_of_the_spec_again(session: Session, settings: Settings) -> None:
    source = make_job(session)
    running(session, source)
    event = CheckpointSaved(stage="sft", step=1, path="checkpoints/sft", final=True)
    model = record_checkpoint(session, source.id, 1, event, [], "at/sft")
    job = make_job(session, source.owner_id, model=model.id)
    request(session, job, Request.CANCEL, PLATFORM)
    assert session.scalars(select(CheckpointPin)).all() == []
    retry_job(session, job, PLATFORM, settings)
    (pin,) = session.scalars(select(CheckpointPin))
    assert (pin.job_id, pin.field, pin.checkpoint_id) == (job.id, "#/model/path", model.id)


def test_retry_names_a_dataset_that_was_deleted(session: Session, settings: Settings) -> None:
    job = make_job(session)
    request(session, job, Request.CANCEL, PLATFORM)
    session.execute(delete(Dataset).where(Dataset.id == dataset_id_of(job)))
    with pytest.raises(NotFound) as refusal:
        retry_job(session, job, PLATFORM, settings)
    assert refusal.value.extras["param"] == "data.preferences"


def test_retry_counts_towards_the_open_jobs(session: Session, settings: Settings) -> None:
    job = make_job(session)
    request(session, job, Request.CANCEL, PLATFORM)
    make_job(session, job.owner_id)
    with pytest.raises(QuotaExceeded):
        retry_job(session, job, PLATFORM, settings.model_copy(update={"max_open_jobs": 1}))


def test_retry_forgives_attempts_lost_before(session: Session, settings: Settings) -> None:
    job = make_job(session)
    for _ in range(settings.max_attempts):
        claim = attempts.claim(session, "wrk_1")
        assert claim is not None
        attempts.lose(session, job.id, claim.attempt, "lost")
    assert job.status == "failed"
    retry_job(session, job, PLATFORM, settings)
    claim = attempts.claim(session, "wrk_1")
    assert claim is not None and attempts.lose(session, job.id, claim.attempt, "lost") == "queued"


def test_retry_starts_the_run_time_again(session: Session, settings: Settings) -> None:
    job = make_job(session)
    running(session, job)
    session.execute(update(JobAttempt).values(started_at=func.now() - timedelta(hours=3)))
    assert attempts.run_seconds(session, job.id) >= 3 * 3600
    attempts.finish(session, job.id, 1, JobStatus.FAILED, "", error={"code": "time_limit", "message": "3 hours"})
    retry_job(session, job, PLATFORM, settings)
    assert attempts.run_seconds(session, job.id) == 0
    attempts.claim(session, "wrk_2")
    session.execute(update(JobAttempt).filter_by(number=2).values(started_at=func.now() - timedelta(hours=1)))
    assert 3600 <= attempts.run_seconds(session, job.id) < 2 * 3600


def test_retry_of_an_archived_job_lists_it_again(session: Session, settings: Settings) -> None:
    job = make_job(session)
    request(session, job, Request.CANCEL, PLATFORM)
    archive_job(session, job)
    retry_job(session, job, PLATFORM, settings)
    assert job.archived_at is None
