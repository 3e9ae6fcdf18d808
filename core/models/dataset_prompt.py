from sqlalchemy import ARRAY, BigInteger, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base


class DatasetPrompt(Base):
    """One of the different prompts of a content, with what near duplicates of it are found by."""

    __tablename__ = "dataset_prompts"

    sha256: Mapped[str] = mapped_column(ForeignKey("dataset_contents.sha256", ondelete="CASCADE"), primary_key=True)
    prompt_hash: Mapped[int] = mapped_column(primary_key=True)
    """As in `dataset_rows`."""
    bands: Mapped[list[int]] = mapped_column(ARRAY(BigInteger))
    """Of its MinHash signature (trainer/report/minhash.py), less 2^63: two prompts that share one may be near duplicates."""
