from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base, CreatedAt


class Worker(Base):
    """A worker that gives signs of life. It leaves when it stops; the sweeper removes it when it falls silent."""

    __tablename__ = "workers"

    id: Mapped[str] = mapped_column(primary_key=True)
    hostname: Mapped[str]
    job_id: Mapped[str | None]
    """What it is working on; no foreign key, since a sign of life must never be refused."""
    started_at: Mapped[CreatedAt]
    last_seen_at: Mapped[datetime]
