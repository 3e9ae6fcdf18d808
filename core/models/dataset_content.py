from sqlalchemy import CheckConstraint
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base, CreatedAt


class DatasetContent(Base):
    """Rows as canonical JSONL, stored once however many versions hold them. Never changed.

    Made and removed under `core.datasets.contents.lock` of the sum, so that the blob is there as long as the row is.
    """

    __tablename__ = "dataset_contents"
    __table_args__ = (CheckConstraint("rows > 0", name="rows"),)

    sha256: Mapped[str] = mapped_column(primary_key=True)
    """Of the stored rows."""
    rows: Mapped[int]
    bytes: Mapped[int]
    blob_key: Mapped[str] = mapped_column(unique=True)
    search_rows: Mapped[int | None]
    """How many rows are in the search index so far; none: it was not begun."""
    created_at: Mapped[CreatedAt]
