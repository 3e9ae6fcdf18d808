"""The seeds of a job with several: which they are, how far each has come, and their results.

A job with several seeds runs `seed`, `seed` + 1, … one after the other. Its events name their seed. Its metrics are keyed by
the index of the seed. The index is 0 in a job with one seed, which has no rows here.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from statistics import fmean
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from core.errors import InvalidRequest
from core.jobs.run import sparkline
from core.models import Job, JobSeed
from core.models.jobs import TERMINAL
from data.findings import Described
from trainer.events import Event, Metrics, RunFinished, RunStarted, SeedFinished, StageFinished, StageStarted
from trainer.events.seed_summary import SeedOutcome, summary_of

_OWN = ("eval/best_step", "best_step")
"""Metrics without a mean over seeds: a mean of steps is no step."""
_BOUNDS = ("_low", "_high")
"""Ends of names whose mean over seeds is no bound. The bounds over seeds are in the summary."""


class SeedStatus(StrEnum):
    """The state of one seed."""

    WAITING = "waiting"
    """It has not begun."""
    RUNNING = "running"
    """It runs, or continues when the job does."""
    STOPPED = "stopped"
    """The job ended before it."""
    FINISHED = "finished"
    """It came to its end and did not collapse."""
    COLLAPSED = "collapsed"
    """It ended worse than it began, diverged, or was stopped by a health rule."""


class SeedResult(Described):
    """One seed of a job with several."""

    seed: int
    """The seed."""
    status: SeedStatus
    """Its state."""
    stage: str | None
    """Its current or last stage; null before the first."""
    step: int | None
    """Completed steps of the stage; null before the first stage."""
    total_steps: int | None
    """Steps of the stage; null before the first stage."""
    seconds: float | None
    """Duration of its run; null until it is done."""
    summary: dict[str, float] | None
    """Its own figures, such as `best_step`, with intervals over prompts. Empty if it failed; null until it is done."""
    why: str | None
    """How it collapsed or failed; null if it did not."""


def seeds_of(job: Job) -> range:
    """All seeds of the job, in their order."""
    first = int(job.spec.get("seed", 0))
    return range(first, first + int(job.spec.get("seeds", 1)))


def index_of(job: Job, seed: int | None) -> int:
    """The key of a seed's metrics; 0 for None. Raises ValueError for a seed that the job does not have."""
    return 0 if seed is None else seeds_of(job).index(seed)


def asked_index(job: Job, seed: int) -> int:
    """The index of a seed that a request names. Raises InvalidRequest for a seed that the job does not have."""
    seeds = seeds_of(job)
    if seed not in seeds:
        have = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
        raise InvalidRequest(f"{job.id} has no seed {seed}. It has: {have}.", param="seed")
    return index_of(job, seed)


def rows_of(session: Session, job: Job) -> Sequence[JobSeed]:
    """The rows of the seeds that have begun, in order."""
    return session.scalars(select(JobSeed).filter_by(job_id=job.id).order_by(JobSeed.seed)).all()


def started_seeds(session: Session, job: Job, events: Sequence[Event]) -> dict[int, JobSeed]:
    """The rows of the events' seeds, made for those that begin. Raises ValueError for a seed that the job does not have."""
    rows: dict[int, JobSeed] = {}
    for seed in dict.fromkeys(event.seed for event in events if event.seed is not None):
        index_of(job, seed)
        row = session.get(JobSeed, (job.id, seed))
        if row is None:
            row = JobSeed(job_id=job.id, seed=seed, latest_metrics={}, earlier_metrics={})
            session.add(row)
        rows[seed] = row
    if rows:
        session.flush()
    return rows


