"""The sparkline of a job: at most 60 means, kept as points arrive."""

from statistics import fmean

import pytest
from sqlalchemy.orm import Session

from core.jobs.groups.groups import objective
from core.jobs.run.events import append_events
from core.jobs.run.sparkline import Sparkline, means
from core.models import Job
from tests.core.factories import make_job, running, step
from trainer.events import StageStarted


@pytest.fixture
def job(session: Session) -> Job:
    made = make_job(session)
    running(session, made)
    return made


@pytest.mark.parametrize(("steps", "points"), [(1, 1), (60, 60), (61, 31), (500, 32), (100_000, 49)])
def test_sparkline_has_at_most_sixty_means(steps: int, points: int) -> None:
    line = Sparkline(0, [])
    for number in range(1, steps + 1):
        line.add(number, float(number))
    drawn = means(line.as_column())
    assert len(drawn) == points and drawn == sorted(drawn)
    assert sum(n for _, _, n in line.buckets) == steps


def test_sparkline_without_points_is_null() -> None:
    assert Sparkline.stored(None).as_column() is None and means(None) == []


def test_sparkline_of_a_job_has_the_means_of_buckets(session: Session, job: Job) -> None:
    for number in range(1, 101):
        append_events(session, job.id, 1, [step(number)])
    scores = [0.1 * number for number in range(1, 101)]
    assert job.reward_line is not None and job.reward_line["bits"] == 1
    assert means(job.reward_line) == pytest.approx(
        [scores[0], *[fmean(scores[first : first + 2]) for first in range(1, 100, 2)]]
    )


def test_sparkline_after_repeated_steps_is_that_of_the_rest(session: Session, job: Job) -> None:
    append_events(session, job.id, 1, [step(number) for number in range(1, 5001)])
    append_events(session, job.id, 1, [step(number) for number in range(3000, 3011)])
    line = Sparkline(0, [])
    for number in range(1, 3011):
        line.add(number, 0.1 * number)
    assert job.reward_line is not None and job.reward_line["bits"] == line.bits
    assert means(job.reward_line) == pytest.approx(means(line.as_column()))


def test_latest_metrics_are_of_the_current_stage(session: Session, job: Job) -> None:
    append_events(session, job.id, 1, [step(1, kl=0.5, win_rate=0.6), step(2, kl=0.7)])
    assert job.latest_metrics == {"objective/scores": 0.2, "kl": 0.7, "win_rate": 0.6}
    append_events(session, job.id, 1, [step(2, kl=0.9).model_copy(update={"stage": "evaluation"})])
    assert job.latest_metrics == {"objective/scores": 0.2, "kl": 0.9}


def test_metrics_of_earlier_stages_are_kept(session: Session, job: Job) -> None:
    append_events(session, job.id, 1, [step(1, **{"reward/length": 0.5, "kl": 1.0}), step(2, kl=2.0)])
    evaluation = StageStarted(stage="evaluation", total_steps=1)
    append_events(session, job.id, 1, [evaluation, step(1, kl=3.0).model_copy(update={"stage": "evaluation"})])
    assert job.earlier_metrics == {"objective/scores": 0.2, "reward/length": 0.5, "kl": 2.0}
    assert (objective(job, "reward/length"), objective(job, "kl")) == (0.5, 3.0)
