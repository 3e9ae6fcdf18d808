import math
from typing import Any

from core.quotas import Quotas
from core.scheduling.matching import Capacity, Requirement
from core.scheduling.policy import (
    OVERDUE,
    Line,
    Policy,
    Priority,
    Share,
    choose,
    month_start,
    order_key,
    rank,
)

HOUR = 3600.0
POLICY = Policy(half_life=24 * HOUR, ageing=12 * HOUR, running=600.0)
NO_QUOTAS, ONE_CORE = Quotas(), Capacity()
NOW = 1_800_000_000.0  # 2027-01-15 08:00 UTC


def line(job_id: str, owner: str = "a", waited: float = 0.0, **fields: Any) -> Line:
    return Line(job_id, owner, NOW - waited, NOW - waited, **fields)


def chosen(*lines: Line, quotas: Quotas = NO_QUOTAS, capacity: Capacity = ONE_CORE, **shares: Share) -> str | None:
    owners = {one.owner_id for one in lines}
    found = choose(
        lines,
        {owner: shares.get(owner, Share(at=NOW)) for owner in owners},
        dict.fromkeys(owners, quotas),
        NOW,
        POLICY,
        capacity,
    )
    return found and found.job_id


def test_use_halves_in_a_half_life() -> None:
    assert Share(decayed=1000.0, at=NOW).decayed_at(NOW + 24 * HOUR, 24 * HOUR) == 500.0


def test_use_of_running_slots_is_the_integral_of_the_decay() -> None:
    """4 slots for one half-life h: 4 · h/ln 2 · (1 - 1/2). Without end it tends to 4 · h/ln 2."""
    share = Share(slots=4, at=NOW)
    assert math.isclose(share.decayed_at(NOW + 24 * HOUR, 24 * HOUR), 4 * 24 * HOUR / math.log(2) / 2)
    assert math.isclose(share.decayed_at(NOW + 1e9, 24 * HOUR), 4 * 24 * HOUR / math.log(2))


def test_use_does_not_depend_on_changes_in_between() -> None:
    share = Share(slots=3, decayed=50.0, month=7.0, at=NOW)
    middle = share.after(NOW + 100, HOUR, jobs=0, slots=0)
    assert math.isclose(middle.decayed_at(NOW + 900, HOUR), share.decayed_at(NOW + 900, HOUR))
    assert math.isclose(middle.month_at(NOW + 900), share.month_at(NOW + 900))


def test_use_of_a_month_begins_at_its_start_in_utc() -> None:
    february = 1_801_440_000.0  # 2027-02-01 00:00 UTC
    assert (month_start(NOW), month_start(february - 1), month_start(february)) == (
        1_798_761_600.0,  # 2027-01-01 00:00 UTC
        1_798_761_600.0,
        february,
    )
    share = Share(slots=2, month=500.0, at=february - 100)
    assert share.month_at(february - 50) == 600.0
    assert share.month_at(february + 10) == 20.0


def test_share_after_a_claim_and_an_end_has_the_use_between() -> None:
    started = Share(at=NOW).after(NOW, HOUR, jobs=1, slots=8)
    ended = started.after(NOW + 10, HOUR, jobs=-1, slots=-8)
    assert (ended.running, ended.slots, ended.month) == (0, 0, 80.0)
    assert ended.month_at(NOW + 1000) == 80.0


def test_a_line_rises_one_rank_per_ageing_time_until_overdue() -> None:
    waits = (0, 11.9, 12, 24, 36, 500)
    ranks = [rank(line("j", waited=hours * HOUR, priority=Priority.LOW), NOW, POLICY) for hours in waits]
    assert ranks == [-1, -1, 0, 1, OVERDUE, OVERDUE]


def test_higher_priority_is_chosen_before_smaller_use() -> None:
    lines = line("low", "a", priority=Priority.LOW), line("high", "b", priority=Priority.HIGH)
    assert chosen(*lines, b=Share(decayed=1e6, at=NOW)) == "high"


def test_smaller_use_is_chosen_before_age() -> None:
    assert chosen(line("old", "a", waited=60), line("new", "b"), a=Share(decayed=1.0, at=NOW)) == "new"


def test_equal_use_is_chosen_by_age() -> None:
    assert chosen(line("new", "a"), line("old", "b", waited=60)) == "old"


def test_running_slots_count_in_advance() -> None:
    """b has used 599 s, and a runs one slot, which counts 600 s."""
    lines = line("first", "a", waited=60), line("second", "b")
    assert chosen(*lines, a=Share(slots=1, at=NOW), b=Share(decayed=599.0, at=NOW)) == "second"
    assert chosen(*lines, a=Share(slots=1, at=NOW), b=Share(decayed=601.0, at=NOW)) == "first"


def test_overdue_lines_are_chosen_by_their_waiting_time() -> None:
    lines = line("used", "a", waited=60 * HOUR), line("unused", "b", waited=50 * HOUR)
    assert chosen(*lines, a=Share(decayed=1e9, at=NOW)) == "used"


def test_quota_of_an_owner_leaves_its_jobs_waiting() -> None:
    eight = Requirement(processes=8)
    big = Capacity(gpus=8, gpu_processes=8)
    one = line("j", requirement=eight)
    assert chosen(one, capacity=big, quotas=Quotas(gpus=8)) == "j"
    assert chosen(one, capacity=big, quotas=Quotas(gpus=7)) is None
    assert chosen(one, capacity=big, quotas=Quotas(running_jobs=1), a=Share(running=1, at=NOW)) is None
    assert chosen(one, capacity=big, quotas=Quotas(gpu_hours=1), a=Share(month=3599.0, at=NOW)) == "j"
    assert chosen(one, capacity=big, quotas=Quotas(gpu_hours=1), a=Share(month=3600.0, at=NOW)) is None


def test_order_key_of_equal_lines_ends_with_the_id() -> None:
    assert order_key(line("a"), Share(at=NOW), NOW, POLICY) < order_key(line("b"), Share(at=NOW), NOW, POLICY)
