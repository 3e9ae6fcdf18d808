"""The split of rows into training and held-out rows by the hash of the prompt: the rule of `data.splits` in SQL."""

from dataclasses import dataclass
from typing import Any, Literal, cast

from sqlalchemy import ColumnElement, and_, func, not_, or_, select
from sqlalchemy.orm import Session

from core.errors import SearchNotReady
from core.models import DatasetContent, DatasetRow
from data import rows
from data.rows import Prompt
from data.schema import DatasetKind
from data.splits import hash_share, prompt_key, text_hash

SplitName = Literal["train", "eval"]
EVAL_FRACTION = 0.1
"""The default of a job's `data.eval_fraction`."""
HALF = 2**63
"""Subtracted from stored hashes: PostgreSQL's integers are signed. The order stays the same."""


def prompt_of(kind: str, row: dict[str, Any]) -> Prompt | None:
    """The prompt of a canonical row; None if it has none."""
    match kind:
        case DatasetKind.PRETRAINING:
            return None
        case DatasetKind.SFT:
            return rows.demonstration(row).prompt
        case _:
            return cast(Prompt, row["prompt"])


def stored_hash(kind: str, row: dict[str, Any]) -> int | None:
    """The hash of the prompt of a canonical row, minus 2^63; None for a row without a prompt."""
    prompt = prompt_of(kind, row)
    return None if prompt is None else text_hash(prompt_key(prompt)) - HALF


@dataclass(frozen=True)
class Split:
    """The rule for one content: prompts with a hash below `limit` are held out.

    The trainer always holds out the smallest hash, `least`, and always trains on the largest, `most`.
    """

    limit: int
    least: int
    most: int

    def side_of(self, stored: int | None) -> SplitName | None:
        """The side of a row with this hash; None without a prompt."""
        if stored is None:
            return None
        held_out = (stored < self.limit or stored == self.least) and stored != self.most
        return "eval" if held_out else "train"

    def where(self, name: SplitName) -> ColumnElement[bool]:
        """The rows of one side, as an SQL condition."""
        stored = DatasetRow.prompt_hash
        held_out = and_(or_(stored < self.limit, stored == self.least), stored != self.most)
        return held_out if name == "eval" else not_(held_out)


def split(session: Session, content: DatasetContent, eval_fraction: float = EVAL_FRACTION) -> Split | None:
    """The rule; None for rows without prompts. Raises SearchNotReady while the rows are not indexed."""
    if content.search_rows != content.rows:
        raise SearchNotReady()
    ends = select(func.min(DatasetRow.prompt_hash), func.max(DatasetRow.prompt_hash)).filter_by(sha256=content.sha256)
    least, most = session.execute(ends).one()
    if least is None or most is None:
        return None
    return Split(held_out_below(eval_fraction) - HALF, least, most)


def held_out_below(eval_fraction: float) -> int:
    """The smallest hash that is not held out, computed in the trainer's floating point arithmetic."""
    low, high = 0, 2**64
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if hash_share(middle) < eval_fraction else (low, middle)
    return low
