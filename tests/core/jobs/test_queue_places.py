from datetime import UTC, datetime, timedelta

import pytest
from redis import Redis
from sqlalchemy import text
from sqlalchemy.orm import Session

from core.broker import JOB_QUEUE
from core.db import session_scope
from core.jobs.lifecycle import attempts
from core.jobs.queue.queue_places import QueuePlace, describe, queue_places
from core.jobs.queue.waking import wake_for, wake_idle_workers
from core.jobs.queue.workers import MachineReport, online_workers, report_worker, set_worker_state, sign_off
from core.models import Job, Project
from core.models.workers import WorkerState
from core.scheduling.lines import repair_lines
from core.scheduling.matching import Capacity, Requirement
from core.settings import Settings
from tests.core.factories import make_job, make_key

SMALL = MachineReport(Capacity(cpu_processes=1))
LARGE = MachineReport(Capacity(cpu_processes=8, labels=frozenset({"eu"})))


def place(session: Session, job: Job) -> QueuePlace:
    return queue_places(session, [job])[job.id]


def test_reason_of_a_queued_job(session: Session) -> None:
    jobs = [make_job(session) for _ in range(4)]
    assert "No worker is online" in place(session, jobs[0]).reason
    report_worker(session, "wrk_1", "host", None)
    assert place(session, jobs[0]).reason == "Waiting to be picked up."
    attempts.claim(session, "wrk_1")
    assert place(session, jobs[1]).reason == "The only worker is busy; this job is next."
    report_worker(session, "wrk_2", "host", None)
    attempts.claim(session, "wrk_2")
    assert place(session, jobs[3]).reason == "All 2 workers are busy; 1 job is ahead."


def test_worker_is_idle_once_its_job_is_queued_again(session: Session) -> None:
    """The next heartbeat of the worker comes seconds later."""
    job = make_job(session)
    report_worker(session, "wrk_1", "host", job.id)
    assert place(session, job).reason == "Waiting to be picked up."


def test_job_that_no_online_worker_can_run_says_so(session: Session) -> None:
    job = make_job(session, resources={"processes": 4})
    report_worker(session, "wrk_1", "host", None, SMALL)
    found = place(session, job)
    assert found.reason.startswith("No online worker can run this job. It needs 4 processes on a machine.")
    assert found.expected_start is None
    report_worker(session, "wrk_2", "host", None, LARGE)
    assert place(session, job).reason == "Waiting to be picked up."
    set_worker_state(session, "wrk_2", WorkerState.CORDONED)
    assert "An operator has cordoned them" in place(session, job).reason


def test_job_with_a_label_waits_for_a_worker_that_has_it(session: Session) -> None:
    job = make_job(session, resources={"labels": ["eu"]})
    assert (job.requirement, job.slots) == ({"labels": ["eu"]}, 1)
    report_worker(session, "wrk_1", "host", None, SMALL)
    assert "It needs 1 process on a machine, the label eu." in place(session, job).reason
    assert attempts.claim(session, "wrk_1", SMALL.capacity) is None
    report_worker(session, "wrk_2", "host", None, LARGE)
    assert place(session, job).reason == "Waiting to be picked up."
    claim = attempts.claim(session, "wrk_2", LARGE.capacity)
    assert claim is not None and claim.job_id == job.id


def test_job_with_gpu_memory_waits_for_large_gpus(session: Session) -> None:
    job = make_job(session, resources={"gpu_memory_gib": 40})
    assert job.requirement == {"gpu_memory_gib": 40}
    small, large = (Capacity(gpus=1, gpu_memory_gib=memory, gpu_processes=1) for memory in (24, 80))
    report_worker(session, "wrk_1", "host", None, MachineReport(small))
    assert "40 GiB of memory on each GPU" in place(session, job).reason
    assert attempts.claim(session, "wrk_1", small) is None
    assert attempts.claim(session, "wrk_2", large) is not None


def test_requirement_is_described_in_words() -> None:
    need = Requirement(2, 3, "cuda", 80, frozenset({"b", "a"}))
    words = "2 processes on a machine, 3 machines, a GPU, 80 GiB of memory on each GPU, the labels a, b"
    assert describe(need) == words


