"""Checkpoints that are deleted some days after the end of their job."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from core.blobs import blob_store
from core.datasets.orphans import remove_orphans
from core.db import session_scope
from core.errors import JobNotEnded
from core.jobs.actions.branch import BranchStart, branch_job
from core.jobs.actions.retry import retry_job
from core.jobs.checkpoints.checkpoints import CheckpointFile, checkpoint_prefix, record_checkpoint
from core.jobs.checkpoints.old_checkpoints import delete_old_checkpoints
from core.jobs.lifecycle import attempts
from core.jobs.lifecycle.actors import PLATFORM
from core.models import Checkpoint, Job, JobEvent
from core.models.jobs import JobStatus
from core.settings import Settings
from tests.core.factories import make_job, running
from trainer.events import CheckpointSaved
from trainer.spec import StageName
from worker.sweeper import sweep_old_checkpoints

RESULTS = [("reward_model", 6), ("sft", 5)]
STATE: list[CheckpointFile] = [{"path": "trainer_state/state.json", "bytes": 2**30, "sha256": "-"}]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"checkpoint_days": 30.0})


def saved(
    session: Session, job: Job, stage: StageName, step: int, *, final: bool = False, best: bool = False
) -> Checkpoint:
    path = f"checkpoints/{stage}" + ("-best" if best else "" if final else f"-{step:06d}")
    event = CheckpointSaved(stage=stage, step=step, path=path, final=final, best=best)
    prefix = checkpoint_prefix(job.id, job.attempt, step, path)
    return record_checkpoint(session, job.id, job.attempt, event, STATE, prefix)


def ended(session: Session, job: Job, status: JobStatus, days_ago: int) -> None:
    error = {"code": "diverged", "message": ""} if status is JobStatus.FAILED else None
    attempts.finish(session, job.id, job.attempt, status, "", error=error)
    job.finished_at = datetime.now(UTC) - timedelta(days=days_ago)
    session.commit()


def kept(session: Session, job: Job) -> list[tuple[str, int]]:
    query = (
        select(Checkpoint.stage, Checkpoint.step).filter_by(job_id=job.id).order_by(Checkpoint.stage, Checkpoint.step)
    )
    return [(stage, step) for stage, step in session.execute(query)]


def texts(session: Session, job: Job) -> list[str]:
    query = select(JobEvent.data).filter_by(job_id=job.id, type="message")
    return [data["text"] for data in session.scalars(query)]


def a_run(session: Session, days_ago: int = 31, status: JobStatus = JobStatus.SUCCEEDED) -> Job:
    """An ended job with results before PPO, and states and the best model of PPO; with a result of PPO if it succeeded."""
    job = make_job(session)
    running(session, job)
    saved(session, job, "sft", 5, final=True)
    saved(session, job, "reward_model", 6, final=True)
    for step in (10, 20):
        saved(session, job, "ppo", step)
    saved(session, job, "ppo", 10, best=True)
    if status is JobStatus.SUCCEEDED:
        saved(session, job, "ppo", 30, final=True)
    ended(session, job, status, days_ago)
    return job


def test_old_checkpoints_are_deleted_with_an_event(session: Session, settings: Settings) -> None:
    old, recent = a_run(session), a_run(session, days_ago=29)
    states = list(session.scalars(select(Checkpoint).filter_by(job_id=old.id, final=False, best=False)))
    for folder in (states[0].blob_prefix, f"jobs/{old.id}/checkpoints/1-5/checkpoints/sft"):
        with blob_store(settings).draft(f"{folder}/weights") as draft:
            draft.keep()
    sweep_old_checkpoints(settings)
    assert kept(session, old) == [("ppo", 10), ("ppo", 30), *RESULTS]
    assert session.scalars(select(Checkpoint.best).filter_by(job_id=old.id, step=10)).all() == [True]
    assert len(kept(session, recent)) == 6
    (text,) = texts(session, old)
    (event,) = session.scalars(select(JobEvent).filter_by(job_id=old.id, type="message"))
    assert event.data["actor"] == {"kind": "platform", "id": None, "name": "checkpoint retention"}
    assert "(ppo 10, ppo 20; 2 GiB), 30 days after the end" in text and texts(session, recent) == []
    assert list(blob_store(settings).list(f"jobs/{old.id}")) == [
        f"jobs/{old.id}/checkpoints/1-5/checkpoints/sft/weights"
    ]
    sweep_old_checkpoints(settings)
    assert len(texts(session, old)) == 1
    sweep_old_checkpoints(settings.model_copy(update={"checkpoint_days": None}))
    assert len(kept(session, recent)) == 6


def test_unfinished_stage_keeps_its_newest_checkpoint(session: Session, settings: Settings) -> None:
    job = a_run(session, status=JobStatus.FAILED)
    sweep_old_checkpoints(settings)
    assert kept(session, job) == [("ppo", 10), ("ppo", 20), *RESULTS]
    retry_job(session, job, PLATFORM, settings)
    with pytest.raises(JobNotEnded):
        delete_old_checkpoints(session, blob_store(settings), job.id, 30)


def test_checkpoint_that_a_branch_needs_is_kept(session: Session, settings: Settings) -> None:
    job = a_run(session)
    branch_job(session, job, BranchStart(stage="ppo", step=10), {}, settings, PLATFORM)
    session.commit()
    sweep_old_checkpoints(settings)
    assert ("ppo", 20) not in kept(session, job)
    assert session.scalars(select(Checkpoint.id).filter_by(job_id=job.id, step=10, best=False)).one()


def test_blobs_of_a_deleted_checkpoint_are_orphans(session: Session, settings: Settings) -> None:
    """The process may die between the commit and the deletion of the blobs."""
    over, active = a_run(session), make_job(session)
    attempt = running(session, active)
    blobs = blob_store(settings)
    known = f"jobs/{over.id}/checkpoints/1-5/checkpoints/sft/weights"
    left = f"jobs/{over.id}/checkpoints/1-99/checkpoints/ppo-000099/weights"
    incoming = f"jobs/{active.id}/checkpoints/{attempt}-1/checkpoints/sft/weights"
    for key in (known, left, incoming):
        with blobs.draft(key) as draft:
            draft.keep()
    with session_scope():
        remove_orphans(blobs, remove_orphans(blobs, set()))
    assert [blobs.exists(key) for key in (known, left, incoming)] == [True, False, True]
