from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base


class CheckpointPin(Base):
    """A checkpoint that an unfinished job starts from: the database refuses to let it, or its job, be deleted.

    Goes when the job that needs it has ended; that job's spec still names the checkpoint.
    """

    __tablename__ = "checkpoint_pins"

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    """The job that needs it."""
    field: Mapped[str] = mapped_column(primary_key=True)
    """Where its spec names it, as JSON pointer: `#/model/path`."""
    checkpoint_id: Mapped[str] = mapped_column(ForeignKey("checkpoints.id", ondelete="RESTRICT"), index=True)
