from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from core.errors import IllegalTransition
from core.jobs.actions.allowed_actions import allowed_actions
from core.jobs.lifecycle.actors import PLATFORM, Actor
from core.jobs.lifecycle.state import REQUESTS, TRANSITIONS, Request, allowed_requests, change_status, request
from core.models import Job, JobEvent
from core.models.jobs import ACTIVE, TERMINAL, JobStatus
from tests.core.factories import make_job

PAIRS = [(start, to) for start in JobStatus for to in JobStatus]


def _columns(status: JobStatus) -> dict[str, Any]:
    """The columns that the CHECK constraints require beside this status."""
    lease = {"worker_id": "wrk_1", "lease_expires_at": datetime.now(UTC)}
    columns = lease if status in ACTIVE else {"worker_id": None, "lease_expires_at": None}
    columns |= {"finished_at": datetime.now(UTC) if status in TERMINAL else None}
    return columns | {"error": {"code": "x", "message": "y"} if status is JobStatus.FAILED else None}


def _put(session: Session, job: Job, status: JobStatus) -> None:
    """Write a status without `change_status`, so that a test can begin in any state."""
    job.status = status.value
    for name, value in _columns(status).items():
        setattr(job, name, value)
    session.commit()


@pytest.fixture
def job(session: Session) -> Iterator[Job]:
    yield make_job(session)


def test_transitions_table_covers_every_state() -> None:
    assert set(TRANSITIONS) == set(JobStatus)


def test_transitions_keep_requests_and_need_a_claim() -> None:
    """Only a claim gives a job to a worker, a request to pause or cancel is never dropped, and only a run succeeds or fails."""
    S = JobStatus
    before = {to: {start for start in S if to in TRANSITIONS[start]} for to in S}
    assert before[S.STARTING] == {S.QUEUED}
    assert before[S.RUNNING] == {S.STARTING}
    assert TRANSITIONS[S.CANCELLING] == set(TERMINAL)
    assert before[S.SUCCEEDED] == {S.RUNNING, S.PAUSING, S.CANCELLING}
    assert before[S.FAILED] == set(ACTIVE)


@pytest.mark.parametrize("end", TERMINAL)
def test_only_a_retry_follows_an_end(end: JobStatus) -> None:
    retried = set() if end is JobStatus.SUCCEEDED else {JobStatus.QUEUED}
    assert (set(TRANSITIONS[end]), set(allowed_requests(end))) == (retried, {Request.RETRY} if retried else set())


def test_change_status_follows_the_transitions_table(session: Session, job: Job) -> None:
    for start, to in PAIRS:
        _put(session, job, start)
        seq = job.last_seq
        if to in TRANSITIONS[start]:
            change_status(session, job, to, "because", PLATFORM, **_columns(to))
            assert (job.status, job.status_reason, job.last_seq) == (to, "because", seq + 1), (start, to)
            session.commit()  # the CHECK constraints agree
        else:
            with pytest.raises(IllegalTransition):
                change_status(session, job, to, "because", PLATFORM, **_columns(to))
            session.rollback()
            assert (job.status, job.last_seq) == (start, seq), (start, to)


def test_change_status_event_has_from_to_reason_and_actor(session: Session, job: Job) -> None:
    change_status(session, job, JobStatus.CANCELLED, "changed my mind", Actor("api_key", "key_1", "Kim"))
    event = session.scalars(select(JobEvent).filter_by(job_id=job.id, seq=2)).one()
    assert event.type == "status_changed"
    assert event.data == {
        "from": "queued",
        "to": "cancelled",
        "reason": "changed my mind",
        "error": None,
        "actor": {"kind": "api_key", "id": "key_1", "name": "Kim"},
    }


def test_illegal_transition_names_the_allowed_states(session: Session, job: Job) -> None:
    with pytest.raises(IllegalTransition) as refusal:
        change_status(session, job, JobStatus.SUCCEEDED, "", PLATFORM)
    assert refusal.value.extras == {"from": "queued", "to": "succeeded", "allowed": ["cancelled", "paused", "starting"]}


@pytest.mark.parametrize(("wanted", "starts"), REQUESTS.items())
def test_every_request_is_a_transition_or_refused(
    session: Session, job: Job, wanted: Request, starts: dict[JobStatus, JobStatus]
) -> None:
    """Twice the same, and every request in every state, are defined by the table."""
    for start in JobStatus:
        _put(session, job, start)
        if start in starts:
            request(session, job, wanted, PLATFORM)
            assert (job.status, start in TRANSITIONS) == (starts[start], True)
            session.commit()  # the CHECK constraints agree
        else:
            with pytest.raises(IllegalTransition, match="Possible now: ") as refusal:
                request(session, job, wanted, PLATFORM)
            assert refusal.value.extras["requests"] == allowed_requests(start)
            session.rollback()


