from sqlalchemy import ARRAY, BigInteger, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base


class DatasetPrompt(Base):
    """A distinct prompt of a dataset's content, with the MinHash bands that find its near duplicates."""

    __tablename__ = "dataset_prompts"

    sha256: Mapped[str] = mapped_column(ForeignKey("dataset_contents.sha256", ondelete="CASCADE"), primary_key=True)
    prompt_hash: Mapped[int] = mapped_column(primary_key=True)
    """As in `dataset_rows`."""
    bands: Mapped[list[int]] = mapped_column(ARRAY(BigInteger))
    """Hashes of the bands of its MinHash signature (trainer/report/minhash.py), minus 2^63. Two prompts that share one may be near duplicates."""
