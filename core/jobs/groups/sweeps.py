"""Makes the jobs of a sweep: all of them, or none."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from sqlalchemy.orm import Session

from core.db import check_storable
from core.errors import InvalidSpec, PlatformError
from core.jobs.groups.groups import add_to_group, create_group
from core.jobs.groups.sweep_spec import SweepSpec, Values
from core.jobs.lifecycle.actors import Actor
from core.jobs.submission.limits import check_limits
from core.jobs.submission.submit import USUAL, Queueing, submit_job
from core.jobs.submission.validations import refuse_blocked
from core.models import JobGroup
from core.settings import Settings
from trainer.spec import JobSpec
from trainer.spec.validation_errors import explain

_MOST_ERRORS = 50


@dataclass(frozen=True)
class SweepJob:
    """One job of a sweep before it is submitted."""

    number: int
    values: Values
    spec: JobSpec


def planned_jobs(sweep: SweepSpec, settings: Settings) -> list[SweepJob]:
    """The jobs of the sweep, validated.

    Raises LimitExceeded before any combination is made, and InvalidSpec with the problems of every combination.
    """
    sweep.check_size(settings.max_sweep_jobs)
    check_storable(sweep.model_dump(mode="json"))
    jobs, problems = [], []
    for number, values in enumerate(sweep.combinations(), 1):
        given = sweep.spec_with(values)
        try:
            spec = JobSpec.model_validate(given | {"name": _name(sweep, given, number, values)})
        except ValidationError as error:
            where = f"Job {number} ({_shown(values)})"
            problems += [{"pointer": one.pointer, "detail": f"{where}: {one.detail}"} for one in explain(error)]
            continue
        jobs.append(SweepJob(number, values, spec))
    if problems:
        more = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
        detail = f"{problems[0]['pointer']}: {problems[0]['detail']}{more}"
        raise InvalidSpec(detail, param="parameters", errors=problems[:_MOST_ERRORS])
    for job in jobs:
        with _naming_combination(job):
            check_limits(job.spec, settings)
    return jobs


def create_sweep(
    session: Session,
    owner_id: str,
    sweep: SweepSpec,
    settings: Settings,
    actor: Actor,
    queueing: Queueing = USUAL,
    *,
    force: bool = False,
) -> JobGroup:
    """Queue all jobs of the sweep as one group. `force`: also jobs that a validation blocked.

    Raises the errors of `planned_jobs`, of `submit_job` and of `refuse_blocked`.
    """
    jobs = planned_jobs(sweep, settings)
    asked = sweep.model_dump(mode="json", exclude={"spec"})
    group = create_group(session, owner_id, sweep.name, sweep.metric, sweep.max_parallel, asked, sweep.goal)
    for job in jobs:
        with _naming_combination(job):
            made = submit_job(session, owner_id, job.spec, settings, actor, queueing)
            if not force:
                refuse_blocked(session, owner_id, made.spec)
        add_to_group(session, group, made, job.values)
    return group


@contextmanager
def _naming_combination(job: SweepJob) -> Iterator[None]:
    """While inside, the text of an expected error begins with the combination."""
    try:
        yield
    except PlatformError as error:
        error.detail = f"Job {job.number} ({_shown(job.values)}): {error.detail}"
        raise


def _name(sweep: SweepSpec, given: dict[str, object], number: int, values: Values) -> str:
    base = sweep.name or str(given.get("name") or "Sweep")
    return f"{base} {number}: {_shown(values)}"[:200]


def _shown(values: Values) -> str:
    return ", ".join(f"{path}={_value_shown(value)}" for path, value in values.items())


def _value_shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
