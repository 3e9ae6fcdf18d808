"""The follower: batches of the trainer's log."""

from pathlib import Path

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from core.blobs import blob_store
from core.jobs.lifecycle import attempts
from core.jobs.run.events import append_events
from core.masking import MASK, Masker
from core.models import JobEvent, JobMetrics
from core.settings import Settings
from tests.core.factories import make_job, start_events, step
from trainer.events import EventLog, RewardMissing, RunFailed, RunFinished, RunStopped, SeedFinished
from trainer.events.seed_summary import SeedOutcome, read_outcome
from worker.jobs import follow
from worker.jobs.follow import Follower
from worker.jobs.workspace import Inputs, fill, inputs_of, workspace_of


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


def test_advance_end_of_one_seed_is_not_that_of_the_run(session: Session, follower: tuple[Follower, Path]) -> None:
    following, path = follower
    log = EventLog(path)
    log.emit(RunFinished(seconds=1.0, summary={"win_rate": 0.9}, seed=0))
    log.emit(RunFailed(code="diverged", message="x", seed=0))
    log.emit(RunStopped(reason="signal", seed=0))
    following.advance()
    assert (following.finished, following.failed, following.stopped) == (None, None, None)
    log.emit(RunFinished(seconds=1.0, summary={"win_rate": 0.5}))
    log.close()
    following.advance()
    assert following.finished is not None and following.finished.summary == {"win_rate": 0.5}


def test_advance_masks_secrets_in_the_reasons_of_missing_rewards(
    session: Session, follower: tuple[Follower, Path]
) -> None:
    following, path = follower
    log, said = EventLog(path), "http://a/ answered 401 Unauthorized: Authorization: Bearer abcdefgh12345678"
    log.emit(RewardMissing(stage="ppo", step=1, reward="a", asked=8, missing={"refusal": 8}, share=0.04, reason=said))
    log.emit(RunStopped(reason="rewards", stage="ppo", step=1, message=said))
    log.close()
    following.advance()
    stored = session.scalars(select(JobEvent).where(JobEvent.type.in_(["reward_missing", "run_stopped"]))).all()
    assert len(stored) == 2 and all(MASK in str(event.data) and "abcdefgh" not in str(event.data) for event in stored)
    assert following.stopped is not None and MASK in (following.stopped.message or "")


def test_workspace_has_the_outcomes_of_finished_seeds(session: Session, settings: Settings) -> None:
    job = make_job(session, seed=4, seeds=3)
    claim = attempts.claim(session, "wrk_1")
    assert claim is not None
    ended = SeedFinished(seed=4, number=1, of=3, seconds=2.0, summary={"win_rate": 0.9}, collapsed=False)
    failed = SeedFinished(seed=5, number=2, of=3, seconds=1.0, summary={}, collapsed=True, why="It diverged.")
    append_events(session, job.id, 1, [ended, failed, start_events()[0].model_copy(update={"seed": 6})])
    session.commit()
    assert inputs_of(session, claim).seeds == [
        SeedOutcome(4, 2.0, {"win_rate": 0.9}, False, None), SeedOutcome(5, 1.0, {}, True, "It diverged."),
    ]  # fmt: skip
    workspace = workspace_of(claim, settings.data_dir)
    workspace.folder.mkdir(parents=True)
    inputs = Inputs({}, {}, {}, None, None, inputs_of(session, claim).seeds)
    fill(workspace, claim.spec, inputs, blob_store(settings), lambda: None)
    done = [read_outcome(workspace.folder / "seeds" / str(seed)) for seed in (4, 5, 6)]
    assert done == [*inputs.seeds, None]
