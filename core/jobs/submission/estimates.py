"""The expected time of a run, from the measured times of earlier runs of the same owner. No figure is guessed."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.models import Job, JobEvent
from core.models.jobs import JobStatus
from core.scheduling.matching import Requirement
from data.findings import Described
from trainer.preflight.report import StageEstimate
from trainer.spec import StageName

LOOKED_AT = 200
"""Newest successful jobs of the owner that are compared with the spec."""
USED = 10
"""Most runs that the time of one stage is based on, the newest."""
_OPTIMISED = ("batch_size", "micro_batch_size", "micro_batch_tokens", "optimizer", "offload_optimizer")
_SAMPLED = (
    "samples_per_prompt",
    "epochs",
    "minibatches",
    "max_new_tokens",
    "rollout",
    "critic",
    "reference",
    "teacher",
    "ptx",
)
_OF_RUN = ("model", "runtime", "data.max_prompt_tokens", "data.max_completion_tokens", "data.chat_template")


def _fields(section: str, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{section}.{name}" for name in names)


SHAPES: dict[StageName, tuple[str, ...]] = {
    "sft": (*_fields("sft", _OPTIMISED), "sft.turns"),
    "reward_model": (*_fields("reward_model", _OPTIMISED), "reward_model.loss"),
    "dpo": _fields("dpo", _OPTIMISED),
    "kto": _fields("kto", _OPTIMISED),
    "ppo": (
        *_fields("ppo", (*_OPTIMISED, *_SAMPLED, "stop", "online", "optimal_value", "eval_every")),
        "ppo.advantage.baseline",
        "ppo.critic.pretraining",
        "ppo.curriculum",
        "rewards",
        "evaluation.prompts",
        "evaluation.judge",
    ),
    "evaluation": (
        *_fields("evaluation", ("prompts", "batch_size", "max_new_tokens", "judge", "against", "keep_best", "pass_at")),
        "ppo.max_new_tokens",
        "rewards",
    ),
}
"""The fields that decide the time of a step of each stage, in addition to the model, the device and the limits of lengths."""


class StageTime(Described):
    """The expected time of one stage."""

    stage: StageName
    """The stage."""
    steps: int
    """Its number of steps."""
    seconds_per_step: float | None
    """Median over `jobs`; null without any."""
    seconds: float | None
    """`steps` times `seconds_per_step`, for one seed."""
    jobs: list[str]
    """The earlier jobs that the figure is based on, newest first."""


class RunTime(Described):
    """The expected time of a run. It leaves out the queue, the download of inputs and the loading of models."""

    seconds: float | None
    """Sum over all stages and seeds; null if a stage has no figure."""
    gpu_hours: float | None
    """`seconds` on all GPUs of the job, in hours. A process without a GPU counts as one GPU, which is the rule of quotas."""
    device: str | None
    """Device of the earlier runs."""
    stages: list[StageTime]
    """In the order of the run."""
    reason: str | None
    """Why `seconds` is null."""


@dataclass(frozen=True)
class _Run:
    """An earlier run: its device, and the measured seconds per step of each stage."""

    job_id: str
    spec: dict[str, Any]
    device: str
    step_seconds: dict[str, float]


def estimate(session: Session, owner_id: str, spec: Mapping[str, Any], stages: Sequence[StageEstimate]) -> RunTime:
    """The expected time of the resolved spec, whose stages have the steps of the check."""
    runs = _comparable(session, owner_id, spec)
    times = [_stage_time(spec, stage, runs) for stage in stages]
    unknown = [time.stage for time in times if time.seconds is None]
    device = runs[0].device if any(time.jobs for time in times) else None
    if unknown or not times:
        return RunTime(seconds=None, gpu_hours=None, device=device, stages=times, reason=_reason(unknown))
    seconds = sum(time.seconds or 0.0 for time in times) * int(spec.get("seeds", 1))
    hours = seconds * Requirement.of_spec(dict(spec)).slots / 3600
    return RunTime(seconds=seconds, gpu_hours=hours, device=device, stages=times, reason=None)


def _reason(unknown: Sequence[str]) -> str:
    if not unknown:
        return "The check could not count the steps of the run."
    return (
        f"None of your {LOOKED_AT} newest successful jobs ran {', '.join(unknown)} with the same model, resources and batch "
        "shape. The first such run will be the measurement."
    )


def _stage_time(spec: Mapping[str, Any], stage: StageEstimate, runs: Sequence[_Run]) -> StageTime:
    shape = _shape(spec, stage.stage)
    alike = [run for run in runs if stage.stage in run.step_seconds and _shape(run.spec, stage.stage) == shape][:USED]
    per_step = statistics.median(run.step_seconds[stage.stage] for run in alike) if alike else None
    return StageTime(
        stage=stage.stage,
        steps=stage.steps,
        seconds_per_step=per_step,
        seconds=None if per_step is None else per_step * stage.steps,
        jobs=[run.job_id for run in alike],
    )


def _shape(spec: Mapping[str, Any], stage: StageName) -> list[Any]:
    return [_value(spec, path) for path in (*_OF_RUN, *SHAPES[stage])]


def _value(spec: Mapping[str, Any], path: str) -> Any:
    """The value of a field such as `ppo.batch_size`; None where an older release did not store it."""
    found: Any = spec
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _comparable(session: Session, owner_id: str, spec: Mapping[str, Any]) -> list[_Run]:
    """The owner's successful runs of the same model and resources, newest first, on the device of the newest of them."""
    newest = select(Job).where(Job.owner_id == owner_id, Job.status == JobStatus.SUCCEEDED)
    newest = newest.order_by(Job.created_at.desc(), Job.id.desc()).limit(LOOKED_AT)
    recent = newest.with_only_columns(Job.id, Job.spec, Job.plan, Job.requirement, Job.created_at).subquery()
    query = select(recent.c.id, recent.c.spec, recent.c.plan).order_by(recent.c.created_at.desc(), recent.c.id.desc())
    query = query.where(recent.c.spec["model"] == spec["model"])
    query = query.where(recent.c.requirement == Requirement.of_spec(dict(spec)).stored())
    rows = session.execute(query).all()
    devices, seconds = _devices(session, [row.id for row in rows]), _seconds(session, [row.id for row in rows])
    runs = [
        _Run(row.id, row.spec, devices[row.id], _per_step(row.plan or [], seconds.get(row.id, {})))
        for row in rows
        if row.id in devices
    ]
    return [run for run in runs if run.device == runs[0].device]


