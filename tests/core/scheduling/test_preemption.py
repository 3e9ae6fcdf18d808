"""The pure policy of preemption, by hand. The times are seconds before NOW."""

from collections.abc import Sequence

import pytest

from core.quotas import Quotas
from core.scheduling.matching import Capacity, Requirement
from core.scheduling.policy import Line, Policy, Priority, Share
from core.scheduling.preemption import Place, PlacedJob, preemptions

HOUR = 3600.0
NOW = 1_800_000_000.0
POLICY = Policy(half_life=24 * HOUR, ageing=6 * HOUR, protected=600.0, preempted_use=4.0)
ONE, EIGHT = Capacity(gpus=1, gpu_processes=1), Capacity(gpus=8, gpu_processes=8)
LOW, NORMAL, HIGH = Priority.LOW, Priority.NORMAL, Priority.HIGH


def line(job_id: str, priority: int = NORMAL, *, owner: str = "new", gpus: int = 1, waited: float = 60.0) -> Line:
    return Line(job_id, owner, NOW - waited, NOW - waited, priority, Requirement(processes=gpus))


def place(
    job_id: str,
    priority: int = LOW,
    ran: float = 2 * HOUR,
    *,
    owner: str = "old",
    capacity: Capacity = ONE,
    preemptible: bool = True,
    preempted: int = 0,
    ending: bool = False,
) -> Place:
    return Place(capacity, PlacedJob(job_id, owner, priority, NOW - ran, preemptible, preempted, ending))


def found(lines: Sequence[Line], places: Sequence[Place], quotas: Quotas | None = None, **shares: Share) -> list[str]:
    """The preemptions, as `victim<job`."""
    owners = {one.owner_id for one in lines} | {one.running.owner_id for one in places if one.running}
    every = {owner: shares.get(owner, Share(at=NOW)) for owner in owners}
    limits = dict.fromkeys(owners, quotas or Quotas())
    return [f"{one.victim.job_id}<{one.line.job_id}" for one in preemptions(lines, every, limits, places, NOW, POLICY)]


def test_higher_priority_preempts_a_job_that_allows_it() -> None:
    assert found([line("h", HIGH)], [place("v", NORMAL)]) == ["v<h"]
    assert found([line("h", HIGH)], [place("v", NORMAL, preemptible=False)]) == []
    assert found([line("h", NORMAL)], [place("v", HIGH)]) == []


def test_victim_has_the_lowest_priority_and_started_last() -> None:
    places = [place("normal", NORMAL, 1000), place("low_old", LOW, 9000), place("low_new", LOW, 3000)]
    assert found([line("h", HIGH)], places) == ["low_new<h"]


def test_attempt_is_protected_for_its_first_time() -> None:
    assert found([line("h", HIGH)], [place("v", ran=599)]) == []
    assert found([line("h", HIGH)], [place("v", ran=600)]) == ["v<h"]
    assert found([line("h", HIGH)], [place("v", ran=2399, preempted=2)]) == []
    assert found([line("h", HIGH)], [place("v", ran=2400, preempted=2)]) == ["v<h"]


@pytest.mark.parametrize("room", [Place(ONE), place("other", HIGH, preemptible=False, ending=True)])
def test_worker_that_is_or_becomes_free_is_taken_instead(room: Place) -> None:
    assert found([line("h", HIGH)], [place("v"), room]) == []
    assert found([line("h", HIGH), line("i", HIGH, owner="b")], [place("v"), room]) == ["v<i"]


def test_small_free_worker_does_not_help_a_large_job() -> None:
    assert found([line("h", HIGH, gpus=8)], [place("v", capacity=EIGHT), place("w"), Place(ONE)]) == ["v<h"]


def test_small_job_takes_the_smallest_free_worker() -> None:
    lines = [line("small", HIGH), line("large", NORMAL, gpus=8)]
    assert found(lines, [Place(EIGHT), Place(ONE), place("v", capacity=EIGHT)]) == []


def test_two_lines_preempt_two_jobs() -> None:
    lines = [line("h", HIGH), line("n", NORMAL, owner="b")]
    assert found(lines, [place("v", ran=HOUR), place("w")]) == ["v<h", "w<n"]


def test_job_within_a_quota_only() -> None:
    assert found([line("h", HIGH)], [place("v")], Quotas(running_jobs=0)) == []


def test_no_worker_is_freed_for_a_line_that_comes_later() -> None:
    """The overdue low line would take the worker. It may not preempt, so the high line waits as well."""
    overdue = line("overdue", LOW, owner="b", waited=30 * HOUR)
    assert found([overdue, line("h", HIGH)], [place("v")]) == []
    large = line("overdue", LOW, owner="b", waited=30 * HOUR, gpus=8)  # it does not fit the worker
    assert found([large, line("h", HIGH)], [place("v")]) == ["v<h"]


def test_owner_far_below_its_share_preempts_an_equal_priority() -> None:
    """`new` has used 1 h. It preempts an owner with more than 4 h."""
    used = Share(decayed=HOUR, at=NOW)
    more, less = Share(decayed=4.01 * HOUR, at=NOW), Share(decayed=3.99 * HOUR, at=NOW)
    assert found([line("h", LOW)], [place("v")], new=used, old=more) == ["v<h"]
    assert found([line("h", LOW)], [place("v")], new=used, old=less) == []
    assert found([line("h", LOW)], [place("v", NORMAL)], new=used, old=more) == []
    assert found([line("h", LOW)], [place("v")], new=Share(slots=1, at=NOW), old=more) == []
    assert found([line("h", LOW, owner="old")], [place("v")], old=more) == []
