"""Notes on the completions that a job logged."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Query
from sqlalchemy.orm import Session

from api.deps import After, JobDep, Limit, OrderBy, SessionDep
from api.jobs.metric_routes import OneStage, Seed
from api.jobs.note_schemas import SampleNote, SampleNoteList, WriteNote
from api.jobs.sample_routes import SAMPLE_ADDRESS, one_seed
from api.jobs.schemas import JobSample
from api.problems import BadRequest, documented
from api.validation import StrictRoute
from core import models
from core.errors import (
    CompletionReplaced,
    CrossOrigin,
    InvalidRequest,
    NotFound,
    NotSignedIn,
    QuotaExceeded,
    TooLarge,
    WrongMediaType,
)
from core.jobs.run import sample_notes
from core.jobs.run.sample_notes import SamplePlace, Written

router = APIRouter(prefix="/jobs/{job_id}/samples", tags=["Metrics and samples"], route_class=StrictRoute)

SampleAddress = Annotated[
    str, Path(pattern=SAMPLE_ADDRESS, description="The completion by its stage, step and index: `ppo.120.3`.")
]


@router.get("/notes", responses=documented(NotSignedIn, NotFound, InvalidRequest))
def list_sample_notes(
    job: JobDep,
    session: SessionDep,
    stage: OneStage = None,
    seed: Seed = None,
    limit: Limit = 20,
    after: After = None,
    order: OrderBy = "desc",
) -> SampleNoteList:
    """List the notes on completions of a job, each with its completion.

    A step that runs again after a resume or a roll-back replaces its completions. A note stays on a completion with the same prompt
    and response. Otherwise it is `replaced`, and is on no completion of the run.
    """
    found = sample_notes.list_notes(session, job, stage, one_seed(job, seed), after, limit, order)
    return SampleNoteList.from_items(_views(session, job, found.items), found.has_more)


@router.put(
    "/{sample}/note",
    responses=documented(
        BadRequest,
        NotSignedIn,
        CrossOrigin,
        NotFound,
        CompletionReplaced,
        TooLarge,
        WrongMediaType,
        InvalidRequest,
        QuotaExceeded,
    ),
)
def write_sample_note(
    job: JobDep,
    sample: SampleAddress,
    body: WriteNote,
    session: SessionDep,
    seed: Annotated[
        int | None, Query(ge=0, lt=2**63, description="The seed of the completion, in a job with several.")
    ] = None,
) -> SampleNote:
    """Write the note on a completion. It replaces the text and the author of a note that the completion has."""
    one_seed(job, seed)
    stage, step, index = sample.split(".")
    place = SamplePlace(stage, int(step), int(index), sample_notes.seed_to_note(job, seed))
    note = sample_notes.write_note(session, job, place, Written(body.text, body.author, body.response))
    (view,) = _views(session, job, [note])
    return view


@router.delete(
    "/notes/{note_id}", status_code=204, responses=documented(NotSignedIn, CrossOrigin, NotFound, InvalidRequest)
)
def delete_sample_note(job: JobDep, note_id: str, session: SessionDep) -> None:
    """Delete a note on a completion. The completion stays."""
    sample_notes.delete_note(session, job, note_id)


def _views(session: Session, job: models.Job, notes: Sequence[models.SampleNote]) -> list[SampleNote]:
    replaced = sample_notes.replaced_notes(session, job, notes)
    return [_view(note, is_replaced=note.id in replaced) for note in notes]


def _view(note: models.SampleNote, *, is_replaced: bool) -> SampleNote:
    where = {name: getattr(note, name) for name in ("seed", "stage", "step", "index")}
    own = {name: getattr(note, name) for name in ("id", "job_id", "text", "author", "created_at", "updated_at")}
    return SampleNote(**own, replaced=is_replaced, completion=JobSample.model_validate(note.sample | where))
