"""Series from roll-ups equal series computed from the points, whatever the run repeats or leaves out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from core.jobs.run.events import append_events
from core.jobs.run.metrics import MetricQuery, Series, series
from core.models import Job, JobMetricChunk, JobMetrics
from tests.core.factories import make_job, running
from trainer.events import Metrics

Points = dict[int, dict[str, float]]


@dataclass(frozen=True)
class Batch:
    """Steps that a worker stores together. `start` is relative to the newest step: 0 or less repeats steps."""

    start: int
    count: int
    stride: int


BATCHES = st.lists(
    st.builds(
        Batch,
        start=st.one_of(st.just(1), st.integers(-700, 2000)),
        count=st.integers(1, 300),
        stride=st.sampled_from([1, 1, 1, 2, 100]),
    ),
    min_size=1,
    max_size=8,
)


@pytest.fixture
def job(session: Session) -> Job:
    made = make_job(session)
    running(session, made)
    return made


def values_at(step: int, batch: int) -> dict[str, float]:
    """One metric at each step, one at some, and one that begins late."""
    values = {"kl": (step * 7919 + batch * 31) % 1000 / 7}
    if step % 50 == 0:
        values["win_rate"] = step / 50
    if step > 1500:
        values["late"] = -float(step)
    return values


def store(session: Session, job: Job, points: Points, batch: Sequence[int], number: int = 0) -> None:
    """Append the steps, and repeat what a resumed run means for the points."""
    for step in batch:
        for lost in [one for one in points if one >= step]:
            del points[lost]
        points[step] = values_at(step, number)
    events = [Metrics(stage="ppo", step=step, total_steps=9, values=values_at(step, number)) for step in batch]
    append_events(session, job.id, 1, events)


def expected(
    points: Mapping[int, Mapping[str, float]], name: str, span: tuple[int, int], max_points: int
) -> list[tuple[float, ...]]:
    """Buckets of the smallest width that is a power of 4 and covers the span of steps with at most `max_points`."""
    width = 1
    while span[1] // width - span[0] // width + 1 > max_points:
        width *= 4
    buckets: dict[int, list[tuple[int, float]]] = {}
    for step in sorted(points):
        if name in points[step]:
            buckets.setdefault(step // width, []).append((step, points[step][name]))
    return [
        (found[-1][0], found[-1][1], min(v for _, v in found), max(v for _, v in found), len(found))
        for found in buckets.values()
    ]


def shown(one: Series) -> list[tuple[float, ...]]:
    return list(zip(one.steps, one.last, one.min, one.max, one.n, strict=True))


def check(session: Session, job: Job, points: Points, query: MetricQuery) -> None:
    first, last = query.from_step or 0, 10**9 if query.to_step is None else query.to_step
    first, last = max(first, min(points)), min(last, max(points))
    inside = {step: values for step, values in points.items() if first <= step <= last}
    names = {name for values in inside.values() for name in values}
    found = {one.name: one for one in series(session, job.id, query)[0]}
    assert found.keys() == (names & set(query.names) if query.names else names)
    for name, one in found.items():
        assert shown(one) == expected(inside, name, (first, last), query.max_points)
        total = fmean(values[name] for values in inside.values() if name in values)
        mean = sum(m * n for m, n in zip(one.mean, one.n, strict=True)) / sum(one.n)
        assert mean == pytest.approx(total, rel=1e-9, abs=1e-9)


@settings(max_examples=12, phases=[Phase.generate], suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    batches=BATCHES, max_points=st.sampled_from([1, 7, 60, 1000]), low=st.integers(0, 3000), width=st.integers(0, 3000)
)
def test_series_equal_buckets_of_points_after_any_batches(
    session: Session, job: Job, batches: list[Batch], max_points: int, low: int, width: int
) -> None:
    session.execute(delete(JobMetrics))
    session.execute(delete(JobMetricChunk))
    job.reward_line = None
    points: Points = {}
    newest = 0
    for number, batch in enumerate(batches):
        first = max(newest + batch.start, 0)
        newest = first + (batch.count - 1) * batch.stride
        store(session, job, points, range(first, newest + 1, batch.stride), number)
    for names in ((), ("kl", "nothing")):
        check(session, job, points, MetricQuery("ppo", names, max_points=max_points))
        check(session, job, points, MetricQuery("ppo", names, low, low + width, max_points))


def test_chunks_are_written_once_their_end_is_passed(session: Session, job: Job) -> None:
    points: Points = {}
    store(session, job, points, range(128))
    assert session.scalar(select(func.count()).select_from(JobMetricChunk)) == 0
    store(session, job, points, [128])
    found = session.scalars(select(JobMetricChunk).order_by(JobMetricChunk.name)).all()
    assert [(row.name, row.level, row.chunk, len(row.steps), sum(row.n)) for row in found] == [
        ("kl", 1, 0, 32, 128),
        ("win_rate", 1, 0, 3, 3),
    ]


def test_chunk_count_stays_small_in_a_long_run(session: Session, job: Job) -> None:
    """Level 1 has a chunk for each 128 steps, each other level a quarter of the level below."""
    store(session, job, {}, range(1, 1500))
    by_level = select(JobMetricChunk.level, func.count()).where(JobMetricChunk.name == "kl").group_by("level")
    assert {tuple(row) for row in session.execute(by_level)} == {(1, 11), (2, 2)}


def test_repeated_steps_replace_all_later_ones(session: Session, job: Job) -> None:
    points: Points = {}
    store(session, job, points, range(1, 601))
    store(session, job, points, [200], number=1)
    (kl,) = series(session, job.id, MetricQuery(names=["kl"]))[0]
    assert (kl.steps[-1], kl.last[-1]) == (200, values_at(200, 1)["kl"])
    assert session.scalar(select(func.max(JobMetricChunk.chunk)).where(JobMetricChunk.level == 1)) == 0


def test_few_points_far_apart_stay_exact(session: Session, job: Job) -> None:
    store(session, job, {}, range(0, 1_000_001, 50_000))
    (rate,) = series(session, job.id, MetricQuery(names=["win_rate"], max_points=100))[0]
    assert not rate.bucketed and rate.steps == list(range(0, 1_000_001, 50_000))


@pytest.mark.parametrize("value", [1.7e308, -1.7e308, 5e-324, 1e-310, 0.0])
def test_extreme_values_are_stored_and_averaged(session: Session, job: Job, value: float) -> None:
    events = [Metrics(stage="ppo", step=step, total_steps=9, values={"x": value}) for step in range(700)]
    append_events(session, job.id, 1, events)
    (x,) = series(session, job.id, MetricQuery(names=["x"], max_points=50))[0]
    assert (set(x.min), set(x.max), set(x.last)) == ({value}, {value}, {value})
    assert x.mean == pytest.approx([value] * len(x.mean), rel=0.5, abs=1e-290)
