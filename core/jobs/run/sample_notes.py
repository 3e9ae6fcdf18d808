"""Notes of people on the completions of a run.

A step that runs again after a resume or a roll-back logs its completions anew. A note belongs to the text that it was written on:
it stays on a completion with the same prompt and response in the same place of the step. Otherwise its completion was replaced,
and the note is shown with the copy of the completion that it keeps.
"""

import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, Field
from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from core.errors import CompletionReplaced, InvalidRequest, NotFound, QuotaExceeded
from core.jobs.run.samples import OneSeed, samples_at
from core.jobs.run.seeds import seeds_of
from core.models import Job, SampleNote
from core.models.base import new_id
from core.paging import Order, Page, page

MOST_NOTES = 1000
"""Most notes of one job."""
LONGEST_NOTE = 2000
LONGEST_AUTHOR = 100


def _plain_text(note: str) -> str:
    """The note without whitespace at its ends, its line breaks as \\n. Raises ValueError for an empty or unprintable one."""
    lines = note.replace("\r\n", "\n").strip()
    if not lines:
        raise ValueError("must not be empty")
    if any(sign != "\n" and unicodedata.category(sign) in ("Cc", "Cs") for sign in lines):
        raise ValueError("must not contain a control character other than a line break")
    return lines


def _author(name: str) -> str:
    if any(unicodedata.category(sign) in ("Cc", "Cs") for sign in name):
        raise ValueError("must not contain a control character")
    if not name.strip():
        raise ValueError("must not be empty")
    return " ".join(name.split())


NoteText = Annotated[str, Field(min_length=1, max_length=LONGEST_NOTE), AfterValidator(_plain_text)]
Author = Annotated[str, Field(min_length=1, max_length=LONGEST_AUTHOR), AfterValidator(_author)]


@dataclass(frozen=True)
class SamplePlace:
    """The place of a completion in a run."""

    stage: str
    step: int
    index: int
    """Its place among the completions of the step, from 0."""
    seed: OneSeed | None
    """The seed of a job with several; None in a job with one."""

    @property
    def name(self) -> str:
        return f"{self.stage}.{self.step}.{self.index}"


@dataclass(frozen=True)
class Written:
    """The content of a note."""

    text: str
    author: str | None = None
    response: str | None = None
    """The response that the author has read; None: whichever the run has."""


def write_note(session: Session, job: Job, place: SamplePlace, written: Written) -> SampleNote:
    """Write the note on a completion, in place of the one that it has.

    Raises NotFound for a completion that the run does not have, CompletionReplaced if its response is not the one that the author
    has read, and QuotaExceeded. The job's row is locked: meanwhile no other request writes a note, and the run stores no event.
    """
    _lock(session, job.id)
    seed = None if place.seed is None else place.seed.seed
    event = samples_at(session, job.id, place.stage, place.step, place.seed)
    rows: list[dict[str, Any]] = event.data["rows"] if event else []
    if event is None or place.index >= len(rows):
        raise NotFound(f"{job.id} has no completion {place.name}.")
    sample = {name: value for name, value in rows[place.index].items() if name != "token_table"}
    if written.response not in (None, sample["response"]):
        raise CompletionReplaced(f"{place.name} has another response now. Read the completions of the step again.")
    where = {"job_id": job.id, "seed": seed, "stage": place.stage, "step": place.step, "index": place.index}
    note = next((one for one in session.scalars(select(SampleNote).filter_by(**where)) if _same(one, sample)), None)
    now = datetime.now(UTC)
    if note is None:
        _check_number(session, job.id)
        note = SampleNote(id=new_id("note"), created_at=now, **where)
        session.add(note)
    note.seq, note.sample, note.text, note.author, note.updated_at = (
        event.seq,
        sample,
        written.text,
        written.author,
        now,
    )
    session.flush()
    return note


def list_notes(
    session: Session, job: Job, stage: str | None, seed: OneSeed | None, after: str | None, limit: int, order: Order
) -> Page[SampleNote]:
    """A page of the notes on completions of a job. Raises InvalidRequest for an unknown `after`."""
    query = select(SampleNote).filter_by(job_id=job.id)
    if stage is not None:
        query = query.filter_by(stage=stage)
    if seed is not None and len(seeds_of(job)) > 1:
        query = query.filter_by(seed=seed.seed)
    return page(session, query, SampleNote, after, limit, order)


_CURRENT = text("""
SELECT note.id FROM sample_notes note
CROSS JOIN LATERAL (
    SELECT seq, data FROM job_events e
    WHERE e.job_id = note.job_id AND e.type = 'samples' AND e.stage = note.stage AND e.step = note.step
      AND (note.seed IS NULL OR coalesce(e.seed, :first) = note.seed)
    ORDER BY seq DESC LIMIT 1
) AS newest
CROSS JOIN LATERAL (SELECT CASE WHEN newest.seq <> note.seq THEN newest.data -> 'rows' -> note.index::int END) AS now (row)
WHERE note.id = ANY(:ids) AND (
    newest.seq = note.seq
    OR now.row ->> 'prompt' = note.sample ->> 'prompt' AND now.row ->> 'response' = note.sample ->> 'response')
""")


def replaced_notes(session: Session, job: Job, notes: Sequence[SampleNote]) -> Collection[str]:
    """The ids of those notes of the job whose completion was replaced."""
    ids = {note.id for note in notes}
    return ids - set(session.scalars(_CURRENT, {"ids": list(ids), "first": seeds_of(job)[0]}))


def delete_note(session: Session, job: Job, note_id: str) -> None:
    """Raises NotFound for a note that the job does not have."""
    note = session.scalars(select(SampleNote).filter_by(job_id=job.id, id=note_id).with_for_update()).one_or_none()
    if note is None:
        raise NotFound(f"{job.id} has no note {note_id!r}.")
    session.delete(note)


def seed_to_note(job: Job, seed: int | None) -> OneSeed | None:
    """The seed whose completion is noted. Raises InvalidRequest where a job with several seeds needs one."""
    seeds = seeds_of(job)
    if len(seeds) == 1:
        return None
    if seed is None:
        detail = f"is needed, because {job.id} has the seeds {seeds[0]} to {seeds[-1]}"
        raise InvalidRequest(f"`seed` {detail}.", param="seed", errors=[{"pointer": "?seed", "detail": detail}])
    return OneSeed(seed, seeds[0])


def _same(note: SampleNote, sample: dict[str, Any]) -> bool:
    return all(note.sample[name] == sample[name] for name in ("prompt", "response"))


def _lock(session: Session, job_id: str) -> None:
    query = select(Job.id).filter_by(id=job_id).with_for_update(key_share=True)
    if session.scalars(query).one_or_none() is None:
        raise NotFound(f"{job_id} was deleted meanwhile.")


def _check_number(session: Session, job_id: str) -> None:
    count = session.scalars(select(func.count()).select_from(SampleNote).filter_by(job_id=job_id)).one()
    if count >= MOST_NOTES:
        detail = f"{job_id} has {count} notes. This platform allows {MOST_NOTES}. Delete some of them."
        raise QuotaExceeded(detail, limit=MOST_NOTES, value=count)
