"""The follower: batches of the trainer's log."""

from pathlib import Path

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from core.blobs import blob_store
from core.jobs import attempts
from core.jobs.events import append_events
from core.masking import Masker
from core.models import JobEvent, JobMetrics
from core.settings import Settings
from tests.core.factories import make_job, start_events, step
from trainer.events import EventLog
from worker.jobs import follow
from worker.jobs.follow import Follower
from worker.jobs.workspace import workspace_of


@pytest.fixture
def follower(session: Session, settings: Settings) -> tuple[Follower, Path]:
    """A follower of a running job, and the trainer's log."""
    make_job(session)
    claim = attempts.claim(session, "wrk_1")
    assert claim is not None
    append_events(session, claim.job_id, claim.attempt, start_events())
    session.commit()
    workspace = workspace_of(claim, settings.data_dir)
    workspace.events.parent.mkdir(parents=True)
    return Follower(claim, workspace, blob_store(settings), Masker({})), workspace.events


def write(path: Path, count: int) -> None:
    log = EventLog(path)
    for number in range(1, count + 1):
        log.emit(step(number))
    log.close()


def test_advance_stores_a_limited_number_of_events(session: Session, follower: tuple[Follower, Path]) -> None:
    following, path = follower
    write(path, 1200)
    assert [following.advance() for _ in range(3)] == [True, True, False]
    assert session.scalar(select(func.count()).select_from(JobMetrics)) == 1200
    assert list(session.scalars(select(JobEvent.step).filter_by(type="metrics").order_by("seq"))) == [*range(1, 1201)]


def test_advance_ends_a_batch_after_its_limit_of_bytes(
    session: Session, follower: tuple[Follower, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    following, path = follower
    write(path, 5)
    monkeypatch.setattr(follow, "_BATCH_BYTES", path.stat().st_size // 3)
    assert following.advance()
    assert session.scalar(select(func.max(JobMetrics.step))) == 2
    while following.advance():
        pass
    session.rollback()
    assert session.scalar(select(func.max(JobMetrics.step))) == 5