def test_quota_is_the_reason_with_its_figures(session: Session) -> None:
    """The running job has 10 steps of 6 s left. Two workers are idle."""
    owner = make_key(session).owner_id
    session.get_one(Project, owner).quotas = {"running_jobs": 1}
    first, second = make_job(session, owner), make_job(session, owner)
    for number in range(3):
        report_worker(session, f"wrk_{number}", "host", None)
    assert place(session, first).reason == "Waiting to be picked up."
    later = place(session, second)
    assert later.reason == "Your other jobs come first. With them, your quota of 1 running job is reached."
    assert (later.position, later.expected_start) == (2, None)  # no job has finished yet
    attempts.claim(session, "wrk_0")
    session.execute(text("UPDATE jobs SET step = 10, total_steps = 20, step_seconds = 6 WHERE status = 'starting'"))
    before = datetime.now(UTC)
    found = place(session, second)
    assert found.reason == "Your quota allows 1 running job, and you have 1. This job waits until it ends."
    assert found.expected_start is not None
    assert before <= found.expected_start - timedelta(seconds=60) <= datetime.now(UTC)
    session.get_one(Project, owner).quotas = {"gpu_hours": 2}
    session.execute(text("UPDATE owners SET month_use = 9000"))
    session.expire_all()
    month_end = (datetime.now(UTC).replace(day=1) + timedelta(days=32)).replace(day=1).date()
    assert place(session, second).reason == (
        f"Your quota allows 2 GPU-hours a month, and 2.5 are used. The next month begins on {month_end} (UTC)."
    )
    session.get_one(Project, owner).quotas = {"gpu_hours": 0}
    assert place(session, second).reason == (
        "Your quota allows no GPU-hours a month. Ask the operator of the platform for a higher limit."
    )


def test_jobs_that_a_quota_holds_are_not_ahead(session: Session) -> None:
    blocked, other = (make_key(session, name).owner_id for name in ("blocked", "other"))
    session.get_one(Project, blocked).quotas = {"running_jobs": 1}
    jobs = [make_job(session, blocked) for _ in range(3)]
    mine = make_job(session, other)
    report_worker(session, "wrk_1", "host", None)
    attempts.claim(session, "wrk_1")
    assert place(session, mine).reason == "The only worker is busy; this job is next."
    report_worker(session, "wrk_2", "host", None)
    found = queue_places(session, [*jobs[1:], mine])
    assert found[mine.id].position == 1 and found[mine.id].reason == "Waiting to be picked up."
    assert [found[job.id].position for job in jobs[1:]] == [2, 3]


def test_reason_names_the_quota_that_a_large_job_exceeds(session: Session) -> None:
    """The quota was lowered after the submission. A smaller job of the same owner may start."""
    owner = make_key(session).owner_id
    large, small = make_job(session, owner, resources={"processes": 4}), make_job(session, owner)
    session.get_one(Project, owner).quotas = {"gpus": 2}
    report_worker(session, "wrk_1", "host", None)
    assert place(session, large).reason == (
        "This job takes 4 GPUs, and your limit is 2 (`gpus`). Cancel it and submit a smaller one, "
        "or ask the operator of the platform for a higher limit."
    )
    assert place(session, large).expected_start is None
    assert place(session, small).reason == "Waiting to be picked up."
    attempts.claim(session, "wrk_1")
    session.execute(text("UPDATE jobs SET slots = 2 WHERE id = :id"), {"id": large.id})
    session.refresh(large)
    assert place(session, large).reason == (
        "Your running jobs take 1 of 2 GPUs of your quota, and this job takes 2. It waits until one of them ends."
    )


def test_owners_take_turns_in_the_positions(session: Session) -> None:
    """a has three jobs, b has one and has used more, c has one of a higher priority."""
    a, b, c = (make_key(session, name).owner_id for name in "abc")
    jobs = [
        make_job(session, a),
        make_job(session, a),
        make_job(session, a),
        make_job(session, b),
        make_job(session, c),
    ]
    jobs[4].priority = 1
    session.get_one(Project, b).decayed_use = 100.0
    session.flush()
    repair_lines(session)
    session.commit()
    places = queue_places(session, jobs)
    assert [places[job.id].position for job in jobs] == [2, 4, 5, 3, 1]


def test_position_counts_the_ageing_of_a_line(session: Session) -> None:
    """The line of low priority has waited for 25 hours. Its first job has the rank of `high`; the second has not."""
    old, new = (make_key(session, name).owner_id for name in ("old", "new"))
    jobs = [make_job(session, old), make_job(session, old), make_job(session, new), make_job(session, new)]
    session.execute(text("UPDATE jobs SET priority = CASE owner_id WHEN :old THEN -1 ELSE 0 END"), {"old": old})
    session.execute(
        text(
            "UPDATE queue_lines SET priority = CASE owner_id WHEN :old THEN -1 ELSE 0 END,"
            " waits_since = now() - CASE owner_id WHEN :old THEN interval '25 h' ELSE interval '0' END"
        ),
        {"old": old},
    )
    session.expire_all()
    places = queue_places(session, jobs)
    assert [places[job.id].position for job in jobs] == [1, 4, 2, 3]
    claimed = [attempts.claim(session, f"wrk_{number}") for number in range(4)]
    assert [claim and claim.job_id for claim in claimed] == [jobs[at].id for at in (0, 2, 3, 1)]


