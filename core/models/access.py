"""Projects, their members, API keys, browser sessions and view settings, and the responses of requests that may be repeated.

The table of projects is called `owners`, and its foreign keys `owner_id`, as in the releases before projects had members. Those
releases read the same tables during an upgrade (CONTRIBUTING.md, Migrations).
"""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, Double, ForeignKey, Text, func, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base, CreatedAt, one_of


class Project(Base):
    """The holder of jobs, datasets, uploads and annotation rounds. Only its members see them, as their roles allow."""

    __tablename__ = "owners"
    # Room for new versions of a row in its page: each claim and each end writes one.
    __table_args__ = ({"postgresql_with": {"fillfactor": 50}},)

    id: Mapped[str] = mapped_column(primary_key=True)
    """Begins with `prj_`. A project from before projects had members has the id of the key that it was made for."""
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


class Role(StrEnum):
    """The rights of a member in a project. `core.access.policy` has the table."""

    VIEWER = "viewer"
    ANNOTATOR = "annotator"
    MEMBER = "member"
    ADMIN = "admin"


class UserKind(StrEnum):
    PERSON = "person"
    SERVICE = "service"
    """A program: a service account."""


class User(Base):
    """A person, or a service account, that acts in projects."""

    __tablename__ = "users"
    __table_args__ = (CheckConstraint(one_of("kind", UserKind), name="kind"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    """Begins with `usr_`."""
    name: Mapped[str]
    kind: Mapped[UserKind] = mapped_column(Text)
    created_at: Mapped[CreatedAt]


class Membership(Base):
    """A user's role in a project. A user without a row is no member."""

    __tablename__ = "memberships"
    __table_args__ = (CheckConstraint(one_of("role", Role), name="role"),)

    project_id: Mapped[str] = mapped_column(ForeignKey("owners.id", ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True)
    role: Mapped[Role] = mapped_column(Text)
    created_at: Mapped[CreatedAt]


class ApiKey(Base):
    """A credential of a user in one project. Its text is not stored."""

    __tablename__ = "api_keys"

    id: Mapped[str] = mapped_column(primary_key=True)
    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"), index=True)
    name: Mapped[str]
    user_id: Mapped[str | None]
    """The user that the key acts for. Null: a key of a release without users, until it is used for the first time."""
    scopes: Mapped[list[str] | None] = mapped_column(JSONB(none_as_null=True))
    """The scopes to which it is limited (`policy.Scope`). Null: everything that the role of its user allows."""
    expires_at: Mapped[datetime | None]
    """When it stops being valid; null: never."""
    prefix: Mapped[str]
    """The first characters of the key, by which its user recognises it."""
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
    address: Mapped[str | None]
    """The address that signed in; null: a session of an older release."""
    user_agent: Mapped[str | None]
    """The browser's name for itself when it signed in."""
    created_at: Mapped[CreatedAt]
    expires_at: Mapped[datetime] = mapped_column(index=True)

    @property
    def id(self) -> str:
        """Names the session to its user. Half of the hash, from which no cookie follows."""
        return f"ses_{self.sha256[:32]}"


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
