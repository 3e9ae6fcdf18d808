"""Uploads and their parts."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base, CreatedAt, CreatedBy, one_of


class UploadStatus(StrEnum):
    """The state of an upload."""

    OPEN = "open"
    """It accepts parts."""
    FETCHING = "fetching"
    """A data worker fetches its bytes."""
    COMPLETE = "complete"
    """All bytes are stored, and can be read."""
    FAILED = "failed"
    """It could not be fetched."""


class Upload(Base):
    """A file in numbered parts (1, 2, …) of `part_bytes` bytes. The last part may be smaller."""

    __tablename__ = "uploads"
    __table_args__ = (
        CheckConstraint(one_of("status", UploadStatus), name="status"),
        CheckConstraint("bytes > 0 AND part_bytes > 0", name="sizes"),
        CheckConstraint("bytes IS NOT NULL OR url IS NOT NULL", name="size_is_known"),
        CheckConstraint("(status = 'complete') = (completed_at IS NOT NULL)", name="completed_when_complete"),
        CheckConstraint(
            "status <> 'complete' OR (bytes IS NOT NULL AND sha256 IS NOT NULL)", name="complete_is_described"
        ),
        CheckConstraint("(status = 'failed') = (error IS NOT NULL)", name="failed_says_why"),
        Index(None, "owner_id", "created_at", "id"),
        Index(None, "expires_at"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"))
    created_by: Mapped[CreatedBy]
    filename: Mapped[str]
    """The name that the user gave it. Shown, and used to detect the format; never a path."""
    bytes: Mapped[int | None]
    """Size of the file. Null while it is fetched from a server that does not report the size."""
    part_bytes: Mapped[int]
    sha256: Mapped[str | None]
    """Hash of the file: the expected one, if given; once complete, that of the stored bytes."""
    url: Mapped[str | None]
    """The address that it is fetched from."""
    status: Mapped[str]
    error: Mapped[dict[str, Any] | None]
    """`{code, message}` of a failed upload."""
    created_at: Mapped[CreatedAt]
    expires_at: Mapped[datetime]
    """When the sweeper deletes it. Every change to the upload postpones this."""
    completed_at: Mapped[datetime | None]


class UploadPart(Base):
    """A received part. Its bytes are a blob (core/uploads/parts.py) and never change."""

    __tablename__ = "upload_parts"
    __table_args__ = (CheckConstraint("number > 0 AND bytes > 0", name="numbers"),)

    upload_id: Mapped[str] = mapped_column(ForeignKey("uploads.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    bytes: Mapped[int]
