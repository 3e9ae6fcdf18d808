"""Jobs and runs in the database of a measurement, without a trainer."""

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.orm import Session

from core.jobs.lifecycle import attempts
from core.jobs.lifecycle.actors import PLATFORM
from core.jobs.lifecycle.attempts import Claim
from core.jobs.lifecycle.state import write_first_status
from core.jobs.run.events import append_events
from core.models import Job
from core.models.base import new_id
from core.models.jobs import JobStatus
from trainer.events import Metrics, RunStarted, Sample, Samples, StagePlan, StageStarted
from trainer.metrics import METRICS
from trainer.spec import JobSpec

_SPEC = {"model": "benchmark/model", "data": {"preferences": "ds_benchmark"}, "ppo": {}}
CHART_NAMES = (
    "objective/scores",
    *[one.name for one in METRICS if one.stage == "ppo" and "scores" not in one.name][:7],
)
"""Eight metrics of PPO: one screen of charts."""


def queued_job(session: Session, owner_id: str, given: Mapping[str, Any] = _SPEC) -> Job:
    """A queued job with a complete spec, stored without the checks of a submission."""
    spec = JobSpec.model_validate(given).model_dump(mode="json")
    job = Job(
        id=new_id("job"),
        owner_id=owner_id,
        name=spec["name"] or "benchmark",
        spec=spec,
        priority=0,
        attempt=0,
        last_seq=0,
        seeds_done=0,
    )
    write_first_status(session, job, "Created.", PLATFORM)
    return job


def running_job(session: Session, owner_id: str, total_steps: int) -> Claim:
    """A job that a worker has claimed and whose PPO stage has started. No other job may be queued."""
    return _started(session, queued_job(session, owner_id), total_steps)


def _started(session: Session, job: Job, total_steps: int) -> Claim:
    claim = attempts.claim(session, "wrk_benchmark")
    assert claim is not None and claim.job_id == job.id
    plan = [StagePlan(stage="ppo", total_steps=total_steps)]
    started = RunStarted(stages=plan, device="cpu", threads=1, versions={})
    append_events(session, job.id, claim.attempt, [started, StageStarted(stage="ppo", total_steps=total_steps)])
    return claim


EVALUATED_STEPS, PROMPTS = 3, 8


def compared_run(session: Session, owner_id: str, kl: float, seed: int) -> str:
    """The id of an ended run of PPO with three evaluations and judged completions. No other job may be queued.

    Its name and spec contain the KL coefficient and the seed, and its figures follow from them.
    """
    name = f"Helpful assistant: KL coefficient {kl}, seed {seed}"
    spec = _SPEC | {"name": name, "seed": seed, "ppo": {"kl": {"coef": kl}}}
    job = queued_job(session, owner_id, spec)
    claim = _started(session, job, EVALUATED_STEPS)
    events = [_evaluated(step, math.sqrt(step) * (1 - kl) + seed / 10) for step in range(1, EVALUATED_STEPS + 1)]
    rows = [Sample(prompt=f"Question {one}", response="", held_out=True, judge=seed - kl) for one in range(PROMPTS)]
    append_events(session, job.id, claim.attempt, [*events, Samples(stage="evaluation", step=0, rows=rows)])
    summary = {"win_rate": 0.9 - kl, "judge_after": seed - kl, "kl": 1 / (1 + kl)}
    attempts.finish(session, job.id, claim.attempt, JobStatus.SUCCEEDED, "The run has ended.", summary=summary)
    return job.id


def sampled_run(
    session: Session, owner_id: str, name: str, logged: Sequence[Samples], *, ended: bool = True, **spec: Any
) -> str:
    """The id of a run with these completions. No other job may be queued. Without `ended` it goes on for an hour."""
    job = queued_job(session, owner_id, _SPEC | {"name": name} | spec)
    claim = _started(session, job, max((one.step for one in logged), default=1))
    append_events(session, job.id, claim.attempt, list(logged))
    if ended:
        attempts.finish(session, job.id, claim.attempt, JobStatus.SUCCEEDED, "The run has ended.", summary={})
    else:
        job.lease_expires_at = datetime.now(UTC) + timedelta(hours=1)
    return job.id


def _evaluated(step: int, sqrt_kl: float) -> Metrics:
    evaluated = {"eval/sqrt_kl": sqrt_kl, "eval/score": 2 * sqrt_kl, "eval/win_rate": 0.5 + sqrt_kl / 10}
    values = {"objective/scores": sqrt_kl, "objective/kl": sqrt_kl**2} | evaluated
    return Metrics(stage="ppo", step=step, total_steps=EVALUATED_STEPS, values=values)


def metric_names(count: int) -> list[str]:
    """The first `count` metrics of a step. The charts' names come first."""
    return [*CHART_NAMES, *[f"benchmark/{number}" for number in range(count)]][:count]


def steps(first: int, count: int, total_steps: int, names: Sequence[str]) -> Iterator[Metrics]:
    """Metrics of `count` steps of PPO, each with a value for every name."""
    for step in range(first, first + count):
        values = {name: math.sin(step / (1000 + index)) + step % 7 for index, name in enumerate(names)}
        yield Metrics(stage="ppo", step=step, total_steps=total_steps, values=values)
