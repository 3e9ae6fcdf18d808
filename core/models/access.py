"""Owners, their API keys, and browser sessions."""

from datetime import datetime

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base, CreatedAt


class Owner(Base):
    """The holder of jobs, datasets, uploads and annotation rounds. Everything that one owner has is private to it."""

    __tablename__ = "owners"

    id: Mapped[str] = mapped_column(primary_key=True)
    """The id of the key that it was made for."""
    name: Mapped[str]
    created_at: Mapped[CreatedAt]


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


class BrowserSession(Base):
    """A signed-in browser."""

    __tablename__ = "browser_sessions"

    sha256: Mapped[str] = mapped_column(primary_key=True)
    """Hash of the token in the cookie."""
    key_id: Mapped[str] = mapped_column(ForeignKey("api_keys.id", ondelete="CASCADE"))
    created_at: Mapped[CreatedAt]
    expires_at: Mapped[datetime] = mapped_column(index=True)
