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
    """Update the progress columns of the job's row."""
    match event:
        case RunStarted():
            job.plan = [stage.model_dump() for stage in event.stages]
        case StageStarted():
            job.stage, job.step, job.total_steps = event.stage, event.start_step, event.total_steps
            job.step_at, job.step_seconds, job.latest_metrics = _when(event), None, {}
        case Metrics():
            _count_step(job, event)
        case StageFinished() if event.stage == job.stage:
            job.step = job.total_steps
        case SeedFinished():
            job.seeds_done = max(job.seeds_done, event.number)


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
    stage_index: int
    """Index of the stage, from 0."""
    stage_count: int
    """Number of stages of the run."""
    fraction: float
    """Completed share of the whole run, 0 to 1. Stages are weighted roughly by their duration."""
    eta_seconds: float | None
    """Seconds until the end of the current stage; null while unknown."""
    seeds_done: int
    """Finished seeds of a job with several seeds. Stage and step are those of the first seed."""
    seed_count: int
    """Number of seeds of the job."""


def progress(job: Job) -> Progress | None:
    """The progress of a job; None before the trainer has started a stage."""
    if job.stage is None:
        return None
    stages = [stage["stage"] for stage in job.plan or []] or [job.stage]
    index = stages.index(job.stage) if job.stage in stages else 0
    step, total = job.step or 0, job.total_steps or 0
    seeds = int(job.spec.get("seeds", 1))
    share = 1.0 if job.status == "succeeded" else (job.seeds_done or _fraction(job, stages, index)) / seeds
    return Progress(
        stage=job.stage,
        step=step,
        total_steps=total,
        stage_index=index,
        stage_count=len(stages),
        fraction=share,
        eta_seconds=_eta(job, total - step),
        seeds_done=job.seeds_done,
        seed_count=seeds,
    )


def _fraction(job: Job, stages: list[str], index: int) -> float:
    """The finished fraction of one seed's run, from 0 to 1."""
    weights: list[float] = [WEIGHTS.get(stage, 1.0) for stage in stages]  # type: ignore[call-overload]
    within = min((job.step or 0) / job.total_steps, 1.0) if job.total_steps else 0.0
    return (sum(weights[:index]) + weights[index] * within) / sum(weights)


def _eta(job: Job, steps_left: int) -> float | None:
    if job.status != "running" or job.seeds_done or job.step_seconds is None or job.step_at is None:
        return None
    since = (datetime.now(UTC) - job.step_at).total_seconds()
    return max(steps_left * job.step_seconds - max(since, 0.0), 0.0)


def _when(event: Event) -> datetime:
    return datetime.fromtimestamp(event.at, UTC)
