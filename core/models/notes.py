"""Notes that people write on the completions of a run."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base, CreatedAt


class SampleNote(Base):
    """A note on one completion. It keeps a copy of the completion, because a step that runs again replaces it in the run."""

    __tablename__ = "sample_notes"
    __table_args__ = (UniqueConstraint("job_id", "seq", "index"), Index(None, "job_id", "created_at", "id"))

    id: Mapped[str] = mapped_column(primary_key=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    seq: Mapped[int]
    """The event that logged the completion when the note was written last."""
    seed: Mapped[int | None]
    """The seed of the completion; null in a job with one seed."""
    stage: Mapped[str]
    step: Mapped[int]
    index: Mapped[int]
    """Its place among the completions of the step, from 0."""
    sample: Mapped[dict[str, Any]]
    """The completion as it was logged, without its token table."""
    text: Mapped[str]
    author: Mapped[str | None]
    """The name that the author gave; null for none."""
    created_at: Mapped[CreatedAt]
    updated_at: Mapped[datetime]
