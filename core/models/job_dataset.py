from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base


class JobDataset(Base):
    """Which version of a dataset a job reads, and as what. Goes when the dataset goes; the job's spec still names it."""

    __tablename__ = "job_datasets"

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    role: Mapped[str] = mapped_column(primary_key=True)
    """The field of the spec's `data` that names it, such as `prompts` or `evaluation_prompts`."""
    version_id: Mapped[str] = mapped_column(ForeignKey("dataset_versions.id", ondelete="CASCADE"), index=True)
