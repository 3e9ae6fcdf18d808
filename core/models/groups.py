"""Groups of jobs, which a sweep makes or a user."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, DateTime, ForeignKey, Index, func, text
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base, CreatedBy, one_of


class Goal(StrEnum):
    """The objective that is the best one."""

    MAXIMIZE = "maximize"
    """The highest."""
    MINIMIZE = "minimize"
    """The lowest, as for a loss."""


class JobGroup(Base):
    """Jobs that are viewed and cancelled together."""

    __tablename__ = "job_groups"
    __table_args__ = (CheckConstraint(one_of("goal", Goal), name="goal"), Index(None, "owner_id", "created_at", "id"))

    id: Mapped[str] = mapped_column(primary_key=True)
    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"))
    created_by: Mapped[CreatedBy]
    name: Mapped[str]
    metric: Mapped[str]
    """The objective by which its jobs are compared."""
    goal: Mapped[str] = mapped_column(default=Goal.MAXIMIZE, server_default="maximize")
    """Whether the highest or the lowest objective is the best."""
    max_parallel: Mapped[int | None]
    """Most jobs that are queued or run at once; null: no bound."""
    sweep: Mapped[dict[str, Any] | None]
    """The request of the sweep that made it, without the base spec; null for a group by hand."""
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())


class JobGroupMember(Base):
    """Which group a job is in, with its values there."""

    __tablename__ = "job_group_members"
    __table_args__ = (
        Index(None, "group_id", "number"),
        Index("ix_job_group_members_held", "group_id", postgresql_where=text("held")),
    )

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    group_id: Mapped[str] = mapped_column(ForeignKey("job_groups.id", ondelete="CASCADE"))
    number: Mapped[int]
    """Its place in the group, from 1. Held jobs are released in this order."""
    values: Mapped[dict[str, Any]]
    """The fields of the spec that differ between the jobs of a sweep, by path."""
    held: Mapped[bool]
    """Whether it is paused because of `max_parallel`. The sweeper queues it when there is room."""
