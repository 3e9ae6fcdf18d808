"""Live knobs of a running job, and the commands that change them.

A change takes effect some seconds after the request, or is refused by the trainer. Each is therefore an object of its own,
with an id and a history, and not a modification of the job.
"""

from fastapi import APIRouter
from sqlalchemy import select

from api.deps import After, JobDep, Limit, OrderBy, PrincipalDep, SessionDep
from api.idempotency import IDEMPOTENT
from api.jobs.command_schemas import CommandRequest, JobCommand, JobCommandList, JobKnob, JobKnobs
from api.problems import BadRequest, documented
from api.validation import StrictRoute
from core import models
from core.errors import (
    CrossOrigin,
    InvalidRequest,
    JobNotRunning,
    KnobOutOfRange,
    KnobUnavailable,
    NotFound,
    NotSignedIn,
    TooLarge,
    WrongMediaType,
)
from core.jobs.actions.commands import KnobState, Wanted, knob_states, pending_commands, request_commands
from core.jobs.lifecycle.actors import key_of
from core.paging import page
from trainer.spec.knobs import ACTIONS, KNOBS

router = APIRouter(prefix="/jobs/{job_id}", tags=["Jobs"], route_class=StrictRoute)


@router.get("/knobs", responses=documented(NotSignedIn, NotFound, JobNotRunning, KnobUnavailable, InvalidRequest))
def get_job_knobs(job: JobDep, session: SessionDep) -> JobKnobs:
    """The settings of the job's stage that can be changed while it runs, with their values and ranges.

    While the job neither starts nor runs, no knob is `available`, and `reason` names the state. The values are the last ones.
    """
    states = [_knob(state) for state in knob_states(session, job)]
    pending = [JobCommand.model_validate(row) for row in pending_commands(session, job.id)]
    return JobKnobs.model_validate({"stage": job.stage, "knobs": states, "pending": pending})


@router.post(
    "/commands",
    status_code=201,
    dependencies=IDEMPOTENT,
    responses=documented(
        BadRequest,
        NotSignedIn,
        CrossOrigin,
        NotFound,
        JobNotRunning,
        KnobUnavailable,
        TooLarge,
        WrongMediaType,
        InvalidRequest,
        KnobOutOfRange,
    ),
)
def create_job_commands(
    body: CommandRequest, job: JobDep, principal: PrincipalDep, session: SessionDep
) -> JobCommandList:
    """Change knobs of the stage that runs, or request an evaluation or a checkpoint. The trainer takes commands up between two steps."""
    values = {knob: value for knob in KNOBS if (value := getattr(body, knob)) is not None}
    wanted = Wanted(values, [name for name in ACTIONS if getattr(body, name)])
    rows = request_commands(session, job, wanted, key_of(principal))
    return JobCommandList.from_items([JobCommand.model_validate(row) for row in rows])


@router.get("/commands", responses=documented(NotSignedIn, NotFound, InvalidRequest))
def list_job_commands(
    job: JobDep, session: SessionDep, limit: Limit = 20, after: After = None, order: OrderBy = "asc"
) -> JobCommandList:
    """List all commands that were requested, with who requested them and their outcome."""
    found = page(session, select(models.JobCommand).filter_by(job_id=job.id), models.JobCommand, after, limit, order)
    return JobCommandList.from_items([JobCommand.model_validate(row) for row in found.items], found.has_more)


def _knob(state: KnobState) -> JobKnob:
    given = {"name": state.name, "field": state.field, "value": state.value, "reason": state.reason}
    return JobKnob.model_validate(given | {"available": state.reason is None} | vars(state.range))
