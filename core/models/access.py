"""Owners, their API keys, browser sessions and view settings, and the responses of requests that may be repeated."""

from datetime import datetime
from typing import Any

from sqlalchemy import Double, ForeignKey, func, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base, CreatedAt


class Owner(Base):
    """The holder of jobs, datasets, uploads and annotation rounds. Everything that one owner has is private to it."""

    __tablename__ = "owners"
    # Room for new versions of a row in its page: each claim and each end writes one.
    __table_args__ = ({"postgresql_with": {"fillfactor": 50}},)

    id: Mapped[str] = mapped_column(primary_key=True)
    """The id of the key that it was made for."""
    name: Mapped[str]
    created_at: Mapped[CreatedAt]

    quotas: Mapped[dict[str, Any]] = mapped_column(default=dict, server_default=text("'{}'"))
    """The quotas that differ from the defaults in the settings, by name. Null: no limit."""
    # The use of the queue. `core.scheduling.shares` writes these columns, with the claim and the end of each attempt.
    running_jobs: Mapped[int] = mapped_column(default=0, server_default="0")
    """Jobs that workers hold."""
    slots_in_use: Mapped[int] = mapped_column(default=0, server_default="0")
    """Slots of these jobs: GPUs, or processes on workers without a GPU."""
    decayed_use: Mapped[float] = mapped_column(Double, default=0.0, server_default="0")
    """Slot-seconds until `use_at`, decayed by the half-life of the fair share."""
    month_use: Mapped[float] = mapped_column(Double, default=0.0, server_default="0")
    """Slot-seconds of the calendar month of `use_at`, until `use_at`."""
    use_at: Mapped[datetime] = mapped_column(server_default=func.now())
    """When these columns changed last."""


class ApiKey(Base):
    """A credential of an owner. Its text is not stored."""

    __tablename__ = "api_keys"

    id: Mapped[str] = mapped_column(primary_key=True)
    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"), index=True)
    name: Mapped[str]
    prefix: Mapped[str]
    """The first characters of the key, by which its owner recognises it."""
    sha256: Mapped[str] = mapped_column(unique=True)
    """Hash of the whole key. The key is 160 random bits, so a slow hash would add nothing."""
    created_at: Mapped[CreatedAt]
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
    operator: Mapped[bool] = mapped_column(default=False, server_default=text("false"))
    """Whether it may change workers."""
    made_by: Mapped[str | None] = mapped_column(ForeignKey("api_keys.id"), index=True)
    """The key whose request created it; null for a key of the command line, or from before this was recorded."""


class SignInCode(Base):
    """A code of a sign-in link. It is exchanged once for a browser session, and then deleted."""

    __tablename__ = "sign_in_codes"

    sha256: Mapped[str] = mapped_column(primary_key=True)
    """Hash of the code."""
    key_id: Mapped[str] = mapped_column(ForeignKey("api_keys.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[CreatedAt]
    expires_at: Mapped[datetime] = mapped_column(index=True)


class WorkerToken(Base):
    """A token with which one worker joins. It is exchanged once for the worker's settings, and then deleted."""

    __tablename__ = "worker_tokens"

    sha256: Mapped[str] = mapped_column(primary_key=True)
    """Hash of the token."""
    key_id: Mapped[str] = mapped_column(ForeignKey("api_keys.id", ondelete="CASCADE"), index=True)
    """The operator's key that created it. The token ends with that key."""
    created_at: Mapped[CreatedAt]
    expires_at: Mapped[datetime] = mapped_column(index=True)


class BrowserSession(Base):
    """A signed-in browser."""

    __tablename__ = "browser_sessions"

    sha256: Mapped[str] = mapped_column(primary_key=True)
    """Hash of the token in the cookie."""
    key_id: Mapped[str] = mapped_column(ForeignKey("api_keys.id", ondelete="CASCADE"))
    created_at: Mapped[CreatedAt]
    expires_at: Mapped[datetime] = mapped_column(index=True)


class ViewSetting(Base):
    """How a page of the dashboard looks for an owner. Only the dashboard reads its value."""

    __tablename__ = "view_settings"

    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[Any] = mapped_column(JSONB)
    updated_at: Mapped[CreatedAt]


class StoredResponse(Base):
    """The response of a request with an `Idempotency-Key`, which is returned again for a repeated request."""

    __tablename__ = "stored_responses"

    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id", ondelete="CASCADE"), primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    """The `Idempotency-Key`."""
    operation: Mapped[str]
    """Method and path."""
    fingerprint: Mapped[str]
    """Hash of the body."""
    status: Mapped[int]
    headers: Mapped[dict[str, Any]]
    body: Mapped[str]
    created_at: Mapped[CreatedAt]
    expires_at: Mapped[datetime] = mapped_column(index=True)
