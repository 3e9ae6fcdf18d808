"""A job with several seeds: events, metrics, completions, progress and results of each."""

from collections.abc import Sequence

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from core.errors import InvalidRequest
from core.jobs.actions.retry import retry_job
from core.jobs.groups import groups
from core.jobs.lifecycle import attempts
from core.jobs.lifecycle.actors import PLATFORM
from core.jobs.run import metrics, samples, seeds
from core.jobs.run.events import append_events, events_after
from core.jobs.run.metrics import MetricQuery
from core.jobs.run.progress import progress
from core.jobs.run.samples import OneSeed, SampleQuery
from core.jobs.run.sparkline import mean_of, means
from core.models import Job, JobMetrics, JobSeed
from core.models.jobs import SCORE, JobStatus
from core.settings import Settings
from tests.core.factories import make_job, start_events, step
from trainer.events import Event, Health, RunFinished, Sample, Samples, SeedFinished, StageStarted


def of_seed(seed: int, events: Sequence[Event]) -> list[Event]:
    return [event.model_copy(update={"seed": seed}) for event in events]


def done(seed: int, number: int, seconds: float = 10.0, why: str | None = None, **summary: float) -> SeedFinished:
    return SeedFinished(
        seed=seed, number=number, of=3, seconds=seconds, summary=summary, collapsed=why is not None, why=why
    )


@pytest.fixture
def job(session: Session) -> Job:
    """A job of the seeds 4, 5 and 6, whose first seed has begun."""
    made = make_job(session, seed=4, seeds=3)
    assert attempts.claim(session, "wrk_1") is not None
    append_events(session, made.id, 1, of_seed(4, start_events()))
    return made


def test_metrics_of_several_seeds_are_kept_apart(session: Session, job: Job) -> None:
    for seed in (4, 5, 6):
        append_events(session, job.id, 1, of_seed(seed, [step(n, kl=seed + n / 10) for n in (1, 2)]))
    everything, last_seq = metrics.series(session, job.id, MetricQuery("ppo", ["kl"], seeds=(0, 1, 2)))
    assert [(one.seed_index, one.steps, one.last) for one in everything] == [
        (0, [1, 2], [4.1, 4.2]), (1, [1, 2], [5.1, 5.2]), (2, [1, 2], [6.1, 6.2]),
    ]  # fmt: skip
    assert last_seq == job.last_seq
    (second,), _ = metrics.series(session, job.id, MetricQuery("ppo", ["kl"], seeds=(1,)))
    assert second.last == [5.1, 5.2]
    assert [event.step for event in events_after(session, job.id, 0, 100, ["metrics"], 5)] == [1, 2]
    assert {event.seed for event in events_after(session, job.id, 0, 100, seed=6)} == {6}


def test_rollups_of_seeds_have_one_width_in_each_stage(session: Session, job: Job) -> None:
    for seed, steps in ((4, 600), (5, 600), (6, 40)):
        append_events(session, job.id, 1, of_seed(seed, [step(n, 600, kl=float(seed)) for n in range(1, steps + 1)]))
    found, _ = metrics.series(session, job.id, MetricQuery("ppo", ["kl"], max_points=50, seeds=(0, 1, 2)))
    assert [len(one.steps) for one in found] == [38, 38, 3]  # buckets of 16 steps
    assert all(one.mean == pytest.approx([4.0 + number] * len(one.mean)) for number, one in enumerate(found))
    assert found[2].steps == [15, 31, 40]


def test_step_repeated_in_one_seed_leaves_the_others(session: Session, job: Job) -> None:
    for seed in (4, 5):
        append_events(session, job.id, 1, of_seed(seed, [step(n, 400, kl=1.0) for n in range(1, 301)]))
    attempts.release(session, job.id, 1, "")
    assert attempts.claim(session, "wrk_2") is not None
    append_events(session, job.id, 2, of_seed(5, [*start_events(start_step=200), step(201, 400, kl=9.0)]))
    rows = session.execute(
        select(JobMetrics.seed_index, func.count(), func.max(JobMetrics.step)).group_by(JobMetrics.seed_index)
    ).all()
    assert sorted(tuple(row) for row in rows) == [(0, 300, 300), (1, 201, 201)]
    found, _ = metrics.series(session, job.id, MetricQuery("ppo", ["kl"], max_points=100, seeds=(0, 1)))
    assert [(one.steps[-1], one.last[-1]) for one in found] == [(300, 1.0), (201, 9.0)]


