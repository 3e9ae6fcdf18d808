"""Schemas of the notes on completions."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from api.jobs.schemas import JobSample
from api.schema import ListOf, Schema, Timestamp
from core.jobs.run.sample_notes import Author, NoteText


class WriteNote(Schema):
    """The content of a note on a completion."""

    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=False)

    text: NoteText
    """Plain text of at most 2,000 characters, without control characters other than line breaks."""
    author: Author | None = None
    """The name of its author, of at most 100 characters. Null: none."""
    response: Annotated[str | None, Field(max_length=1_000_000)] = None
    """The response that the author has read. If the step has run again and has another one, the request is refused. Null: the present one."""


class SampleNote(Schema):
    """A note on a completion."""

    object: Literal["job.sample_note"] = "job.sample_note"
    """Always `job.sample_note`."""
    id: str
    """Its id."""
    job_id: str
    """Id of the job."""
    text: str
    """Plain text."""
    author: str | None
    """The name that its author gave; null for none."""
    replaced: bool
    """Whether the step ran again and has another completion in this place, or none. The note is about `completion`."""
    completion: JobSample
    """The completion that the note is about, as it was logged. Its `token_table` is null."""
    created_at: Timestamp
    """When it was written."""
    updated_at: Timestamp
    """When it was changed last."""


class SampleNoteList(ListOf[SampleNote]):
    """Notes on completions."""
