from datetime import datetime

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base, CreatedAt


class BrowserSession(Base):
    """A signed-in browser: what its cookie stands for."""

    __tablename__ = "browser_sessions"

    sha256: Mapped[str] = mapped_column(primary_key=True)
    """Of the cookie's token."""
    key_id: Mapped[str] = mapped_column(ForeignKey("api_keys.id", ondelete="CASCADE"))
    created_at: Mapped[CreatedAt]
    expires_at: Mapped[datetime] = mapped_column(index=True)
