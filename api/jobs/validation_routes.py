"""Validations: check a job without submitting it."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from sqlalchemy.orm import Session

from api.deps import PrincipalDep, SessionDep, SettingsDep
from api.jobs.transition_routes import SUBMISSION, WRITES
from api.jobs.validation_schemas import Validation
from api.problems import documented
from api.progress import progress_of
from api.validation import StrictRoute
from core.errors import CrossOrigin, InvalidRequest, NotFound, NotSignedIn, TaskEnded
from core.jobs.submission import estimates, validations
from core.jobs.submission.validations import ValidationDetails
from core.tasks import UNFINISHED
from trainer.spec import JobSpec

router = APIRouter(prefix="/jobs", tags=["Jobs"], route_class=StrictRoute)
_THERE: dict[int | str, dict[str, Any]] = {
    200: {"description": "The same resolved spec was checked before.", "model": Validation}
}
_REFRESH = (
    "Check again, although there is a result: for a model that was downloaded, or a machine that changed, since then."
)


@router.post("/validate", status_code=202, responses=_THERE | documented(*WRITES, *SUBMISSION))
def validate_job(
    body: JobSpec,
    principal: PrincipalDep,
    session: SessionDep,
    settings: SettingsDep,
    response: Response,
    refresh: Annotated[bool, Query(description=_REFRESH)] = False,
) -> Validation:
    """Check a job without submitting it: findings, steps, tokens and memory of each stage, and the expected time.

    A data worker reads the stored datasets and models, and trains nothing. `Location` is the address of the validation.
    """
    found = validations.request(session, principal.owner_id, body, settings, refresh=refresh)
    response.headers["Location"] = f"/v1/jobs/validations/{found.validation.id}"
    if found.task.status not in UNFINISHED:
        response.status_code = 200
    return _view(session, found)


@router.get("/validations/{validation_id}", responses=documented(NotSignedIn, NotFound, InvalidRequest))
def get_validation(validation_id: str, principal: PrincipalDep, session: SessionDep) -> Validation:
    """Return a validation with its findings. It is deleted 30 days after its request, when you request another one."""
    return _view(session, validations.get(session, principal.owner_id, validation_id))


@router.post(
    "/validations/{validation_id}/cancel",
    responses=documented(NotSignedIn, CrossOrigin, NotFound, TaskEnded, InvalidRequest),
)
def cancel_validation(validation_id: str, principal: PrincipalDep, session: SessionDep) -> Validation:
    """Cancel a check. A running one is ended within about a second, a queued one never starts.

    A cancelled check does not change. One that succeeded or failed is refused with `task_ended`. The same spec can be
    checked again.
    """
    return _view(session, validations.cancel(session, principal.owner_id, validation_id))


def _view(session: Session, found: ValidationDetails) -> Validation:
    row, task, result = found.validation, found.task, found.result
    progress = progress_of(session, [task]).get(task.id)
    time = None if result is None else estimates.estimate(session, row.owner_id, row.spec, result.stages)
    return Validation.model_validate(
        {"id": row.id, "spec": row.spec, "requested_at": row.requested_at, "finished_at": task.finished_at}
        | {"status": task.status, "error": task.error, "progress": progress}
        | {"findings": None if result is None else result.findings}
        | {"result": result, "blocked": None if result is None else result.blocked, "time": time}
    )
