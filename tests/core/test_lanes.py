"""Lanes of data tasks: the order of claims, the slots, and the places of tasks that wait. All by hand."""

from collections.abc import Callable

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from core import lanes, tasks
from core.db import session_scope
from core.lanes import Seat, Slot
from core.models import DataTask
from core.models.tasks import TaskStatus
from core.tasks import TaskClaim
from tests.core.factories import make_key

Queue = Callable[..., list[str]]


@pytest.fixture
def queue(session: Session) -> Queue:
    """Queue tasks of one owner, a second apart from all others, and return their ids."""
    second = iter(range(10_000))

    def queue(owner: str, *kinds: str) -> list[str]:
        made = [tasks.enqueue(session, owner, kind, {}) for kind in kinds]
        for one in made:
            at = f"timestamptz '2026-11-24 00:00:00Z' + interval '{next(second)} s'"
            session.execute(text(f"UPDATE data_tasks SET created_at = {at} WHERE id = :id"), {"id": one.id})
        session.commit()
        return [one.id for one in made]

    return queue


@pytest.fixture
def owners(session: Session) -> tuple[str, str]:
    return make_key(session).owner_id, make_key(session).owner_id


def claim(session: Session, slot: Slot = Slot.ANY, slots: int = 3, data_worker: str = "dwk_1") -> TaskClaim | None:
    found = tasks.claim(session, f"{data_worker}.7", Seat(slot, data_worker, slots))
    session.commit()
    return found


def claimed(session: Session, slot: Slot = Slot.ANY) -> str:
    found = claim(session, slot)
    assert found is not None
    return found.task_id


def end(session: Session, task_id: str, *, ran_seconds: float) -> None:
    """End a task that has run for this long."""
    tasks.end(session, session.get_one(DataTask, task_id), TaskStatus.SUCCEEDED)
    began = f"finished_at - interval '{ran_seconds} s'"
    session.execute(text(f"UPDATE data_tasks SET started_at = {began} WHERE id = :id"), {"id": task_id})
    session.commit()


def test_slots_of_a_data_worker() -> None:
    assert lanes.slots_of(1) == [Slot.ANY]
    assert lanes.slots_of(2) == [Slot.INTERACTIVE, Slot.GENERAL]
    assert lanes.slots_of(4) == [Slot.INTERACTIVE, Slot.IMPORTS, Slot.GENERAL, Slot.GENERAL]
    assert [lanes.default_slots(cores) for cores in (1, 2, 3, 4, 64)] == [2, 4, 4, 4, 4]


def test_check_does_not_wait_behind_imports_and_reports(
    session: Session, owners: tuple[str, str], queue: Queue
) -> None:
    imports, index = queue(owners[0], "import", "report"), queue(owners[0], "index")
    (check,) = queue(owners[1], "validate")
    assert [claimed(session) for _ in range(4)] == [check, *imports, *index]


def test_each_slot_takes_its_own_tasks(session: Session, owners: tuple[str, str], queue: Queue) -> None:
    """The general slot leaves the first check to the slot that is kept free, and takes that of another owner beside it."""
    first, _ = queue(owners[0], "validate", "validate")
    (second,) = queue(owners[1], "validate")
    report, fetch = queue(owners[0], "report", "fetch")
    (index,) = queue(owners[0], "index")
    assert claimed(session, Slot.IMPORTS) == fetch and claim(session, Slot.IMPORTS) is None
    assert claimed(session, Slot.GENERAL) == report
    assert claimed(session, Slot.INTERACTIVE) == first
    assert claimed(session, Slot.GENERAL) == second
    assert claimed(session, Slot.GENERAL) == index


def test_checks_of_one_owner_leave_the_other_slots_alone(
    session: Session, owners: tuple[str, str], queue: Queue
) -> None:
    checks, (fetch,) = queue(owners[0], *["validate"] * 20), queue(owners[1], "fetch")
    assert claimed(session, Slot.INTERACTIVE) == checks[0]
    assert claim(session, Slot.GENERAL, 4) is not None and claim(session, Slot.IMPORTS) is None
    assert session.get_one(DataTask, fetch).attempt == 1
    (check,) = queue(owners[1], "validate")
    assert claimed(session, Slot.IMPORTS) == check


