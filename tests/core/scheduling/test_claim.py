"""The claim in the database against the pure policy, on random queues, and what it writes."""

import math
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from sqlalchemy import delete, insert, select, text, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Session

from core.db import session_scope
from core.jobs.lifecycle import attempts
from core.jobs.overview.listing import gpu_hours
from core.models import Job, JobAttempt, Project, queue_lines
from core.quotas import Quotas
from core.scheduling import policy, shares
from core.scheduling.claim import policy_of, start_next_job
from core.scheduling.lines import read_lines, repair_lines
from core.scheduling.matching import Capacity, Requirement
from core.settings import Settings
from tests.core.factories import make_job, make_key

NEEDS = [
    Requirement(),
    Requirement(processes=2),
    Requirement(processes=4, device="cuda"),
    Requirement(machines=2),
    Requirement(gpu_memory_gib=40),
    Requirement(labels=frozenset({"eu"})),
    Requirement(processes=3, device="cpu", labels=frozenset({"eu", "fast"})),
]
QUOTAS = [Quotas(), Quotas(running_jobs=2), Quotas(gpus=4), Quotas(gpu_hours=10)]
CAPACITIES = [
    Capacity(),
    Capacity(cpu_processes=4, labels=frozenset({"eu", "fast"})),
    Capacity(gpus=4, gpu_memory_gib=80, gpu_processes=4, cpu_processes=2),
    Capacity(gpus=8, gpu_memory_gib=24, gpu_processes=8, cpu_processes=64, machines=2, labels=frozenset({"eu"})),
]


def _random_queue(session: Session, random: Random) -> None:
    """Times lie 300 s from the next change of a rank, so that a slow test finds the same ranks."""
    now = datetime.now(UTC)

    def before() -> datetime:
        return now - timedelta(seconds=600 * random.randrange(400) + 300)

    for owner in "abc":
        use = {"decayed_use": random.choice([0.0, 1e4, 1e5]), "month_use": random.choice([0.0, 20_000.0, 40_000.0])}
        use |= {"slots_in_use": random.randrange(3), "running_jobs": random.randrange(3), "use_at": before()}
        quotas = random.choice(QUOTAS).model_dump(exclude_defaults=True)
        session.execute(insert(Project).values(id=owner, name=owner, quotas=quotas, **use))
    for number in range(random.randrange(20)):
        need = random.choice(NEEDS)
        line = {
            "owner_id": random.choice("abc"),
            "priority": random.choice([-1, 0, 0, 1]),
            "requirement": need.stored(),
        }
        fields = {"id": f"job_{number:02}", "name": "", "spec": {}, "status_reason": "", "attempt": 0}
        ended = random.random() < 0.2  # a line without jobs keeps its row for a while
        fields |= {"status": "succeeded" if ended else "queued", "finished_at": before() if ended else None}
        at = before() + timedelta(milliseconds=number)  # no two lines are equal
        session.execute(insert(Job).values(**line, **fields, slots=need.slots, created_at=at, last_seq=0))
        row = upsert(queue_lines).values(**line, waits_since=before() + timedelta(milliseconds=number), oldest=at)
        session.execute(row.on_conflict_do_nothing())
    session.commit()


def _chosen(session: Session, now: float, rules: policy.Policy, capacity: Capacity) -> str | None:
    """The id of the job that the pure policy chooses."""
    owners = session.scalars(select(Project)).all()
    found = policy.choose(
        read_lines(session),
        {one.id: shares.share_of(one) for one in owners},
        {one.id: Quotas.model_validate(one.quotas) for one in owners},
        now,
        rules,
        capacity,
    )
    return found and found.job_id


@pytest.mark.parametrize("seed", range(12))
def test_claim_and_pure_policy_choose_the_same_jobs(session: Session, settings: Settings, seed: int) -> None:
    random = Random(seed)
    _random_queue(session, random)
    rules = policy_of(settings)
    for _ in range(25):
        session.expire_all()
        capacity = random.choice(CAPACITIES)
        now = session.execute(text("SELECT clock_timestamp()")).scalar_one().timestamp()
        expected = _chosen(session, now, rules, capacity)
        found = start_next_job(session, "wrk_1", {}, capacity)
        session.commit()
        assert (found and found.id) == expected


def test_claim_and_end_of_an_attempt_count_its_use_once(session: Session) -> None:
    job = make_job(session, resources={"processes": 2, "machines": 2})
    owner = session.get_one(Project, job.owner_id)
    attempts.claim(session, "wrk_1")
    session.refresh(owner)
    assert (owner.running_jobs, owner.slots_in_use, owner.month_use) == (1, 4, 0.0)
    attempts.release(session, job.id, 1, "The worker stops.")
    session.refresh(owner)
    attempt = session.get_one(JobAttempt, (job.id, 1))
    assert attempt.ended_at is not None
    seconds = (attempt.ended_at - attempt.started_at).total_seconds()
    assert (owner.running_jobs, owner.slots_in_use, owner.use_at) == (0, 0, attempt.ended_at)
    assert seconds > 0 and math.isclose(owner.month_use, 4 * seconds, rel_tol=1e-6)
    assert math.isclose(owner.decayed_use, 4 * seconds, rel_tol=1e-3)
    assert session.get_one(Job, job.id).gpu_seconds == 4 * seconds
    assert gpu_hours(session, [job.id]) == {job.id: 4 * seconds / 3600}


