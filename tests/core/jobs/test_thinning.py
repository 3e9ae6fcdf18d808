"""The exact steps of jobs that ended long ago are deleted; their roll-ups, newest steps and results stay."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from core.errors import JobNotEnded
from core.jobs.actions.retry import retry_job
from core.jobs.checkpoints.checkpoints import record_checkpoint
from core.jobs.lifecycle import attempts
from core.jobs.lifecycle.actors import PLATFORM
from core.jobs.run.events import append_events, events_after
from core.jobs.run.metrics import MetricQuery, Series, series
from core.jobs.run.sparkline import means
from core.jobs.run.thinning import jobs_with_old_metrics, thin_metrics
from core.models import Checkpoint, Job, JobMetricChunk, JobMetrics
from core.models.jobs import JobStatus
from core.settings import Settings
from tests.core.factories import make_job, running, start_events, step
from trainer.events import CheckpointSaved, CriticCard, Event
from trainer.events.critic_card import Critic
from worker.sweeper import HourlySweep, sweep_old_metrics

STEPS = 600
"""Level 1 has them up to step 511: 4 chunks of 128 steps, the first with step 0 missing."""


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"metric_days": 30.0})


def log(first: int, last: int) -> list[Event]:
    """Steps with a metric that is the step's number, and one at every hundredth step."""
    rare = {"eval/win_rate": 0.5}
    return [step(n, STEPS, kl=n, **(rare if n % 100 == 0 else {})) for n in range(first, last + 1)]


def card(at: int) -> Event:
    """A card without details."""
    figures = dict.fromkeys(("value", "returns", "returns_std", "td_error", "calibration_error"), 0.5)
    details = dict[str, list[float]].fromkeys(("by_position", "calibration", "by_length", "worst"), [])
    card = Critic.model_validate({"responses": 4, "tokens": 20, **figures, **details})
    return CriticCard(stage="ppo", step=at, card=card)


def saved(session: Session, job: Job, at: int, *, final: bool = False) -> Checkpoint:
    event = CheckpointSaved(stage="ppo", step=at, path=f"checkpoints/ppo-{at:06d}", final=final)
    return record_checkpoint(session, job.id, job.attempt, event, [], f"at/{at}")


def ended(session: Session, job: Job, status: JobStatus = JobStatus.SUCCEEDED, days_ago: int = 31) -> Job:
    error = {"code": "diverged", "message": ""} if status is JobStatus.FAILED else None
    summary = {"win_rate": 0.75} if status is JobStatus.SUCCEEDED else None
    attempts.finish(session, job.id, job.attempt, status, "", error=error, summary=summary)
    job.finished_at = datetime.now(UTC) - timedelta(days=days_ago)
    session.commit()
    return job


def a_run(session: Session, checkpoints: Sequence[int] = (), status: JobStatus = JobStatus.SUCCEEDED) -> Job:
    job = make_job(session)
    running(session, job)
    append_events(session, job.id, job.attempt, log(1, STEPS))
    for at in checkpoints:
        saved(session, job, at)
    return ended(session, job, status)


def kept(session: Session, job: Job) -> list[tuple[int, int]]:
    """The first and last step of each gapless range of stored steps."""
    ranges: list[tuple[int, int]] = []
    for found in session.scalars(select(JobMetrics.step).filter_by(job_id=job.id).order_by(JobMetrics.step)):
        if ranges and ranges[-1][1] == found - 1:
            ranges[-1] = (ranges[-1][0], found)
        else:
            ranges.append((found, found))
    return ranges


def of(session: Session, job: Job, name: str = "kl", **query: int) -> Series:
    (one,) = series(session, job.id, MetricQuery("ppo", [name], **query))[0]  # type: ignore[arg-type]
    return one


def test_old_metrics_are_thinned_with_an_event(session: Session, settings: Settings) -> None:
    old = a_run(session)
    recent, short = a_run(session), make_job(session)
    recent.finished_at = datetime.now(UTC) - timedelta(days=29)
    running(session, short)
    append_events(session, short.id, short.attempt, log(1, 127))
    ended(session, short)
    line, latest = means(old.reward_line), dict(old.latest_metrics)
    HourlySweep().sweep(settings)
    session.refresh(old)
    assert kept(session, old) == [(512, 600)]
    assert [event.step for event in events_after(session, old.id, 0, 1000, ["metrics"])] == list(range(512, 601))
    assert (kept(session, recent), kept(session, short)) == ([(1, 600)], [(1, 127)])
    (event,) = events_after(session, old.id, 0, 10, ["message"])
    assert event.data["actor"] == {"kind": "platform", "id": None, "name": "metric retention"}
    assert "30 days after the end of the job" in event.data["text"] and "of 511 steps" in event.data["text"]
    assert old.metrics_thinned_at is not None and old.last_seq == event.seq
    assert (old.summary, means(old.reward_line), old.latest_metrics) == ({"win_rate": 0.75}, line, latest)
    sweep_old_metrics(settings)
    assert len(events_after(session, old.id, 0, 10, ["message"])) == 1
    sweep_old_metrics(settings.model_copy(update={"metric_days": None}))
    assert kept(session, recent) == [(1, 600)]