def _per_step(plan: Sequence[Mapping[str, Any]], seconds: Mapping[str, float]) -> dict[str, float]:
    """Seconds per step of each stage whose number of steps was planned."""
    return {
        stage["stage"]: seconds[stage["stage"]] / stage["total_steps"]
        for stage in plan
        if stage["stage"] in seconds and stage["total_steps"] > 0 and not stage.get("at_most")
    }


def _devices(session: Session, job_ids: Sequence[str]) -> dict[str, str]:
    """The device of the last attempt of each job."""
    return {event.job_id: str(event.data["device"]) for event in _events(session, job_ids, "run_started")}


def _seconds(session: Session, job_ids: Sequence[str]) -> dict[str, dict[str, float]]:
    """The seconds of each finished stage by job. A stage that was resumed counts its time in earlier attempts."""
    found: dict[str, dict[str, float]] = {}
    for event in _events(session, job_ids, "stage_finished"):
        if event.stage is not None:
            found.setdefault(event.job_id, {})[event.stage] = float(event.data["seconds"])
    return found


def _events(session: Session, job_ids: Sequence[str], type_: str) -> Sequence[JobEvent]:
    query = select(JobEvent).where(JobEvent.job_id.in_(job_ids), JobEvent.type == type_)
    return session.scalars(query.order_by(JobEvent.job_id, JobEvent.seq)).all()
