from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from core.db import session_scope
from core.errors import LeaseLost
from core.jobs.checkpoints.checkpoints import prune_checkpoints, record_checkpoint
from core.jobs.lifecycle import attempts
from core.jobs.lifecycle.actors import PLATFORM
from core.jobs.lifecycle.attempts import Claim
from core.jobs.lifecycle.state import Request, request
from core.jobs.run.events import append_events
from core.models import Job, JobAttempt
from core.models.jobs import JobStatus
from core.scheduling.lines import repair_lines
from core.settings import Settings
from tests.core.factories import make_job, make_key, running, start_events, step
from trainer.events import CheckpointSaved


def _expire_leases(session: Session) -> None:
    session.execute(
        text("UPDATE jobs SET lease_expires_at = now() - interval '1 s' WHERE lease_expires_at IS NOT NULL")
    )
    session.commit()


def test_a_claim_starts_the_first_attempt(session: Session) -> None:
    job = make_job(session)
    claim = attempts.claim(session, "wrk_1")
    assert claim is not None
    assert (claim.job_id, claim.attempt, claim.spec) == (job.id, 1, job.spec)
    assert (job.status, job.worker_id, job.lease_expires_at) == ("starting", "wrk_1", claim.lease_expires_at)
    assert session.get_one(JobAttempt, (job.id, 1)).worker_id == "wrk_1"


def test_there_may_be_nothing_to_claim(session: Session) -> None:
    assert attempts.claim(session, "wrk_1") is None


def test_two_claimers_never_get_the_same_job(settings: Settings, session: Session) -> None:
    wanted = {make_job(session).id for _ in range(12)}

    def work(worker: int) -> list[str]:
        mine = []
        while claim := _claim(f"wrk_{worker}"):
            mine.append(claim.job_id)
        return mine

    with ThreadPoolExecutor(4) as pool:
        taken = Counter(job_id for mine in pool.map(work, range(4)) for job_id in mine)
    assert taken == Counter(wanted)


def _claim(worker_id: str) -> Claim | None:
    with session_scope() as session:
        return attempts.claim(session, worker_id)


def test_claim_skips_a_job_locked_by_another_claim(session: Session) -> None:
    first, second = make_job(session), make_job(session)
    claim = attempts.claim(session, "wrk_1")  # not committed yet
    other = _claim("wrk_2")
    assert claim is not None and other is not None
    assert (claim.job_id, other.job_id) == (first.id, second.id)


def test_priority_then_fair_share_then_age_decide(session: Session) -> None:
    busy, idle = make_key(session, "busy").owner_id, make_key(session, "idle").owner_id
    at_work = make_job(session, busy)
    running(session, at_work)
    older, newer = make_job(session, busy), make_job(session, idle)
    newest, urgent = make_job(session, idle), make_job(session, busy)
    session.execute(text("UPDATE jobs SET priority = 1 WHERE id = :id"), {"id": urgent.id})
    repair_lines(session)
    session.commit()
    order = [claim.job_id for claim in iter(lambda: _claim("wrk_2"), None)]
    assert order == [urgent.id, newer.id, newest.id, older.id]


def test_sweep_requeues_expired_lease_and_rejects_old_attempt(session: Session) -> None:
    """Every later write of the old attempt is rejected."""
    job = make_job(session)
    running(session, job)
    _expire_leases(session)
    assert attempts.sweep(session).requeued == [job.id]
    session.commit()
    assert (job.status, job.worker_id) == ("queued", None)
    second = attempts.claim(session, "wrk_2")
    assert second is not None and second.attempt == 2
    session.commit()
    for write in (
        lambda: attempts.renew(session, job.id, 1),
        lambda: append_events(session, job.id, 1, [step(3)]),
        lambda: record_checkpoint(session, job.id, 1, _saved(3), [], "x"),
        lambda: prune_checkpoints(session, job.id, 1),
        lambda: attempts.release(session, job.id, 1, ""),
        lambda: attempts.finish(session, job.id, 1, JobStatus.SUCCEEDED, ""),
    ):
        with pytest.raises(LeaseLost):
            write()
    assert session.get_one(JobAttempt, (job.id, 1)).outcome == "lost"


