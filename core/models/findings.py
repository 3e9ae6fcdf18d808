"""Findings about runs: health rules that fired, and warnings of the trainer."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base, one_of


class Severity(StrEnum):
    """How grave a finding is."""

    WARNING = "warning"
    """The run goes on as before."""
    ERROR = "error"
    """A rule paused, rolled back or stopped the run, or the run reported an error."""


class JobFinding(Base):
    """A health rule that fired in a job, or a warning of the run. One row for each seed and rule, or text.

    The rows follow from the events `health` and `message`.
    """

    __tablename__ = "job_findings"
    __table_args__ = (
        CheckConstraint(one_of("severity", Severity), name="severity"),
        UniqueConstraint("job_id", "key"),
        Index(None, "owner_id", "created_at", "id"),
        Index(
            "ix_job_findings_rule", "owner_id", "rule", "created_at", "id", postgresql_where=text("rule IS NOT NULL")
        ),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"))
    """The owner of the job."""
    key: Mapped[str]
    """The seed and the rule, or the seed and the MD5 of the text."""
    rule: Mapped[str | None]
    """Name of the health rule; null for a warning of the run."""
    severity: Mapped[str]
    """The gravest so far."""
    action: Mapped[str | None]
    """The action of the run when the rule fired last; null for a warning of the run."""
    seed: Mapped[int | None]
    """The seed that it belongs to, in a job with several seeds."""
    stage: Mapped[str | None]
    step: Mapped[int | None]
    """The last step at which it fired; null for a warning of the run."""
    cause: Mapped[str]
    """The problem, or the text of the warning."""
    suggestion: Mapped[str]
    """The setting to change; empty for a warning of the run."""
    times: Mapped[int]
    """Steps at which it fired. A step that is repeated after a resume counts once."""
    created_at: Mapped[datetime]
    """When it was reported first, by the clock of its machine."""
    last_at: Mapped[datetime]
    """When it was reported last."""
    data: Mapped[dict[str, Any]]
    """`{evidence, changes}` of the last event."""