def test_position_of_a_far_job_is_estimated(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.jobs.queue.queue_places._FARTHEST", 2)
    owner = make_key(session).owner_id
    jobs = [make_job(session, owner) for _ in range(4)]
    places = queue_places(session, jobs)
    assert [places[job.id].position for job in jobs] == [1, 2, 3, 4]


def test_expected_start_follows_running_jobs_and_mean_time(session: Session) -> None:
    """The running job has 10 steps of 6 s left. Finished attempts took 100 s."""
    done = make_job(session)
    attempts.claim(session, "wrk_1")
    session.execute(
        text("UPDATE job_attempts SET started_at = now() - interval '100 s', ended_at = now(), outcome = 'finished'")
    )
    session.execute(text("UPDATE jobs SET step = 10, total_steps = 20, step_seconds = 6"))
    first, second = make_job(session), make_job(session)
    report_worker(session, "wrk_1", "host", done.id)
    session.expire_all()
    before = datetime.now(UTC)
    for job, seconds in ((first, 60), (second, 160)):
        expected = place(session, job).expected_start
        assert expected is not None and before <= expected - timedelta(seconds=seconds) <= datetime.now(UTC)


def test_wake_message_goes_to_the_class_that_can_run_the_job(session: Session, settings: Settings) -> None:
    large = make_job(session, resources={"processes": 4})
    report_worker(session, "wrk_1", "host", None, SMALL)
    report_worker(session, "wrk_2", "host", "job_x", LARGE)
    session.commit()
    with Redis.from_url(settings.redis_url) as broker:
        with session_scope() as own:
            wake_for(own, large, settings.redis_url)
        assert [broker.llen(name) for name in ("jobs.cpu-8.eu", "jobs.cpu-1", JOB_QUEUE)] == [1, 0, 0]
        for _ in range(2):  # an unread message is not repeated
            with session_scope() as own:
                wake_idle_workers(own, settings.redis_url)
        assert [broker.llen(name) for name in ("jobs.cpu-8.eu", "jobs.cpu-1", JOB_QUEUE)] == [1, 1, 0]


@pytest.mark.parametrize("state", [WorkerState.CORDONED, WorkerState.DRAINING])
def test_claim_gives_no_job_to_a_cordoned_worker(session: Session, state: WorkerState) -> None:
    make_job(session)
    report_worker(session, "wrk_1", "host", None)
    set_worker_state(session, "wrk_1", state)
    report_worker(session, "wrk_1", "host", None)  # a heartbeat keeps the state
    assert attempts.claim(session, "wrk_1") is None
    set_worker_state(session, "wrk_1", WorkerState.ONLINE)
    assert attempts.claim(session, "wrk_1") is not None


def test_renewal_of_a_draining_worker_asks_for_the_job(session: Session) -> None:
    job = make_job(session)
    report_worker(session, "wrk_1", "host", job.id)
    attempts.claim(session, "wrk_1")
    assert not attempts.renew(session, job.id, 1).drain_requested
    set_worker_state(session, "wrk_1", WorkerState.DRAINING)
    assert attempts.renew(session, job.id, 1).drain_requested


def test_cordon_outlasts_the_worker_process(session: Session) -> None:
    """The name of a worker stays when its process restarts. Its id does not."""
    make_job(session)
    box = MachineReport(Capacity(), name="box")
    report_worker(session, "wrk_1", "host", None, box)
    set_worker_state(session, "wrk_1", WorkerState.CORDONED)
    sign_off(session, "wrk_1")
    report_worker(session, "wrk_2", "host", None, box)
    report_worker(session, "wrk_other", "host", None, MachineReport(Capacity(), name="other"))
    states = {worker.id: worker.state for worker in online_workers(session)}
    assert states == {"wrk_2": WorkerState.CORDONED, "wrk_other": WorkerState.ONLINE}
    assert attempts.claim(session, "wrk_2") is None
    set_worker_state(session, "wrk_2", WorkerState.ONLINE)
    sign_off(session, "wrk_2")
    report_worker(session, "wrk_3", "host", None, box)
    assert attempts.claim(session, "wrk_3") is not None
