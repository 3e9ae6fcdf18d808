"""Commands to running jobs: requested here, carried out by the trainer, settled by its events.

The row is authoritative. The worker copies pending rows into the run folder, and the applied ones into the folder of each
further attempt, so that the run repeats them at the same steps. The events of the trainer settle the rows in the transaction
that stores them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pydantic import ValidationError
from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from core.errors import InvalidRequest, JobNotRunning, KnobOutOfRange, KnobUnavailable
from core.jobs.lifecycle.actors import Actor
from core.jobs.run.events import append_event
from core.models import Job, JobCommand
from core.models.base import new_id
from core.models.commands import CommandStatus
from core.models.jobs import JobStatus
from trainer.events import CommandDone, CommandRefused, CommandRequested, Event, KnobChanged
from trainer.spec import JobSpec, OptimizerSpec, StageName
from trainer.spec.knobs import (
    ACTIONS,
    KNOBS,
    Action,
    Knob,
    Range,
    changed,
    field_of,
    requested_range,
    section_of,
    value_of,
    why_not,
)

LISTENING = (JobStatus.STARTING, JobStatus.RUNNING)
"""States in which a job accepts commands."""
_UNBOUNDED = Range()


@dataclass(frozen=True)
class Wanted:
    """The commands of one request."""

    values: Mapping[Knob, float] = field(default_factory=dict)
    actions: Sequence[Action] = ()


@dataclass(frozen=True)
class KnobState:
    """One knob of the present or last stage. `reason` is why it cannot be changed now.

    A knob that the stage lacks has no value and no range.
    """

    name: Knob
    field: str
    value: float | None = None
    range: Range = _UNBOUNDED
    reason: str | None = None


def request_commands(session: Session, job: Job, wanted: Wanted, actor: Actor) -> list[JobCommand]:
    """Store all commands of the request, or none, each with an event.

    Raises JobNotRunning, KnobUnavailable, KnobOutOfRange, and InvalidRequest without any command.
    """
    session.refresh(job, with_for_update=True)
    stage, section = _listening(job)
    if not wanted.values and not wanted.actions:
        raise InvalidRequest(
            f"The request names no command. Name a knob ({', '.join(KNOBS)}) or {' or '.join(ACTIONS)}."
        )
    for name in (*wanted.values, *wanted.actions):
        if reason := why_not(stage, section, name):
            raise KnobUnavailable(reason, param=name)
    assert section is not None  # `why_not` refuses every command to such a stage
    for knob, value in wanted.values.items():
        _check_value(section, knob, value)
    given: list[tuple[Knob | Action, float | None]] = [
        *wanted.values.items(),
        *((name, None) for name in wanted.actions),
    ]
    return [_store(session, job, stage, name, value, actor) for name, value in given]


def knob_states(session: Session, job: Job) -> list[KnobState]:
    """Every knob of the job's stage with its present value and range. Raises JobNotRunning if no stage has begun."""
    stage, spec = _stage_of(job), _spec(job)
    section, closed = section_of(spec, stage), _why_closed(job, spec)
    applied = _of(job.id).where(JobCommand.status == CommandStatus.APPLIED.value, JobCommand.stage == stage)
    latest = {row.name: row.value for row in session.scalars(applied)}
    states = []
    for knob in KNOBS:
        reason = why_not(stage, section, knob)
        if reason is not None or section is None:
            states.append(KnobState(knob, field_of(stage, knob), reason=reason))
            continue
        value = latest.get(knob)
        present = value_of(section, knob) if value is None else value
        states.append(KnobState(knob, field_of(stage, knob), present, requested_range(section, knob), closed))
    return states


def pending_commands(session: Session, job_id: str) -> list[JobCommand]:
    """The commands that the trainer has not taken up, in order."""
    return list(session.scalars(_of(job_id).where(JobCommand.status == CommandStatus.PENDING.value)))


def applied_commands(session: Session, job_id: str) -> list[JobCommand]:
    """The commands that were carried out, in order."""
    return list(session.scalars(_of(job_id).where(JobCommand.status == CommandStatus.APPLIED.value)))


def settle_commands(session: Session, job_id: str, events: Sequence[Event]) -> None:
    """Settle the pending commands that these events report. An event that a resumed run repeats changes nothing."""
    for event in events:
        if not isinstance(event, KnobChanged | CommandDone | CommandRefused):
            continue
        row = session.get(JobCommand, event.command)  # a command by hand has no row
        if row is None or row.job_id != job_id or row.status != CommandStatus.PENDING:
            continue
        row.step, row.settled_at = event.step, datetime.now(UTC)
        row.status = CommandStatus.APPLIED.value
        if isinstance(event, KnobChanged):
            row.value_before = event.from_
        elif isinstance(event, CommandRefused):
            row.status, row.reason = CommandStatus.REFUSED.value, event.reason
    session.flush()


def _listening(job: Job) -> tuple[StageName, OptimizerSpec | None]:
    """The stage that runs and its section. Raises JobNotRunning, or KnobUnavailable for several seeds."""
    if job.status not in LISTENING:
        raise JobNotRunning(_not_listening(job))
    stage, spec = _stage_of(job), _spec(job)
    if reason := _why_closed(job, spec):
        raise KnobUnavailable(reason)
    return stage, section_of(spec, stage)


def _why_closed(job: Job, spec: JobSpec) -> str | None:
    """Why the job takes no commands at all, as a sentence; None if it takes some."""
    if job.status not in LISTENING:
        return _not_listening(job)
    if spec.seeds > 1:
        return "The job runs several seeds (`seeds`). A change would make them differ in more than the seed."
    return None


def _not_listening(job: Job) -> str:
    return f"The job is {job.status}. Only a job that is starting or running takes commands."


def _stage_of(job: Job) -> StageName:
    if job.stage is None:
        raise JobNotRunning("The job has not begun its first stage, and each stage has its own knobs. Try again later.")
    return job.stage  # type: ignore[return-value]  # the trainer's events name stages


def _spec(job: Job) -> JobSpec:
    try:
        return JobSpec.model_validate(job.spec)
    except ValidationError as error:
        raise KnobUnavailable("The job was submitted to an older release, whose spec has no knobs.") from error


def _check_value(section: OptimizerSpec, knob: Knob, value: float) -> None:
    allowed = requested_range(section, knob)
    try:
        changed(section, knob, value, allowed)
    except ValueError as error:
        bounds = {name: bound for name, bound in vars(allowed).items() if bound is not None}
        raise KnobOutOfRange(str(error), param=knob, allowed_range=bounds) from error


def _store(
    session: Session, job: Job, stage: StageName, name: Knob | Action, value: float | None, actor: Actor
) -> JobCommand:
    row = JobCommand(id=new_id("cmd"), job_id=job.id, stage=stage, name=name, value=value, actor=actor.as_json())
    session.add(row)
    session.flush()
    event = CommandRequested(stage=stage, name=name, value=value, command=row.id, actor=actor.as_json())
    append_event(session, job, event)
    session.refresh(row)
    return row


def _of(job_id: str) -> Select[JobCommand]:
    return select(JobCommand).where(JobCommand.job_id == job_id).order_by(JobCommand.created_at, JobCommand.id)