def test_owner_leaves_one_slot_of_each_data_worker_to_others(
    session: Session, owners: tuple[str, str], queue: Queue
) -> None:
    """Four slots: a check and two imports or reports of one owner leave the last slot. A search index gives way, so it may take it."""
    kinds = ("import", "report", "import", "report")
    first, second, third, fourth = queue(owners[0], *kinds)
    assert claimed(session, Slot.IMPORTS) == first
    found = claim(session, Slot.GENERAL, 4)
    assert found is not None and found.task_id == second
    assert claim(session, Slot.GENERAL, 4) is None
    for data_worker, expected in (("dwk_10", third), ("dwk_10", fourth), ("dwk_10", None)):
        found = claim(session, Slot.GENERAL, 4, data_worker)
        assert (found and found.task_id) == expected
    (index,), (other,) = queue(owners[0], "index"), queue(owners[1], "report")
    for expected in (other, index, None):
        found = claim(session, Slot.GENERAL, 4)
        assert (found and found.task_id) == expected


def test_long_checks_do_not_come_before_all_imports(session: Session, owners: tuple[str, str], queue: Queue) -> None:
    """One slot. After 120 s of checks within the hour, the next one waits for its owner's turn."""
    checks, (first, second) = queue(owners[0], *["validate"] * 3), queue(owners[1], "import", "import")
    for ran_seconds, check in zip((119, 1), checks, strict=False):
        assert claimed(session) == check
        end(session, check, ran_seconds=ran_seconds)
    assert claimed(session) == first
    end(session, first, ran_seconds=121)
    assert claimed(session) == checks[2]
    assert claimed(session) == second


@pytest.mark.parametrize("kind", ["validate", "import"])
def test_twenty_tasks_of_one_owner_delay_another_by_one_task(
    session: Session, owners: tuple[str, str], queue: Queue, kind: str
) -> None:
    """One slot: nothing runs when the next task is claimed. The running one has 30 s behind it, the other owner none."""
    many, other = queue(owners[0], *[kind] * 20), queue(owners[1], kind, kind)
    first = claimed(session)
    assert first == many[0]
    end(session, first, ran_seconds=30)
    assert claimed(session) == other[0]
    end(session, other[0], ran_seconds=20)
    assert claimed(session) == other[1]  # 20 s against 30 s
    end(session, other[1], ran_seconds=20)
    assert claimed(session) == many[1]  # 30 s against 40 s


def test_running_tasks_count_first_and_use_ages_after_an_hour(
    session: Session, owners: tuple[str, str], queue: Queue
) -> None:
    one, two = owners
    (long,) = queue(one, "import")
    end(session, long, ran_seconds=500)
    mine, theirs = queue(one, "import"), queue(two, "import", "import")
    assert claimed(session) == theirs[0]
    assert claimed(session) == mine[0]  # the other owner has one that runs
    session.execute(text("UPDATE data_tasks SET finished_at = now() - interval '61 min' WHERE finished_at IS NOT NULL"))
    end(session, theirs[0], ran_seconds=5)
    end(session, mine[0], ran_seconds=1)
    (another,) = queue(one, "import")
    assert claimed(session) == another  # 1 s against 5 s, since the 500 s are forgotten


def test_use_of_one_lane_does_not_count_in_another(session: Session, owners: tuple[str, str], queue: Queue) -> None:
    """A long import does not delay its owner's check."""
    one, two = owners
    (long,) = queue(one, "import")
    end(session, long, ran_seconds=500)
    (check,), _ = queue(one, "validate"), queue(two, "validate")
    assert claimed(session) == check


def test_places_and_reasons_of_tasks_that_wait(session: Session, owners: tuple[str, str], queue: Queue) -> None:
    """Owners take turns: the second owner's first import comes after the first import of the first owner."""
    one, two = owners
    running = queue(one, "report")
    assert claimed(session) == running[0]
    mine, theirs = queue(one, "import", "import"), queue(two, "fetch")
    (index,), (check,) = queue(two, "index"), queue(two, "validate")
    found = lanes.places(session, [*running, *mine, *theirs, index, check])
    assert {task_id: (waiting.place, waiting.reason) for task_id, waiting in found.items()} == {
        theirs[0]: (1, "Waits behind 1 report."),
        mine[0]: (2, "Waits behind 1 import and 1 report."),
        mine[1]: (3, "Waits behind 2 imports and 1 report."),
        index: (4, "Waits behind 3 imports and 1 report."),
        check: (0, "Waits for a data worker."),
    }
    assert lanes.places(session, [check]) == {check: found[check]} and lanes.places(session, []) == {}


