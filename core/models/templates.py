"""Job templates: parts of specs under a name."""

from datetime import datetime
from typing import Any

from sqlalchemy import DateTime, ForeignKey, Index, UniqueConstraint, func
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base


class JobTemplate(Base):
    """A partial spec from which an owner submits jobs. Jobs keep no reference to it."""

    __tablename__ = "job_templates"
    __table_args__ = (UniqueConstraint("owner_id", "name"), Index(None, "owner_id", "created_at", "id"))

    id: Mapped[str] = mapped_column(primary_key=True)
    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"))
    name: Mapped[str]
    description: Mapped[str]
    spec: Mapped[dict[str, Any]]
    """The given fields only. A job that is submitted from it gets the defaults of that time."""
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
    updated_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
