"""Formats of data, and what a file looks like before it is imported."""

from typing import Any, Literal, Self

from pydantic import ConfigDict

from api.schemas.base import ListOf, Schema
from core.datasets.detect import Preview
from core.models.datasets import DatasetKind


class DatasetFormat(Schema):
    """A format that files may have."""

    object: Literal["dataset.format"] = "dataset.format"
    """Always `dataset.format`."""
    id: str
    """What `format` is set to."""
    title: str
    """Its name for people."""
    kinds: list[DatasetKind]
    """What it can be read as, the usual first."""
    about: str
    """What a record is, and what becomes of it."""
    source: str
    """Where it is described, or the data that it is known from. Empty: it is the platform's own."""
    example: list[dict[str, Any]]
    """Records as they come."""
    mapping: dict[str, Any] | None
    """The example's mapping, of `custom`."""
    becomes: list[dict[str, Any]]
    """The rows that the example gives, as they are stored."""


class DatasetFormatList(ListOf[DatasetFormat]):
    """Every format, in the order in which people look for them."""


class PreviewRequest(Schema):
    """How to read an upload; what is left out is detected."""

    model_config = ConfigDict(extra="forbid")

    format: str | None = None
    """A format's id, see `GET /v1/reference/formats`."""
    kind: DatasetKind | None = None
    """What the rows are to be."""
    mapping: dict[str, Any] | None = None
    """Which column is which field, for the format `custom`: `{"fields": {…}, "labels": {…}}`."""
    encoding: str | None = None
    """Of the file's text, by a name such as `cp1252` or `shift_jis`."""


class PreviewColumn(Schema):
    """A field of the records."""

    name: str
    """With dots between the names of nested ones."""
    type: str
    """In words: `text`, `number or null`, `messages`, …"""
    examples: list[str]
    """Different values, shortened."""
    share: float
    """Of the records, those that have it."""


class PreviewCandidate(Schema):
    """What the records could be."""

    format: str
    """A format's id."""
    title: str
    """Its name for people."""
    kind: DatasetKind
    """What the rows would be."""
    score: float
    """Share of the records that look like it."""
    why: str
    """In a sentence."""


class PreviewPlan(Schema):
    """What the rows of a preview were read with."""

    format: str
    """A format's id."""
    kind: DatasetKind
    """What the rows are."""
    mapping: dict[str, Any] | None
    """Which column is which field, of `custom`."""


class PreviewRow(Schema):
    """A record, and a row that it becomes, or why it becomes none. Some records give several rows."""

    line: int
    """Where it is in the file: line, or number of the record in JSON arrays and Parquet."""
    raw: str
    """How it begins there."""
    row: dict[str, Any] | None
    """The row as it would be stored."""
    problem: str | None
    """Why there is none."""


class PreviewProblem(Schema):
    """A record that cannot be read at all."""

    line: int
    """Where it is."""
    detail: str
    """What is wrong."""


class UploadPreview(Schema):
    """What an upload is, by its first records, and what they would become."""

    object: Literal["upload.preview"] = "upload.preview"
    """Always `upload.preview`."""
    container: Literal["jsonl", "json", "csv", "parquet"]
    """How the records lie in it, whatever it is called."""
    compression: Literal["none", "gzip", "zstd"]
    """How it is packed."""
    encoding: str
    """Of its text; empty for Parquet."""
    notes: list[str]
    """What is unusual about the file."""
    sure: bool
    """Whether one candidate stands out."""
    records: int
    """How many were looked at."""
    columns: list[PreviewColumn]
    """Their fields."""
    candidates: list[PreviewCandidate]
    """What they could be, the most likely first."""
    problems: list[PreviewProblem]
    """The first records that cannot be read."""
    suggested: dict[str, Any] | None
    """A mapping to begin with, where nothing stands out and the columns' names suggest one."""
    plan: PreviewPlan | None
    """What the rows were read with; null: it is not clear, and somebody has to say."""
    rows: list[PreviewRow]
    """The first rows."""

    @classmethod
    def of(cls, preview: Preview) -> Self:
        """As it is answered."""
        told = {name: getattr(preview.detection, name) for name in cls.model_fields if hasattr(preview.detection, name)}
        return cls.model_validate({**told, "plan": preview.plan, "rows": preview.rows})
