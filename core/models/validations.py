"""Validations: checks of specs that have not been submitted yet."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, UniqueConstraint, func
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base


class Validation(Base):
    """The check of one resolved spec. An owner has one row for each spec and the rows of its datasets."""

    __tablename__ = "validations"
    __table_args__ = (UniqueConstraint("owner_id", "sha256"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"))
    sha256: Mapped[str]
    """The result of `core.jobs.validations.hash_of`."""
    spec: Mapped[dict[str, Any]]
    """The spec with every default filled in."""
    task_id: Mapped[str]
    """The newest data task that makes it, with its status and its error."""
    result: Mapped[dict[str, Any] | None]
    """The findings and the figures of the check. Null until the task is done."""
    requested_at: Mapped[datetime] = mapped_column(server_default=func.now())
    """When the newest task was queued."""