def test_samples_of_several_seeds_are_found_by_seed(session: Session, job: Job) -> None:
    for seed in (4, 5):
        rows = [Sample(prompt="p", response=f"of {seed}", score=float(seed))]
        append_events(session, job.id, 1, of_seed(seed, [Samples(stage="ppo", step=7, rows=rows)]))
    first = OneSeed(4, 4)
    found = samples.samples_at(session, job.id, "ppo", 7, first)
    assert found is not None and found.data["rows"][0]["response"] == "of 4"
    assert samples.sample_steps(session, job.id, None) == [(4, "ppo", 7), (5, "ppo", 7)]
    assert samples.sample_steps(session, job.id, None, first) == [(4, "ppo", 7)]
    both = samples.search(session, job.id, SampleQuery(order="lowest"))
    assert [(row["seed"], row["response"]) for row in both.rows] == [(4, "of 4"), (5, "of 5")]
    one = samples.search(session, job.id, SampleQuery(seed=OneSeed(5, 4), prompt_of=("ppo", 7, 0)))
    assert [row["response"] for row in one.rows] == ["of 5"]


def test_samples_without_seed_are_those_of_the_first(session: Session, job: Job) -> None:
    """Versions before this one stored the completions of the first seed without a seed."""
    append_events(session, job.id, 1, [Samples(stage="ppo", step=1, rows=[Sample(prompt="p", response="old")])])
    assert samples.samples_at(session, job.id, "ppo", 1, OneSeed(4, 4)) is not None
    assert samples.samples_at(session, job.id, "ppo", 1, OneSeed(5, 4)) is None


def test_progress_counts_finished_seeds_and_the_present_one(session: Session, job: Job) -> None:
    append_events(session, job.id, 1, of_seed(4, [step(5)]))
    now = progress(job)
    assert now is not None and (now.seed, now.seeds_done, now.seed_count) == (4, 0, 3)
    assert now.fraction == pytest.approx((1 + 6 * 0.5) / 7 / 3) and now.seeds_eta_seconds is None
    append_events(session, job.id, 1, [*of_seed(4, [step(10)]), done(4, 1, 60.0, win_rate=0.5)])
    now = progress(job)
    assert now is not None and (now.seeds_done, now.seeds_eta_seconds) == (1, pytest.approx(120.0))
    append_events(session, job.id, 1, of_seed(5, start_events()[:1]))
    now = progress(job)
    assert now is not None and (now.seed, now.stage, now.step, now.fraction) == (5, "sft", 0, pytest.approx(1 / 3))
    append_events(session, job.id, 1, of_seed(5, [*start_events()[1:], step(5)]))
    now = progress(job)
    assert now is not None and now.fraction == pytest.approx((1 + (1 + 6 * 0.5) / 7) / 3)


def test_results_have_a_state_and_figures_of_each_seed(session: Session, job: Job) -> None:
    append_events(session, job.id, 1, [*of_seed(4, [step(10)]), done(4, 1, win_rate=0.5, best_step=6.0)])
    append_events(session, job.id, 1, [*of_seed(5, start_events()), done(5, 2, why="It diverged.")])
    found, summary = seeds.results(session, job)
    assert summary == {"win_rate": 0.5, "seeds": 2, "collapsed_seeds": 1, "failed_seeds": 1, "best_seed": 4}
    assert [(one.seed, one.status, one.summary, one.why) for one in found] == [
        (4, "finished", {"win_rate": 0.5, "best_step": 6.0}, None),
        (5, "collapsed", {}, "It diverged."),
        (6, "waiting", None, None),
    ]
    assert seeds.results(session, make_job(session)) == ([], None)
    append_events(session, job.id, 1, of_seed(6, [*start_events(), step(3)]))
    assert [one.status for one in seeds.results(session, job)[0]] == ["finished", "collapsed", "running"]
    attempts.finish(session, job.id, 1, JobStatus.FAILED, "x", error={"code": "x", "message": "x"})
    assert [one.status for one in seeds.results(session, job)[0]] == ["finished", "collapsed", "stopped"]


def test_retry_repeats_failed_seeds_and_keeps_finished(session: Session, job: Job) -> None:
    append_events(session, job.id, 1, [done(4, 1, win_rate=0.5), done(5, 2, why="It diverged.")])
    attempts.finish(session, job.id, 1, JobStatus.FAILED, "x", error={"code": "x", "message": "x"})
    retry_job(session, job, PLATFORM, Settings())
    assert [(row.seed, row.seconds) for row in session.scalars(select(JobSeed))] == [(4, 10.0)]
    assert job.seeds_done == 1 and [one.status for one in seeds.results(session, job)[0]][:2] == ["finished", "waiting"]


