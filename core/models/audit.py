"""The audit log: for each project a chain of rows, which the database lets nothing change, and the ends of the chain."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base

UNAUDITED: Mapping[str, Any] = {"audited": False}
"""Execution options of a statement that keeps books, such as times of use: the log does not have its changes."""


class AuditRow(Base):
    """One change, or one read that is recorded. A trigger refuses to change or delete it.

    No column refers to another table: the row outlives what it names.
    """

    __tablename__ = "audit_rows"
    __table_args__ = (
        Index(None, "project_id", "object_id"),
        Index(None, "project_id", "user_id"),
        Index(None, "project_id", "at"),
    )

    project_id: Mapped[str] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """Its place in the chain of its project, from 1, without gaps."""
    at: Mapped[datetime]
    """When it was written."""
    action: Mapped[str]
    """The operation id of the API, or a command of the host."""
    user_id: Mapped[str | None]
    """The user who acted; null for a command of the host."""
    user_name: Mapped[str]
    """The name that the user had then."""
    role: Mapped[str | None]
    """The role that the user had then."""
    key_id: Mapped[str | None]
    """The key of the request, or that of its browser session."""
    address: Mapped[str | None]
    """The client's address."""
    object_kind: Mapped[str]
    object_id: Mapped[str | None]
    """The object that the request named or made."""
    request_id: Mapped[str | None]
    status: Mapped[int | None]
    """The status of the response; null for a command of the host."""
    # JSON and not JSONB: the hash needs the very text of each number.
    changes: Mapped[list[dict[str, Any]]] = mapped_column(JSON(none_as_null=True))
    """For each changed row of the database its kind and id, and the changed columns before and after."""
    hash: Mapped[str]
    """SHA-256 of these columns and the hash of the row before."""


class AuditChain(Base):
    """The ends of the chain of a project. Its row is locked while a row is appended."""

    __tablename__ = "audit_chains"

    project_id: Mapped[str] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    """Number of the newest row; 0 before the first one."""
    hash: Mapped[str] = mapped_column(default="", server_default=text("''"))
    """Its hash; empty before the first one."""
    anchor_number: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    """Number of the last row that its age has removed; 0 if there is none."""
    anchor_hash: Mapped[str] = mapped_column(default="", server_default=text("''"))
    """The hash of that row, which the first row that is left continues."""