def test_hours_of_a_running_attempt_count_until_now(session: Session) -> None:
    job = make_job(session, resources={"processes": 2})
    attempts.claim(session, "wrk_1")
    session.execute(
        text("UPDATE job_attempts SET started_at = now() - interval '90 min'")
    )  # `now()` stays until the commit
    session.execute(text("UPDATE jobs SET gpu_seconds = 7200"))
    assert gpu_hours(session, [job.id]) == {job.id: 2 + 3}


def test_lost_worker_is_counted_once(session: Session) -> None:
    job = make_job(session)
    owner = session.get_one(Project, job.owner_id)
    attempts.claim(session, "wrk_1")
    session.execute(text("UPDATE jobs SET lease_expires_at = now() - interval '1 s'"))
    attempts.sweep(session)
    used = session.execute(select(Project.month_use)).scalar_one()
    attempts.sweep(session)
    session.refresh(owner)
    assert (owner.running_jobs, owner.slots_in_use, owner.month_use) == (0, 0, used)


def test_running_jobs_quota_holds_with_concurrent_claims(session: Session) -> None:
    owner = make_key(session).owner_id
    session.get_one(Project, owner).quotas = {"running_jobs": 1}
    for _ in range(3):
        make_job(session, owner)
    with session_scope() as first:
        assert attempts.claim(first, "wrk_1") is not None
    with session_scope() as second:
        assert attempts.claim(second, "wrk_2") is None


def test_claim_skips_an_owner_that_another_claim_has_locked(session: Session) -> None:
    first, second = make_job(session), make_job(session)
    claimed = attempts.claim(session, "wrk_1")  # not committed yet
    with session_scope() as other:
        found = attempts.claim(other, "wrk_2")
    assert claimed is not None and found is not None
    assert (claimed.job_id, found.job_id) == (first.id, second.id)


def test_repair_counts_jobs_that_other_programs_changed(session: Session) -> None:
    job = make_job(session, resources={"processes": 3})
    session.execute(
        text("UPDATE jobs SET status = 'running', worker_id = 'w', lease_expires_at = now() + interval '1 h'")
    )
    assert shares.repair_shares(session) == [job.owner_id]
    owner = session.get_one(Project, job.owner_id, populate_existing=True)
    assert (owner.running_jobs, owner.slots_in_use) == (1, 3)
    assert shares.repair_shares(session) == []


def test_claim_writes_the_event_and_the_line(session: Session) -> None:
    job = make_job(session)
    claim = attempts.claim(session, "wrk_1")
    assert claim is not None
    event = session.execute(text("SELECT seq, type, attempt, data FROM job_events WHERE attempt = 1")).one()
    reason = "Claimed by worker wrk_1."
    actor = {"actor": {"kind": "worker", "id": "wrk_1", "name": None}}
    assert event == (
        2,
        "status_changed",
        1,
        {"from": "queued", "to": "starting", "reason": reason, "error": None} | actor,
    )
    assert job.status_reason == reason
    assert session.execute(select(queue_lines)).one() == (job.owner_id, 0, {}, job.started_at, job.created_at)


def _waits_since(session: Session) -> datetime:
    return session.scalars(select(queue_lines.c.waits_since)).one()


def test_line_waits_since_its_first_job_was_queued(session: Session) -> None:
    """An older job that returns to the queue becomes the first one of its line."""
    owner = make_key(session).owner_id
    first = make_job(session, owner)
    assert _waits_since(session) == first.queued_at
    second = make_job(session, owner)
    assert _waits_since(session) == first.queued_at
    attempts.claim(session, "wrk_1")
    assert _waits_since(session) == first.started_at
    assert [line.created_at for line in read_lines(session)] == [second.created_at.timestamp()]
    attempts.release(session, first.id, 1, "The worker stops.")
    assert _waits_since(session) == first.queued_at > first.started_at
    lines = [(line.job_id, line.created_at) for line in read_lines(session)]
    assert lines == [(first.id, first.created_at.timestamp())]


def test_missing_line_is_added_and_an_old_empty_one_removed(session: Session) -> None:
    job = make_job(session)
    session.execute(delete(queue_lines))
    assert attempts.claim(session, "wrk_1") is None
    repair_lines(session)
    assert _waits_since(session) == job.queued_at
    assert attempts.claim(session, "wrk_1") is not None
    repair_lines(session)
    assert _waits_since(session) == job.started_at
    session.execute(update(queue_lines).values(waits_since=text("now() - interval '61 min'")))
    repair_lines(session)
    assert session.execute(select(queue_lines)).all() == []