def test_swept_job_rejects_its_worker_before_the_next_claim(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    _expire_leases(session)
    attempts.sweep(session)
    with pytest.raises(LeaseLost):
        attempts.renew(session, job.id, 1)


def test_late_heartbeat_renews_an_unswept_lease(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    _expire_leases(session)
    attempts.renew(session, job.id, 1)
    session.commit()
    assert attempts.sweep(session).requeued == []


def test_a_cancelled_job_whose_worker_is_lost_is_cancelled(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    request(session, job, Request.CANCEL, PLATFORM)
    _expire_leases(session)
    assert attempts.sweep(session).cancelled == [job.id]
    assert job.status == "cancelled"


def test_heartbeat_returns_a_cancel_request(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    assert not attempts.renew(session, job.id, 1).cancel_requested
    request(session, job, Request.CANCEL, PLATFORM)
    assert attempts.renew(session, job.id, 1).cancel_requested


def test_heartbeat_returns_a_pause_request(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    request(session, job, Request.PAUSE, PLATFORM)
    state = attempts.renew(session, job.id, 1)
    assert (state.pause_requested, state.cancel_requested) == (True, False)


def test_a_job_that_keeps_losing_workers_fails(session: Session) -> None:
    job = make_job(session)
    for _ in range(3):
        attempts.claim(session, "wrk_1")
        _expire_leases(session)
        result = attempts.sweep(session, max_attempts=3)
    assert result.failed == [job.id]
    assert job.error is not None and job.error["code"] == "too_many_attempts"


def test_job_with_progress_is_requeued_beyond_max_attempts(session: Session) -> None:
    job = make_job(session)
    for number in range(1, 6):
        attempts.claim(session, "wrk_1")
        record_checkpoint(session, job.id, number, _saved(number), [], f"at {number}")
        _expire_leases(session)
        attempts.sweep(session, max_attempts=2)
    assert job.status == "queued"


def _saved(number: int) -> CheckpointSaved:
    return CheckpointSaved(stage="ppo", step=number, path="checkpoints/x", final=False)


def test_release_requeues_the_job_with_outcome_released(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    assert attempts.release(session, job.id, 1, "The worker is going home.") == JobStatus.QUEUED
    assert (job.status, job.status_reason) == ("queued", "The worker is going home.")
    assert session.get_one(JobAttempt, (job.id, 1)).outcome == "released"


def test_release_of_job_with_cancel_request_cancels_it(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    request(session, job, Request.CANCEL, PLATFORM)
    assert attempts.release(session, job.id, 1, "The worker is going home.") == JobStatus.CANCELLED
    assert job.status == "cancelled"


def test_finish_keeps_the_figures_that_are_numbers(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    attempts.finish(session, job.id, 1, JobStatus.SUCCEEDED, "Done.", summary={"win_rate": 0.9, "odd": float("nan")})
    session.commit()
    assert (job.status, job.summary) == ("succeeded", {"win_rate": 0.9})
    assert job.finished_at is not None


def test_finish_error_may_hold_output_of_a_crashed_process(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    error = {"code": "trainer_crashed", "message": "core\x00dumped \udcff"}
    attempts.finish(session, job.id, 1, JobStatus.FAILED, "crash\x00", error=error)
    session.commit()
    assert job.error == {"code": "trainer_crashed", "message": "core�dumped �"}


def test_a_very_long_message_keeps_its_beginning_and_its_end(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    said = f"It began so. {'x' * 1_000_000} The cause."
    attempts.finish(session, job.id, 1, JobStatus.FAILED, said, error={"code": "trainer_crashed", "message": said})
    assert job.error is not None
    for stored in (job.status_reason, job.error["message"]):
        assert stored.startswith("It began so.") and stored.endswith("The cause.") and len(stored) < 2100


def test_finish_reason_with_unstorable_characters_is_cleaned(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    attempts.lose(session, job.id, 1, "No such file: a\x00b\udcff")
    session.commit()
    assert job.status_reason == "No such file: a�b�"


def test_sweep_lists_the_queued_jobs(session: Session) -> None:
    first, second = make_job(session), make_job(session)
    assert set(attempts.sweep(session).queued) == {first.id, second.id}


def test_finish_before_cancel_arrives_is_succeeded(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    request(session, job, Request.CANCEL, PLATFORM)
    append_events(session, job.id, 1, start_events())
    attempts.finish(session, job.id, 1, JobStatus.SUCCEEDED, "Done.")
    assert session.get_one(Job, job.id).status == "succeeded"