def test_order_of_places_is_that_of_the_claims(session: Session, owners: tuple[str, str], queue: Queue) -> None:
    one, two = owners
    ids = [*queue(one, "import", "index", "report"), *queue(two, "fix"), *queue(one, "fetch")]
    found = lanes.places(session, ids)
    assert sorted(ids, key=lambda one: found[one].place) == [claimed(session) for _ in ids]


def test_order_of_claims_does_not_depend_on_the_plan(session: Session, owners: tuple[str, str], queue: Queue) -> None:
    """In a nested loop, the server computes an owner's use for each row anew: at one moment, not at a later one for each."""
    (running,) = queue(owners[0], "import")
    assert claimed(session) == running
    ids = queue(owners[0], *["import"] * 8)
    swap = "created_at = timestamptz '2026-11-24 01:00Z' - (created_at - timestamptz '2026-11-24 00:00Z')"
    session.execute(text(f"UPDATE data_tasks SET {swap} WHERE id = ANY(:ids)"), {"ids": ids})
    session.commit()
    for plan in ("hashagg", "hashjoin", "mergejoin", "material", "memoize", "indexscan", "bitmapscan"):
        session.execute(text(f"SET enable_{plan} = off"))
    try:
        assert [claimed(session) for _ in ids] == ids[::-1]
    finally:
        session.execute(text("RESET ALL"))


@pytest.mark.parametrize("slots", [1, 2, 3])
def test_places_foresee_the_claims_of_busy_slots(session: Session, queue: Queue, slots: int) -> None:
    """Each task runs for 1,000 s, the mean of those within the last hour. The owners had 1,300, 600 and 1,100 s."""
    owners = [make_key(session).owner_id for _ in range(3)]
    for owner, seconds in zip(owners, (1300, 600, 1100), strict=True):
        (past,) = queue(owner, "import")
        end(session, past, ran_seconds=seconds)
    ids = [one for n in range(12) for one in queue(owners[n * n % 3 if n < 8 else 2 - n % 3], "import")]
    running = [claimed(session) for _ in range(slots)]
    waiting = [one for one in ids if one not in running]
    running.reverse()  # the task that was written last is the one that began first, and ends first
    for seconds, task_id in enumerate(reversed(running)):
        began = f"started_at - interval '{seconds} s'"
        session.execute(text(f"UPDATE data_tasks SET started_at = {began} WHERE id = :id"), {"id": task_id})
    found = lanes.places(session, waiting)
    for place in range(len(waiting)):
        end(session, running.pop(0), ran_seconds=1000)
        running.append(claimed(session))
        assert found[running[-1]].place == slots + place


def test_background_work_gives_way_only_to_tasks_of_its_slot(
    session: Session, owners: tuple[str, str], queue: Queue
) -> None:
    def waits(slot: Slot) -> bool:
        return tasks.foreground_task_waits(session, Seat(slot))

    queue(owners[0], "validate")
    assert waits(Slot.ANY) and not waits(Slot.GENERAL)
    queue(owners[0], "report")
    assert waits(Slot.GENERAL) and not waits(Slot.IMPORTS)


def test_cancelled_task_is_not_claimed_and_its_claim_is_refused(
    session: Session, owners: tuple[str, str], queue: Queue
) -> None:
    """A cancellation waits for the claim that holds the row, and then ends its attempt."""
    (queued,) = queue(owners[0], "import")
    with session_scope() as other:
        tasks.cancel(other, other.get_one(DataTask, queued))
    assert claim(session) is None
    (running,) = queue(owners[0], "import")
    found = claim(session)
    assert found is not None
    with session_scope() as other:
        tasks.cancel(other, other.get_one(DataTask, running))
    session.expire_all()
    with pytest.raises(tasks.TaskCancelled):
        tasks.refuse_cancelled(session, found)
    with pytest.raises(tasks.TaskCancelled):
        tasks.renew(session, found)
