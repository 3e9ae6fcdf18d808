"""Jobs and runs in the database of a measurement, without a trainer."""

import math
from collections.abc import Iterator, Sequence

from sqlalchemy.orm import Session

from core.jobs import attempts
from core.jobs.actors import PLATFORM
from core.jobs.attempts import Claim
from core.jobs.events import append_events
from core.jobs.state import write_first_status
from core.models import Job
from core.models.base import new_id
from trainer.events import Metrics, RunStarted, StagePlan, StageStarted
from trainer.metrics import METRICS
from trainer.spec import JobSpec

_SPEC = {"model": "benchmark/model", "data": {"preferences": "ds_benchmark"}, "ppo": {}}
CHART_NAMES = (
    "objective/scores",
    *[one.name for one in METRICS if one.stage == "ppo" and "scores" not in one.name][:7],
)
"""Eight metrics of PPO: one screen of charts."""


def queued_job(session: Session, owner_id: str) -> Job:
    """A queued job with a complete spec, stored without the checks of a submission."""
    spec = JobSpec.model_validate(_SPEC).model_dump(mode="json")
    job = Job(
        id=new_id("job"),
        owner_id=owner_id,
        name="benchmark",
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
    job = queued_job(session, owner_id)
    claim = attempts.claim(session, "wrk_benchmark")
    assert claim is not None and claim.job_id == job.id
    plan = [StagePlan(stage="ppo", total_steps=total_steps)]
    started = RunStarted(stages=plan, device="cpu", threads=1, versions={})
    append_events(session, job.id, claim.attempt, [started, StageStarted(stage="ppo", total_steps=total_steps)])
    return claim


def metric_names(count: int) -> list[str]:
    """The first `count` metrics of a step. The charts' names come first."""
    return [*CHART_NAMES, *[f"benchmark/{number}" for number in range(count)]][:count]


def steps(first: int, count: int, total_steps: int, names: Sequence[str]) -> Iterator[Metrics]:
    """Metrics of `count` steps of PPO, each with a value for every name."""
    for step in range(first, first + count):
        values = {name: math.sin(step / (1000 + index)) + step % 7 for index, name in enumerate(names)}
        yield Metrics(stage="ppo", step=step, total_steps=total_steps, values=values)