def test_thinned_run_keeps_a_critic_card_for_each_bucket(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    append_events(session, job.id, job.attempt, [*log(1, STEPS), *(card(n) for n in range(1, 11)), card(STEPS - 1)])
    ended(session, job)
    thin_metrics(session, job.id, 30)
    assert [event.step for event in events_after(session, job.id, 0, 100, ["critic_card"])] == [3, 7, 599]


def test_thinned_series_have_buckets_and_exact_newest_steps(session: Session) -> None:
    job = a_run(session)
    thin_metrics(session, job.id, 30)
    everything = of(session, job)
    assert everything.steps[:2] == [3, 7] and everything.n[:2] == [3, 4]
    assert (everything.min[1], everything.max[1], everything.mean[1], everything.last[1]) == (4, 7, 5.5, 7)
    assert sum(everything.n) == STEPS and everything.steps[-1] == STEPS
    assert of(session, job, from_step=520, to_step=530).steps == [523, 527, 530]
    assert of(session, job, from_step=100, to_step=110).steps == [103, 107]  # the bucket of 108 to 111 ends later
    assert of(session, job, "eval/win_rate", to_step=100).steps == [100]
    assert sum(of(session, job, max_points=10).n) == STEPS
    assert of(session, job, to_step=400, max_points=401).steps[-1] == 399


def test_thinned_series_equal_buckets_of_the_whole_run(session: Session) -> None:
    job = a_run(session)
    queries = [{"max_points": points} for points in (1, 5, 40, 150)]
    before = [of(session, job, **query) for query in queries]
    assert before[-1].bucketed
    thin_metrics(session, job.id, 30)
    assert [of(session, job, **query) for query in queries] == before


def test_a_retry_after_thinning_writes_the_rollups_again(session: Session, settings: Settings) -> None:
    whole = of(session, a_run(session), max_points=150)
    job = a_run(session, [100, 300], JobStatus.FAILED)
    thin_metrics(session, job.id, 30)
    assert kept(session, job) == [(1, 127), (256, 600)]  # the chunks of steps 101 and 301, and all after them
    retry_job(session, job, PLATFORM, settings)
    session.commit()
    with pytest.raises(JobNotEnded):
        thin_metrics(session, job.id, 30)
    append_events(session, job.id, running(session, job), log(101, STEPS))  # the newer checkpoint was damaged
    assert of(session, job, max_points=150) == whole
    job.metrics_thinned_at = datetime.now(UTC) - timedelta(days=60)
    ended(session, job)
    assert job.id in jobs_with_old_metrics(session, 30)
    thin_metrics(session, job.id, 30)
    assert kept(session, job) == [(512, 600)] and of(session, job, max_points=150) == whole


def test_a_job_without_checkpoints_that_may_be_retried_is_kept(session: Session, settings: Settings) -> None:
    job = a_run(session, status=JobStatus.FAILED)
    sweep_old_metrics(settings)
    session.refresh(job)
    assert kept(session, job) == [(1, STEPS)] and job.metrics_thinned_at is None
    assert events_after(session, job.id, 0, 10, ["message"]) == []


def test_each_seed_and_stage_is_thinned_by_its_own_steps(session: Session) -> None:
    job = make_job(session, seed=4, seeds=2)
    assert attempts.claim(session, "wrk_1") is not None
    for seed, last in ((4, 300), (5, 140)):
        events = [*start_events(), *log(1, last)]
        append_events(session, job.id, 1, [one.model_copy(update={"seed": seed}) for one in events])
    ended(session, job)
    assert thin_metrics(session, job.id, 30) == 255 + 127
    query = select(JobMetrics.seed_index, func.min(JobMetrics.step), func.max(JobMetrics.step))
    found = session.execute(
        query.where(JobMetrics.job_id == job.id).group_by(JobMetrics.seed_index).order_by("seed_index")
    )
    assert [tuple(row) for row in found] == [(0, 256, 300), (1, 128, 140)]
    assert {event.step for event in events_after(session, job.id, 0, 1000, ["metrics"], 5)} == set(range(128, 141))
    first, second = series(session, job.id, MetricQuery("ppo", ["kl"], seeds=(0, 1)))[0]
    assert (sum(first.n), sum(second.n)) == (300, 140)


def test_thinning_leaves_a_branch_and_its_history(session: Session) -> None:
    """A branch has metrics of its own, and draws those of its parent up to the step that it starts from."""
    job = a_run(session, [200, 300])
    made = make_job(session)
    running(session, made)
    append_events(session, made.id, made.attempt, log(201, 210))
    thin_metrics(session, job.id, 30)
    assert kept(session, made) == [(201, 210)] and of(session, made).n == [1] * 10
    assert of(session, job, to_step=200, max_points=201).steps[-1] == 199
    assert session.scalar(select(func.count()).select_from(JobMetricChunk).filter_by(job_id=made.id)) == 0