def test_latest_metrics_of_finished_seeds_are_their_mean(session: Session, job: Job) -> None:
    for number, seed in enumerate((4, 5, 6), 1):
        append_events(session, job.id, 1, of_seed(seed, [*start_events(), step(10, kl=float(seed))]))
        assert job.latest_metrics["kl"] == seed
        append_events(session, job.id, 1, [done(seed, number, win_rate=0.5)])
    append_events(session, job.id, 1, [RunFinished(seconds=1.0, summary={})])
    assert job.latest_metrics == {"kl": 5.0, "objective/scores": 1.0}


def test_earlier_metrics_of_finished_seeds_are_their_mean(session: Session, job: Job) -> None:
    for number, seed in enumerate((4, 5, 6), 1):
        ppo = [*start_events(), step(10, **{"reward/length": float(seed)})]
        evaluation = StageStarted(stage="evaluation", total_steps=1)
        append_events(session, job.id, 1, of_seed(seed, [*ppo, evaluation]))
        assert job.earlier_metrics["reward/length"] == seed
        append_events(session, job.id, 1, [done(seed, number, win_rate=0.5)])
    append_events(session, job.id, 1, [RunFinished(seconds=1.0, summary={})])
    assert groups.objective(job, "reward/length") == 5.0


def test_latest_metrics_of_seeds_have_no_mean_of_steps_or_bounds(session: Session, job: Job) -> None:
    figures = {"eval/best_step": 2.0, "best_step": 2.0, "win_rate": 0.5, "win_rate_low": 0.3, "win_rate_high": 0.7}
    for number, seed in enumerate((4, 5, 6), 1):
        append_events(session, job.id, 1, [*of_seed(seed, [step(10, **figures)]), done(seed, number, win_rate=0.5)])
    append_events(session, job.id, 1, [RunFinished(seconds=1.0, summary={})])
    assert job.latest_metrics == {"win_rate": 0.5, "objective/scores": 1.0}


def test_sparkline_of_several_seeds_is_their_mean(session: Session, job: Job) -> None:
    append_events(session, job.id, 1, of_seed(4, [step(1), step(2)]))  # .1, .2
    append_events(session, job.id, 1, of_seed(5, [step(1, **{"objective/scores": 0.5})]))
    assert means(job.reward_line) == pytest.approx([0.3, 0.2])


def test_sparkline_leaves_out_a_seed_that_failed(session: Session, job: Job) -> None:
    append_events(session, job.id, 1, [*of_seed(4, [step(1), step(2)]), done(4, 1, win_rate=0.5)])
    failed = of_seed(5, [step(1, **{"objective/scores": 0.5})])
    append_events(session, job.id, 1, [*failed, done(5, 2, why="It diverged.")])
    assert means(job.reward_line) == pytest.approx([0.1, 0.2])


def test_sparkline_of_failed_seeds_alone_is_their_mean(session: Session, job: Job) -> None:
    for number, seed in enumerate((4, 5), 1):
        line = of_seed(seed, [step(1, **{"objective/scores": seed / 10})])
        append_events(session, job.id, 1, [*line, done(seed, number, why="It diverged.")])
    assert means(job.reward_line) == pytest.approx([0.45])


def test_objective_of_several_seeds_is_their_mean_score(session: Session, job: Job) -> None:
    append_events(session, job.id, 1, of_seed(4, [step(1)]))  # .1
    append_events(session, job.id, 1, of_seed(5, [step(1, **{"objective/scores": 0.5})]))
    assert groups.objective(job, SCORE) == pytest.approx(0.3)


def test_mean_of_lines_of_other_widths_uses_the_wider() -> None:
    fine = {"bits": 0, "buckets": [[0, 1.0, 1], [1, 3.0, 1], [2, 8.0, 1]]}
    wide = {"bits": 1, "buckets": [[0, 4.0, 2]]}
    assert mean_of([fine, wide, None]) == {"bits": 1, "buckets": [[0, 3.0, 2], [1, 8.0, 1]]}
    assert mean_of([None]) is None


def test_finding_of_a_seed_names_it(session: Session, job: Job) -> None:
    finding = Health(
        stage="ppo", step=1, rule="r", action="warn", limit=1.0, cause="c", evidence=[], suggestion="s", seed=5
    )
    append_events(session, job.id, 1, [finding])
    (stored,) = events_after(session, job.id, 0, 100, ["health"])
    assert stored.seed == 5 and "seed" not in stored.data


def test_seed_that_the_job_lacks_is_refused(session: Session, job: Job) -> None:
    with pytest.raises(InvalidRequest, match=r"has no seed 7\. It has: 4 to 6\."):
        seeds.asked_index(job, 7)
    with pytest.raises(ValueError, match="not in range"):
        append_events(session, job.id, 1, of_seed(7, [step(1)]))
