"""Specs before they are jobs: templates, and validations of specs that have not been submitted yet."""

from datetime import datetime
from typing import Any

from sqlalchemy import DateTime, ForeignKey, Index, UniqueConstraint, func
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base, CreatedBy


class JobTemplate(Base):
    """A partial spec from which an owner submits jobs. Jobs keep no reference to it."""

    __tablename__ = "job_templates"
    __table_args__ = (UniqueConstraint("owner_id", "name"), Index(None, "owner_id", "created_at", "id"))

    id: Mapped[str] = mapped_column(primary_key=True)
    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"))
    created_by: Mapped[CreatedBy]
    name: Mapped[str]
    description: Mapped[str]
    spec: Mapped[dict[str, Any]]
    """The given fields only. A job that is submitted from it gets the defaults of that time."""
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
    updated_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())


class Validation(Base):
    """The check of one resolved spec. An owner has one row for each spec and the rows of its datasets."""

    __tablename__ = "validations"
    __table_args__ = (UniqueConstraint("owner_id", "sha256"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"))
    sha256: Mapped[str]
    """The result of `core.jobs.submission.validations.hash_of`."""
    spec: Mapped[dict[str, Any]]
    """The spec with every default filled in."""
    task_id: Mapped[str]
    """The newest data task that makes it, with its status and its error."""
    result: Mapped[dict[str, Any] | None]
    """The findings and the figures of the check. Null until the task is done."""
    requested_at: Mapped[datetime] = mapped_column(server_default=func.now())
    """When the newest task was queued."""
