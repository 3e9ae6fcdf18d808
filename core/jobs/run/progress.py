"""The progress of a job, computed from its events."""

from datetime import UTC, datetime

from core.models import Job
from data.findings import Described
from trainer.events import Event, Metrics, RunStarted, SeedFinished, StageFinished, StageStarted
from trainer.spec import StageName

WEIGHTS: dict[StageName, float] = {
    "sft": 1.0,
    "reward_model": 1.0,
    "dpo": 1.0,
    "kto": 1.0,
    "ppo": 6.0,
    "evaluation": 1.0,
}
"""Estimated shares of the stages in the time of a run. PPO takes the most, since it samples as well as trains."""
SMOOTHING = 0.2
"""Weight of the newest step in the moving average of the seconds per step."""


def apply_event(job: Job, event: Event) -> None:
    """Update the progress columns of the job's row: with several seeds, those of the seed that runs."""
    if event.seed is not None and event.seed != job.seed:
        _begin_seed(job, event.seed)
    match event:
        case RunStarted():
            job.plan = [stage.model_dump() for stage in event.stages]
        case StageStarted():
            job.stage, job.step, job.total_steps = event.stage, event.start_step, event.total_steps
            job.earlier_metrics = job.earlier_metrics | job.latest_metrics
            job.step_at, job.step_seconds, job.latest_metrics = _when(event), None, {}
        case Metrics():
            _count_step(job, event)
        case StageFinished() if event.stage == job.stage:
            job.step = job.total_steps
    if job.stage is not None and not isinstance(
        event, SeedFinished
    ):  # core/jobs/run/seeds.py counts the finished seeds
        job.fraction = _fraction(job, job.stage) if event.seed == job.seed else job.fraction


def _begin_seed(job: Job, seed: int) -> None:
    """Another seed runs. It starts with the first stage, or resumes: its `stage_started` then names the stage and step."""
    job.seed = seed
    if job.plan:
        job.stage, job.step, job.total_steps = job.plan[0]["stage"], 0, job.plan[0]["total_steps"]
    job.step_at, job.step_seconds, job.latest_metrics, job.earlier_metrics = None, None, {}, {}


def _count_step(job: Job, event: Metrics) -> None:
    at, steps = _when(event), event.step - (job.step or 0)
    if event.stage == job.stage and job.step_at is not None and steps > 0:
        seconds = max((at - job.step_at).total_seconds(), 0.0) / steps
        before = seconds if job.step_seconds is None else job.step_seconds
        job.step_seconds = SMOOTHING * seconds + (1 - SMOOTHING) * before
    goes_on = event.stage == job.stage and steps > 0
    job.latest_metrics = (job.latest_metrics if goes_on else {}) | event.values
    job.stage, job.step, job.total_steps, job.step_at = event.stage, event.step, event.total_steps, at


class Progress(Described):
    """Progress of a job."""

    stage: str
    """The current stage."""
    step: int
    """Completed steps of the stage."""
    total_steps: int
    """Steps of the stage."""
    at_most: bool
    """Whether the stage may have fewer steps than `total_steps`: value pretraining of the critic ends by what it reaches."""
    stage_index: int
    """Index of the stage, from 0."""
    stage_count: int
    """Number of stages of the run."""
    fraction: float
    """Completed share of the whole run, 0 to 1. Stages are weighted roughly by their duration."""
    step_fraction: float
    """Share of the whole run that one step of this stage is: `fraction` grows by it with each step."""
    eta_seconds: float | None
    """Seconds until the end of the current stage; null while unknown."""
    seeds_done: int
    """Finished seeds of a job with several seeds."""
    seed_count: int
    """Number of seeds of the job."""
    seed: int | None
    """The seed that runs or ran last, to which stage and step belong; null in a job with one seed."""
    seeds_eta_seconds: float | None
    """Seconds until the last seed ends, by the mean duration of the finished ones; null before the first, and with one seed."""


def progress(job: Job, now: datetime | None = None) -> Progress | None:
    """The progress of a job, at the present time if `now` is left out; None before the trainer has started a stage."""
    if job.stage is None:
        return None
    stages = _stages(job, job.stage)
    step, total = job.step or 0, job.total_steps or 0
    return Progress(
        stage=job.stage,
        step=step,
        total_steps=total,
        at_most=job.status != "succeeded" and total == _most_steps(job, job.stage),
        stage_index=stages.index(job.stage) if job.stage in stages else 0,
        stage_count=len(stages),
        fraction=1.0 if job.status == "succeeded" else job.fraction or 0.0,
        step_fraction=_weight(stages, job.stage) / _seed_count(job) / total if total else 0.0,
        eta_seconds=_eta(job, total - step, now or datetime.now(UTC)),
        seeds_done=job.seeds_done,
        seed_count=_seed_count(job),
        seed=job.seed,
        seeds_eta_seconds=_seeds_eta(job),
    )


def _stages(job: Job, stage: str) -> list[str]:
    return [planned["stage"] for planned in job.plan or []] or [stage]


def _most_steps(job: Job, stage: str) -> int | None:
    """The most steps that the plan allows the stage; None where the plan has their number. The trainer reports fewer later."""
    most = [
        planned["total_steps"] for planned in job.plan or [] if planned["stage"] == stage and planned.get("at_most")
    ]
    return most[0] if most else None


def _seed_count(job: Job) -> int:
    return int(job.spec.get("seeds", 1))


def _fraction(job: Job, stage: str) -> float:
    """The finished fraction of all seeds, from 0 to 1: the finished ones, and the progress of the one that runs."""
    stages = _stages(job, stage)
    index = stages.index(stage) if stage in stages else 0
    within = min((job.step or 0) / job.total_steps, 1.0) if job.total_steps else 0.0
    own = sum(_weight(stages, planned) for planned in stages[:index]) + _weight(stages, stages[index]) * within
    return min((job.seeds_done + own) / _seed_count(job), 1.0)


def _weight(stages: list[str], stage: str) -> float:
    """The share of a stage in the run, from 0 to 1."""
    weights: dict[str, float] = {planned: WEIGHTS.get(planned, 1.0) for planned in stages}  # type: ignore[call-overload]
    return weights.get(stage, 0.0) / sum(weights.values())


def _eta(job: Job, steps_left: int, now: datetime) -> float | None:
    if job.status != "running" or job.step_seconds is None or job.step_at is None:
        return None
    since = (now - job.step_at).total_seconds()
    return max(steps_left * job.step_seconds - max(since, 0.0), 0.0)


def _seeds_eta(job: Job) -> float | None:
    if job.status != "running" or job.seed_seconds is None or job.fraction is None:
        return None
    return job.seed_seconds * _seed_count(job) * (1 - job.fraction)


def _when(event: Event) -> datetime:
    return datetime.fromtimestamp(event.at, UTC)
