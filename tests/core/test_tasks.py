"""Data tasks: claims, leases and ends."""

import pytest
from redis import Redis
from sqlalchemy import text
from sqlalchemy.orm import Session

from core import tasks
from core.datasets import versions
from core.db import session_scope
from core.errors import LeaseLost
from core.models import DatasetVersion, DataTask
from core.models.tasks import TaskStatus
from core.settings import Settings
from core.tasks import TaskCancelled, TaskClaim, report_progress, tasks_of_dataset
from tests.core.factories import make_key
from worker.sweeper import sweep_data


@pytest.fixture
def owner(session: Session) -> str:
    return make_key(session).owner_id


def claimed(session: Session, worker: str = "dwk_1") -> TaskClaim:
    claim = tasks.claim(session, worker)
    assert claim is not None
    return claim


def expire(session: Session) -> None:
    session.execute(text("UPDATE data_tasks SET lease_expires_at = now() - interval '1 s' WHERE status = 'running'"))


def task(session: Session, task_id: str) -> DataTask:
    found = session.get_one(DataTask, task_id)
    session.refresh(found)
    return found


def importing(session: Session, owner: str) -> DatasetVersion:
    return versions.new_version(session, versions.new_dataset(session, owner, "d", "sft"), {"type": "upload"})


def waiting_messages(settings: Settings) -> int:
    with Redis.from_url(settings.redis_url) as broker:
        return int(broker.llen("data"))


def test_new_task_wakes_a_worker_after_the_commit(settings: Settings) -> None:
    with session_scope() as session:
        made = tasks.enqueue(session, make_key(session).owner_id, "import", {"upload": "up_x"})
        assert waiting_messages(settings) == 0
    assert (made.status, made.args, made.attempt) == ("queued", {"upload": "up_x"}, 0)
    assert waiting_messages(settings) == 1


def test_claim_takes_oldest_task_and_background_tasks_last(session: Session, owner: str) -> None:
    kinds = ["index", "import", "report", "fix"]
    for kind in kinds:
        tasks.enqueue(session, owner, kind, {})
        session.commit()
    assert [claimed(session).kind for _ in kinds] == ["import", "report", "fix", "index"]
    assert tasks.claim(session, "dwk_1") is None


def test_claim_alternates_between_owners(session: Session, owner: str) -> None:
    other = make_key(session).owner_id
    for who in (owner, owner, other):
        tasks.enqueue(session, who, "report", {})
        session.commit()
    assert [claimed(session).owner_id for _ in range(3)] == [owner, other, owner]


def test_claim_never_gives_one_task_to_two_workers(session: Session, owner: str) -> None:
    for _ in range(2):
        tasks.enqueue(session, owner, "report", {})
    session.commit()
    first = claimed(session)
    with session_scope() as other:
        second = claimed(other, "dwk_2")
    assert first.task_id != second.task_id


def test_task_progress_is_stored_and_ends_with_1(session: Session, owner: str) -> None:
    made = tasks.enqueue(session, owner, "report", {})
    claim = claimed(session)
    report_progress(session, claim, 0.25, "a\x00" + "b" * 1000)
    session.flush()
    assert (task(session, made.id).progress, len(made.note)) == (0.25, 200)
    tasks.finish(session, claim, TaskStatus.SUCCEEDED)
    assert (made.status, made.progress, made.note, made.worker_id, made.error) == ("succeeded", 1.0, "", None, None)
    assert made.finished_at is not None


def test_task_rejects_a_lost_worker_and_another_resumes(session: Session, owner: str) -> None:
    tasks.enqueue(session, owner, "report", {})
    first = claimed(session)
    expire(session)
    assert tasks.sweep(session).requeued == [first.task_id]
    with pytest.raises(LeaseLost):
        tasks.renew(session, first)
    second = claimed(session, "dwk_2")
    assert second.attempt == 2
    for write in (
        lambda: report_progress(session, first, 0.5, ""),
        lambda: tasks.finish(session, first, TaskStatus.SUCCEEDED),
        lambda: tasks.release(session, first),
        lambda: tasks.lose(session, first, "x"),
    ):
        with pytest.raises(LeaseLost):
            write()
    tasks.finish(session, second, TaskStatus.SUCCEEDED)


def test_task_of_three_lost_workers_fails_with_its_version(session: Session, owner: str) -> None:
    version = importing(session, owner)
    made = tasks.enqueue(session, owner, "import", {"version": version.id})
    for number in (1, 2):
        claimed(session)
        expire(session)
        assert tasks.sweep(session).requeued == [made.id], number
    claimed(session)
    expire(session)
    found = tasks.sweep(session)
    assert (found.failed, found.queued, made.status) == ([made.id], [], "failed")
    assert made.error is not None and made.error["code"] == "too_many_attempts"
    assert (version.status, version.error) == ("failed", made.error)


def test_a_lease_that_is_renewed_does_not_expire(session: Session, owner: str) -> None:
    tasks.enqueue(session, owner, "report", {})
    claim = claimed(session)
    expire(session)
    tasks.renew(session, claim)
    session.flush()
    assert tasks.sweep(session).requeued == []


def test_a_worker_that_stops_costs_the_task_no_try(session: Session, owner: str) -> None:
    made = tasks.enqueue(session, owner, "report", {})
    for _ in range(5):
        tasks.release(session, claimed(session))
    assert (task(session, made.id).status, made.attempt) == ("queued", 0)


def test_released_task_rejects_its_former_worker(session: Session, owner: str) -> None:
    tasks.enqueue(session, owner, "import", {})
    first = claimed(session, "dwk_1")
    tasks.release(session, first)
    second = claimed(session, "dwk_2")
    with pytest.raises(LeaseLost):
        tasks.release(session, first)
    assert (task(session, second.task_id).status, task(session, second.task_id).worker_id) == ("running", "dwk_2")


def test_a_cancelled_task_stops_its_worker_and_fails_its_version(session: Session, owner: str) -> None:
    version = importing(session, owner)
    made = tasks.enqueue(session, owner, "import", {"version": version.id})
    claim = claimed(session)
    tasks.cancel(session, made)
    with pytest.raises(TaskCancelled):
        tasks.renew(session, claim)
    assert (made.status, made.error, version.status) == ("cancelled", None, "failed")
    assert version.error == {"code": "cancelled", "message": "It was cancelled."}
    tasks.cancel(session, made)  # a second call changes nothing


def test_failed_task_keeps_the_error_of_a_settled_version(session: Session, owner: str) -> None:
    version = importing(session, owner)
    session.execute(text("UPDATE dataset_versions SET status = 'failed', error = '{\"code\": \"first\"}'"))
    tasks.enqueue(session, owner, "fix", {"version": version.id})
    tasks.finish(session, claimed(session), TaskStatus.FAILED, {"code": "second", "message": "m"})
    session.refresh(version)
    assert version.error == {"code": "first"}


def test_tasks_of_dataset_are_those_of_owner_and_dataset(session: Session, owner: str) -> None:
    for args in ({"dataset": "ds_1"}, {"dataset": "ds_2"}, {}):
        tasks.enqueue(session, owner, "report", args)
    assert [found.args for found in tasks_of_dataset(session, owner, "ds_1")] == [{"dataset": "ds_1"}]
    assert tasks_of_dataset(session, make_key(session).owner_id, "ds_1") == []


def test_sweeper_wakes_workers_once_for_waiting_tasks(session: Session, owner: str, settings: Settings) -> None:
    tasks.enqueue(session, owner, "report", {})
    session.commit()
    for _ in range(3):
        sweep_data(settings)
    assert waiting_messages(settings) == 1
