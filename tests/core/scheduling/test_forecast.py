from typing import Any

from core.quotas import Quotas
from core.scheduling.forecast import Cluster, RunningJob, Start, forecast
from core.scheduling.matching import Capacity, Requirement
from core.scheduling.policy import Line, Policy, Priority, Share

HOUR = 3600.0
POLICY = Policy(half_life=24 * HOUR, ageing=12 * HOUR, running=600.0)
NOW = 1_800_000_000.0  # 2027-01-15 08:00 UTC; the month ends 1,440,000 s later
ONE, FOUR = Capacity(), Capacity(cpu_processes=4)
FOUR_SLOTS = Requirement(processes=4)


def line(job_id: str, owner: str = "a", waited: float = 0.0, **fields: Any) -> Line:
    return Line(job_id, owner, NOW - waited, NOW - waited, **fields)


def starts(
    *lines: Line | tuple[Line, list[str]],
    idle: tuple[Capacity, ...] = (),
    running: tuple[RunningJob, ...] = (),
    mean: float | None = 100.0,
    quotas: dict[str, Quotas] | None = None,
    **shares: Share,
) -> list[Start]:
    waiting = [one if isinstance(one, tuple) else (one, []) for one in lines]
    owners = {one.owner_id for one, _ in waiting}
    found = forecast(
        [(one, [(job_id, NOW) for job_id in following]) for one, following in waiting],
        {owner: shares.get(owner, Share(at=NOW)) for owner in owners},
        {owner: (quotas or {}).get(owner, Quotas()) for owner in owners},
        Cluster(idle, running, mean),
        NOW,
        POLICY,
    )
    return list(found)


def seconds(found: list[Start]) -> list[tuple[str, float | None]]:
    return [(one.job_id, None if one.at is None else one.at - NOW) for one in found]


def test_forecast_gives_ageing_to_the_first_job_only() -> None:
    """The low line has waited 25 h, so its first job has the rank of `high`, and a has used less. Then the line waits anew."""
    low, high = line("l1", "a", waited=25 * HOUR, priority=Priority.LOW), line("h1", "b", priority=Priority.HIGH)
    found = starts((low, ["l2", "l3"]), (high, ["h2", "h3"]), a=Share(at=NOW), b=Share(decayed=1.0, at=NOW))
    assert [one.job_id for one in found] == ["l1", "h1", "h2", "h3", "l2", "l3"]
    assert {one.at for one in found} == {None}


def test_forecast_counts_the_slots_of_each_claim() -> None:
    """a takes 4 slots a job, which count 2,400 s; b takes one, which counts 600 s. b has used 500 s before."""
    waiting = (line("a1", "a", requirement=FOUR_SLOTS), ["a2"]), (line("b1", "b"), [f"b{n}" for n in range(2, 7)])
    found = starts(*waiting, b=Share(decayed=500.0, at=NOW))
    assert [one.job_id for one in found] == ["a1", "b1", "b2", "b3", "b4", "a2", "b5", "b6"]


def test_forecast_counts_the_seconds_of_ended_jobs() -> None:
    """One worker, 1,000 s a job. After a1, a has used 1,000 s; the b that has used 900 s is first, then a again."""
    waiting = (line("a1", "a"), ["a2", "a3"]), (line("b1", "b"), ["b2"])
    found = starts(*waiting, idle=(ONE,), mean=1000.0, b=Share(decayed=900.0, at=NOW))
    assert seconds(found) == [("a1", 0), ("b1", 1000), ("a2", 2000), ("b2", 3000), ("a3", 4000)]


def test_forecast_passes_over_owners_at_their_quota() -> None:
    """a may run one job, which ends in 250 s. Its waiting jobs are not ahead of b's, although a has used less."""
    mine = RunningJob("a", 1, 250.0, ONE)
    shares = {"a": Share(running=1, slots=1, at=NOW), "b": Share(decayed=9000.0, at=NOW)}
    waiting = (line("a1", "a"), ["a2"]), (line("b1", "b"), ["b2"])
    found = starts(*waiting, idle=(ONE,), running=(mine,), quotas={"a": Quotas(running_jobs=1)}, **shares)
    assert seconds(found) == [("b1", 0), ("b2", 100), ("a1", 250), ("a2", 350)]
    assert [one.held_by for one in found] == [None, None, "running_jobs", "running_jobs"]


def test_forecast_gives_each_worker_a_job_that_fits() -> None:
    small, large = line("small", "a"), line("large", "b", priority=Priority.HIGH, requirement=FOUR_SLOTS)
    label = line("label", "c", priority=Priority.HIGH, requirement=Requirement(labels=frozenset({"eu"})))
    busy = RunningJob("other", 1, 30.0, FOUR)
    found = starts(small, large, label, idle=(ONE,), running=(busy,))
    assert seconds(found) == [("small", 0), ("large", 30), ("label", None)]


def test_forecast_of_a_quota_of_gpus_waits_for_enough() -> None:
    running = tuple(RunningJob("a", 2, end, FOUR) for end in (50.0, 70.0))
    large = line("large", requirement=FOUR_SLOTS)
    share = Share(running=2, slots=4, at=NOW)
    found = starts(large, idle=(FOUR,), running=running, quotas={"a": Quotas(gpus=5)}, a=share)
    assert found == [Start("large", NOW + 70, "gpus")]
    assert starts(large, idle=(FOUR,), quotas={"a": Quotas(gpus=3)}) == [Start("large", None, "gpus")]


def test_forecast_of_gpu_hours_waits_for_the_next_month() -> None:
    used = Share(month=2 * HOUR, at=NOW)
    found = starts((line("j1"), ["j2"]), idle=(ONE, ONE), quotas={"a": Quotas(gpu_hours=2)}, a=used)
    assert seconds(found) == [("j1", 1_440_000), ("j2", 1_440_000)]
    assert seconds(starts(line("j1"), idle=(ONE,), quotas={"a": Quotas(gpu_hours=0)})) == [("j1", None)]


def test_forecast_without_known_times_keeps_the_order() -> None:
    busy = RunningJob("other", 1, None, ONE), RunningJob("other", 1, 40.0, ONE)
    found = starts((line("j1"), ["j2", "j3", "j4"]), running=busy, mean=None)
    assert seconds(found) == [("j1", 40), ("j2", None), ("j3", None), ("j4", None)]


def test_job_on_a_cordoned_worker_frees_its_quota_only() -> None:
    mine = RunningJob("a", 1, 20.0, None)
    share = Share(running=1, slots=1, at=NOW)
    found = starts(line("j1"), idle=(ONE,), running=(mine,), quotas={"a": Quotas(running_jobs=1)}, a=share)
    assert seconds(found) == [("j1", 20)]
