"""Datasets: versions, stored contents, search index and reports."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ARRAY, BigInteger, CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.dialects.postgresql import TSVECTOR
from sqlalchemy.orm import Mapped, mapped_column, relationship

from core.models.base import Base, CreatedAt, CreatedBy, one_of
from data.schema import DatasetKind


class Dataset(Base):
    """A named list of versions. The rows belong to the versions."""

    __tablename__ = "datasets"
    __table_args__ = (
        CheckConstraint(one_of("kind", DatasetKind), name="kind"),
        Index(None, "owner_id", "created_at", "id"),
        Index(
            "ix_datasets_external_id",
            "owner_id",
            "external_id",
            unique=True,
            postgresql_where=text("external_id IS NOT NULL"),
        ),
        Index("ix_datasets_expires_at", "expires_at", postgresql_where=text("expires_at IS NOT NULL")),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"))
    created_by: Mapped[CreatedBy]
    name: Mapped[str]
    external_id: Mapped[str | None]
    """The id that its owner gave it; unique per owner."""
    kind: Mapped[str]
    created_at: Mapped[CreatedAt]
    archived_at: Mapped[datetime | None]
    """Hidden in lists since then."""
    expires_at: Mapped[datetime | None]
    """When the sweeper may delete it, unless an unfinished job needs it. Null: never."""


class DatasetContent(Base):
    """Rows as canonical JSONL, stored once for all versions that hold them. Never changed.

    Created and deleted under `core.datasets.row_store.lock` of the hash, so that the blob exists as long as the row.
    """

    __tablename__ = "dataset_contents"
    __table_args__ = (
        CheckConstraint("rows > 0", name="rows"),
        CheckConstraint("(damage IS NULL) = (damaged_at IS NULL)", name="damage_has_a_time"),
    )

    sha256: Mapped[str] = mapped_column(primary_key=True)
    """Hash of the stored rows."""
    rows: Mapped[int]
    bytes: Mapped[int]
    blob_key: Mapped[str] = mapped_column(unique=True)
    search_rows: Mapped[int | None]
    """Number of indexed rows. Null: indexing has not begun."""
    created_at: Mapped[CreatedAt]
    number_files: Mapped[dict[str, Any] | None]
    """Size and hash of `rows`, the offsets. Null: not recorded."""
    damage: Mapped[str | None]
    """How the stored rows differ from those that were imported. They are not used until the same rows are imported again."""
    damaged_at: Mapped[datetime | None]
    """When the damage was found."""


class VersionStatus(StrEnum):
    """The state of a version."""

    IMPORTING = "importing"
    """A data task is making it."""
    READY = "ready"
    """Jobs can use it."""
    BLOCKED = "blocked"
    """It has rows and a blocking finding that the user must decide about."""
    FAILED = "failed"
    """It could not be made; `error` has the reason."""


class DatasetVersion(Base):
    """The rows of a dataset at one time, and their origin. Immutable once it is no longer importing."""

    __tablename__ = "dataset_versions"
    __table_args__ = (
        CheckConstraint(one_of("status", VersionStatus), name="status"),
        CheckConstraint("(status IN ('ready', 'blocked')) = (sha256 IS NOT NULL)", name="rows_when_done"),
        CheckConstraint("(status = 'ready') = (ready_at IS NOT NULL)", name="ready_at_when_ready"),
        CheckConstraint("(status = 'failed') = (error IS NOT NULL)", name="failed_says_why"),
        UniqueConstraint("dataset_id", "number"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    dataset_id: Mapped[str] = mapped_column(ForeignKey("datasets.id", ondelete="CASCADE"))
    number: Mapped[int]
    """1, 2, … within the dataset."""
    status: Mapped[str]
    parent_id: Mapped[str | None] = mapped_column(ForeignKey("dataset_versions.id", ondelete="SET NULL"), index=True)
    """The version that it was made from."""
    origin: Mapped[dict[str, Any]]
    """`{"type": "upload" | "fix" | "annotation", …}`."""
    sha256: Mapped[str | None] = mapped_column(ForeignKey("dataset_contents.sha256"), index=True)
    findings: Mapped[list[dict[str, Any]]]
    """Findings of the import."""
    left_out: Mapped[int] = mapped_column(default=0, server_default="0")
    """Number of source records that are not among the rows."""
    error: Mapped[dict[str, Any] | None]
    """`{code, message, errors?}` of a failed version."""
    number_files: Mapped[dict[str, Any] | None]
    """Size and hash of `lines` and `answer_lines`, if they are stored. Null: not recorded."""
    created_at: Mapped[CreatedAt]
    ready_at: Mapped[datetime | None]

    dataset: Mapped[Dataset] = relationship(lazy="joined", innerjoin=True, viewonly=True)
    content: Mapped[DatasetContent | None] = relationship(lazy="joined", viewonly=True)
    """None until the rows are stored."""


class DatasetRow(Base):
    """Search index of one row. The row itself is in the content's blob."""

    __tablename__ = "dataset_rows"
    __table_args__ = (
        Index("ix_dataset_rows_search", "search", postgresql_using="gin"),
        Index(None, "sha256", "prompt_hash"),
    )

    sha256: Mapped[str] = mapped_column(ForeignKey("dataset_contents.sha256", ondelete="CASCADE"), primary_key=True)
    row: Mapped[int] = mapped_column(primary_key=True)
    """From 1."""
    search: Mapped[Any] = mapped_column(TSVECTOR)
    """The words of its texts."""
    prompt_hash: Mapped[int | None]
    """Hash of its prompt, which decides the split, minus 2^63 (PostgreSQL has no unsigned integers). Null: no prompt."""


class DatasetPrompt(Base):
    """A distinct prompt of a dataset's content, with the MinHash bands that find its near duplicates."""

    __tablename__ = "dataset_prompts"

    sha256: Mapped[str] = mapped_column(ForeignKey("dataset_contents.sha256", ondelete="CASCADE"), primary_key=True)
    prompt_hash: Mapped[int] = mapped_column(primary_key=True)
    """The hash as in `dataset_rows`."""
    bands: Mapped[list[int]] = mapped_column(ARRAY(BigInteger))
    """Hashes of the bands of its MinHash signature (data/report/minhash.py), minus 2^63. Two prompts that share one may be near duplicates."""


class DatasetReport(Base):
    """The data report of a version, with or without a model's tokenizer. One report per version and settings."""

    __tablename__ = "dataset_reports"
    __table_args__ = (UniqueConstraint("version_id", "settings_sha256"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    version_id: Mapped[str] = mapped_column(ForeignKey("dataset_versions.id", ondelete="CASCADE"))
    settings: Mapped[dict[str, Any]]
    settings_sha256: Mapped[str]
    task_id: Mapped[str]
    """The data task that makes it, with its progress and its error."""
    result: Mapped[dict[str, Any] | None]
    """Null until the task is done."""
    number_files: Mapped[dict[str, Any] | None]
    """Size and hash of the row numbers of each finding, by its code. Null: not recorded."""
    created_at: Mapped[CreatedAt]
