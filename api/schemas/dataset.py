from typing import Any, Literal

from api.schemas.base import ListOf, Schema, Timestamp
from core.models.dataset import DatasetKind


class Dataset(Schema):
    """An uploaded, validated dataset."""

    object: Literal["dataset"] = "dataset"
    """Always `dataset`."""
    id: str
    """Begins with `ds_`."""
    name: str
    """For people."""
    kind: DatasetKind
    """What its rows are."""
    rows: int
    """How many there are."""
    bytes: int
    """Their size as stored."""
    sha256: str
    """Of the rows as stored, in canonical form: equal uploads have equal sums."""
    created_at: Timestamp
    """When it was uploaded."""


class DatasetList(ListOf[Dataset]):
    """Datasets."""


class DatasetRow(Schema):
    """One row, in canonical form."""

    object: Literal["dataset.row"] = "dataset.row"
    """Always `dataset.row`."""
    line: int
    """Its number, from 1."""
    row: dict[str, Any]
    """The row: `prompt` with `a`, `b` and `label`, with `completion`, or alone."""


class DatasetRowList(ListOf[DatasetRow]):
    """Rows of a dataset, in order. The cursor is the row's number."""
