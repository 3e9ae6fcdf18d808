"""What two datasets have in common."""

from typing import Literal

from api.schemas.base import Schema


class OverlapSide(Schema):
    """One of the two datasets."""

    id: str
    """`ds_…`"""
    version: int
    """The version that was compared."""
    rows: int
    """Its rows."""


class OverlapRow(Schema):
    """A row with a prompt that the other dataset holds too."""

    row_number: int
    """Its number, from 1."""
    line: int
    """Where it is in the file that was uploaded."""
    prompt: str
    """How its prompt begins."""


class OverlapSample(Schema):
    """The first row of each dataset with one prompt, or with two that are nearly the same."""

    row: OverlapRow
    """In `dataset`."""
    other: OverlapRow
    """In `other`."""
    similarity: float
    """Share of the word triples that both prompts have; 1 for equal prompts."""


class SharedPrompts(Schema):
    """Prompts of `dataset` that `other` holds."""

    prompts: int
    """How many different ones."""
    rows: int
    """Rows of `dataset` with them."""
    other_rows: int | None
    """Rows of `other` with them; null for near duplicates, which are not counted there."""
    samples: list[OverlapSample]
    """The first of them, 20 at most."""
    complete: bool
    """False: more pairs of prompts look alike than are measured, so there may be more near duplicates."""


class Overlap(Schema):
    """Prompts that two datasets share."""

    object: Literal["dataset.overlap"] = "dataset.overlap"
    """Always `dataset.overlap`."""
    dataset: OverlapSide
    """The one whose prompts are looked for."""
    other: OverlapSide
    """The one in which they are looked for."""
    exact: SharedPrompts
    """Equal prompts: text, and one message of the user's with that text, are the same prompt."""
    near: SharedPrompts | None
    """Near duplicates: other prompts that share 0.8 of their word triples or more. Null: not known yet. An older version of the platform indexed the rows without what these are found by; this request has them indexed again, so compare again later. It stays null where the data worker has no rensa."""