def apply_to_seed(session: Session, job: Job, event: Event, seeds: Mapping[int, JobSeed]) -> None:
    """Update the row of the event's seed; at the end of the run, the job's means over the seeds."""
    if event.seed is None:
        if isinstance(event, RunFinished) and len(seeds_of(job)) > 1:
            ended = [row for row in rows_of(session, job) if row.summary]
            job.latest_metrics = _means([row.latest_metrics for row in ended])
            job.earlier_metrics = _means([row.earlier_metrics for row in ended])
        return
    row = seeds[event.seed]
    match event:
        case RunStarted():
            row.seconds, row.summary, row.why_collapsed = None, None, None
        case StageStarted():
            row.earlier_metrics = row.earlier_metrics | row.latest_metrics
            row.stage, row.step, row.total_steps, row.latest_metrics = (
                event.stage,
                event.start_step,
                event.total_steps,
                {},
            )
        case Metrics():
            goes_on = event.stage == row.stage and event.step > (row.step or 0)
            row.latest_metrics = (row.latest_metrics if goes_on else {}) | event.values
            row.stage, row.step, row.total_steps = event.stage, event.step, event.total_steps
        case StageFinished() if event.stage == row.stage:
            row.step = row.total_steps
        case SeedFinished():
            row.seconds, row.summary, row.why_collapsed = event.seconds, event.summary, event.why
            _count_finished(session, job)


def draw_mean(session: Session, job: Job) -> None:
    """Draw the job's sparkline again: the mean of the seeds that have not failed, or of all if each one has."""
    rows = rows_of(session, job)
    sound = [row for row in rows if row.seconds is None or row.summary]
    job.reward_line = sparkline.mean_of([row.reward_line for row in sound or rows])


def _count_finished(session: Session, job: Job) -> None:
    session.flush()
    draw_mean(session, job)
    done = [row for row in rows_of(session, job) if row.seconds is not None]
    job.seeds_done = len(done)
    durations = [row.seconds for row in done if row.summary and row.seconds is not None]
    job.seed_seconds = fmean(durations) if durations else None
    job.fraction = job.seeds_done / len(seeds_of(job))


def _means(figures: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    names = dict.fromkeys(name for one in figures for name in one if name not in _OWN and not name.endswith(_BOUNDS))
    return {name: fmean([one[name] for one in figures if name in one]) for name in names}


def forget_failed(session: Session, job: Job) -> None:
    """Delete the results of seeds that failed, so that a retry runs them again. Those that came to an end are kept."""
    for row in rows_of(session, job):
        if row.seconds is not None and not row.summary:
            session.execute(delete(JobSeed).filter_by(job_id=job.id, seed=row.seed))
            session.expunge(row)
    _count_finished(session, job)


def outcome_of(row: JobSeed) -> SeedOutcome | None:
    """How the seed ended; None until it is done."""
    if row.seconds is None:
        return None
    return SeedOutcome(row.seed, row.seconds, row.summary or {}, not row.summary, row.why_collapsed)


def results(session: Session, job: Job) -> tuple[list[SeedResult], dict[str, float] | None]:
    """All seeds of a job with several, and the summary over those that are done; for a job with one, none and None."""
    seeds = seeds_of(job)
    if len(seeds) == 1:
        return [], None
    rows = {row.seed: row for row in rows_of(session, job)}
    outcomes = [outcome for row in rows.values() if (outcome := outcome_of(row))]
    return [_result(job, seed, rows.get(seed)) for seed in seeds], summary_of(outcomes) if outcomes else None


def _result(job: Job, seed: int, row: JobSeed | None) -> SeedResult:
    if row is None:
        status = SeedStatus.STOPPED if job.status in TERMINAL else SeedStatus.WAITING
        return SeedResult(
            seed=seed, status=status, stage=None, step=None, total_steps=None, seconds=None, summary=None, why=None
        )
    return SeedResult(
        seed=seed,
        status=_status(job, row),
        stage=row.stage,
        step=row.step,
        total_steps=row.total_steps,
        seconds=row.seconds,
        summary=row.summary,
        why=row.why_collapsed,
    )


def _status(job: Job, row: JobSeed) -> SeedStatus:
    if row.seconds is not None:
        return SeedStatus.FINISHED if row.why_collapsed is None else SeedStatus.COLLAPSED
    return SeedStatus.STOPPED if job.status in TERMINAL else SeedStatus.RUNNING