def test_refused_request_lists_the_possible_ones(session: Session, job: Job) -> None:
    _put(session, job, JobStatus.PAUSING)
    with pytest.raises(IllegalTransition) as refusal:
        request(session, job, Request.PAUSE, PLATFORM)
    assert refusal.value.extras == {
        "from": "pausing",
        "to": "paused",
        "allowed": ["cancelling"],
        "requests": ["cancel"],
    }
    assert refusal.value.detail == "A job that is pausing cannot become paused. Possible now: cancel."


def test_request_reason_of_the_user_is_stored(session: Session, job: Job) -> None:
    request(session, job, Request.PAUSE, PLATFORM, " The GPU is needed elsewhere. ")
    assert job.status_reason == "The GPU is needed elsewhere."
    request(session, job, Request.RESUME, PLATFORM)
    assert job.status_reason == "Resumed by its owner."


def test_request_without_a_reason_names_the_request(session: Session, job: Job) -> None:
    given = []
    for wanted in (Request.PAUSE, Request.CANCEL, Request.RETRY):
        request(session, job, wanted, PLATFORM)
        given.append(job.status_reason)
    assert given == ["Paused by its owner.", "Cancelled by its owner.", "Retried by its owner."]


def test_change_status_concurrent_second_sees_the_first(session: Session, job: Job) -> None:
    with Session(session.get_bind()) as other:
        late = other.get_one(Job, job.id)
        change_status(session, job, JobStatus.CANCELLED, "first", PLATFORM)
        session.commit()
        with pytest.raises(IllegalTransition):
            change_status(other, late, JobStatus.CANCELLED, "second", PLATFORM)


@pytest.mark.parametrize(
    ("change", "constraint"),
    [
        ("status = 'unheard-of'", "ck_jobs_status"),
        ("status = 'running'", "ck_jobs_lease_while_active"),
        ("lease_expires_at = now()", "ck_jobs_lease_while_active"),
        ("worker_id = 'wrk_1'", "ck_jobs_worker_while_active"),
        ("status = 'succeeded'", "ck_jobs_finished_when_terminal"),
        ("finished_at = now()", "ck_jobs_finished_when_terminal"),
        ("status = 'failed', finished_at = now()", "ck_jobs_failed_says_why"),
    ],
)
def test_the_database_refuses_states_that_contradict_themselves(
    session: Session, job: Job, change: str, constraint: str
) -> None:
    with pytest.raises(IntegrityError, match=constraint):
        session.execute(text(f"UPDATE jobs SET {change}"))


@pytest.mark.parametrize(
    ("status", "stage", "expected"),
    [
        (JobStatus.QUEUED, None, ["pause", "cancel", "clone"]),
        (JobStatus.RUNNING, None, ["pause", "cancel", "clone"]),
        (JobStatus.RUNNING, "ppo", ["pause", "cancel", "command", "clone", "branch"]),
        (JobStatus.PAUSED, "ppo", ["resume", "cancel", "clone", "branch"]),
        (JobStatus.CANCELLING, "ppo", ["clone", "branch"]),
        (JobStatus.FAILED, "sft", ["retry", "clone", "branch", "archive", "delete"]),
        (JobStatus.SUCCEEDED, "evaluation", ["clone", "branch", "extend", "archive", "delete"]),
    ],
)
def test_allowed_actions_follow_the_state(status: JobStatus, stage: str | None, expected: list[str]) -> None:
    job = Job(status=status.value, stage=stage, spec={"stages": ["sft", "ppo", "evaluation"], "seeds": 1})
    assert allowed_actions(job) == expected


def test_allowed_actions_of_special_jobs() -> None:
    end = {"status": JobStatus.SUCCEEDED.value, "stage": "evaluation"}
    several = Job(**end, spec={"stages": ["ppo"], "seeds": 3})
    archived = Job(**end, spec={"stages": ["dpo"]}, archived_at=datetime.now(UTC))
    assert allowed_actions(several) == ["clone", "branch", "archive", "delete"]
    assert allowed_actions(archived) == ["clone", "branch", "unarchive", "delete"]
