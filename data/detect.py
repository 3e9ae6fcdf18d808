"""Detects the format of a file by its first records."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from data.columns import Column, columns_of
from data.errors import RowError
from data.files import encodings
from data.files.opened import Opened, opened
from data.files.records import Record, shown
from data.files.streams import Limits
from data.formats import FORMATS, SPELT
from data.formats.base import Format
from data.formats.guess import guess
from data.spelling import respelt

RECORDS = 200
"""Records that are examined."""
_BYTES = 4 * 1024**2
"""Number of bytes after which no further record is examined."""


@dataclass(frozen=True)
class Candidate:
    """A format and kind that the records may have."""

    format: str
    title: str
    kind: str
    score: float
    """Share of the examined records that fit."""
    why: str
    specific: int
    """Decides between equal scores: the higher value describes the records more closely."""


@dataclass(frozen=True)
class Detection:
    """Container, columns and candidate formats, found in the first records."""

    container: str
    compression: str
    encoding: str
    notes: list[str]
    columns: list[Column]
    candidates: list[Candidate]
    """Best first."""
    sure: bool
    records: int
    """Number of examined records."""
    problems: list[dict[str, Any]] = field(default_factory=list)
    """`{"line", "detail"}` of records that cannot be read."""
    suggested: dict[str, Any] | None = None
    """A mapping that the column names suggest; None where a format is certain or no name is known."""
    named_encoding: str | None = None
    """The encoding that the file was read with because the user named it."""


def detect(
    open_: Callable[[], BinaryIO],
    filename: str,
    limits: Limits,
    scratch: Path | None = None,
    encoding: str | None = None,
) -> Detection:
    """The detection of a file. `encoding` is the text encoding; None detects it.

    Raises UnusableFile for a file without records, and InvalidOption for an unknown encoding.
    """
    encoding = encodings.checked(encoding)
    with opened(open_, filename, limits, scratch=scratch, encoding=encoding) as found:
        sample = first_records(found, None, RECORDS)
    good = [value for _, value, _ in sample if not isinstance(value, RowError)]
    problems = [{"line": line, "detail": bad.detail} for line, bad, _ in sample if isinstance(bad, RowError)]
    columns, candidates = columns_of(good, found.names), _candidates(good)
    notes = [*found.notes, *_separated(found)]
    return Detection(
        found.container,
        found.compression,
        found.encoding,
        notes,
        columns,
        candidates,
        stands_out(candidates),
        len(sample),
        problems[:20],
        None if stands_out(candidates) else guess(columns),
        encoding,
    )


def first_records(found: Opened, columns: Callable[[str], bool] | None, count: int) -> list[Record]:
    """Up to `count` records, fewer where they are long."""
    sample: list[Record] = []
    size = 0
    for record in islice(found.records(columns), count):
        sample.append(record)
        size += len(record[2] or shown(record, _BYTES))
        if size > _BYTES:
            break
    return sample


def _separated(found: Opened) -> list[str]:
    """A note on the delimiter, unless it is a comma."""
    if found.delimiter in (None, ","):
        return []
    names = {"\t": "tabs", ";": "semicolons", "|": "vertical bars"}
    name = names.get(found.delimiter or "", f"the sign {found.delimiter}")
    return [f"Its columns are separated by {name}."]


def _candidates(records: list[dict[str, Any]]) -> list[Candidate]:
    spelt = [respelt(record, SPELT) for record in records]
    return ordered([candidate for known in FORMATS.values() for candidate in _rated(known, spelt)])


def _rated(known: Format, records: list[dict[str, Any]]) -> Iterator[Candidate]:
    """A candidate for each kind that the format gives, the usual kind first."""
    kinds = known.kinds
    if known.suggests is not None and any(known.fits(record) for record in records):
        first = known.suggests(records)
        kinds = (first, *(kind for kind in kinds if kind is not first))
    tests = known.fits_as or dict.fromkeys(kinds, known.fits)
    for index, (kind, test) in enumerate(tests.items()):
        fits = [float(test(record)) for record in records]
        score = sum(fits) / len(fits) if fits else 0.0
        if not score:
            continue
        count = sum(1 for fit in fits if fit)
        verb = "has" if count == 1 else "have"
        why = f"{count} of the {len(fits)} records that were looked at {verb} its fields."
        less = 0 if known.one_of_many else 10 if known.fits_as else 1
        specific = known.specific - less * index
        yield Candidate(known.id, known.title, kind.value, round(score, 4), why, specific)


LIKELY = 0.6
"""Least score of a format that is chosen without the user."""
AS_WELL = 0.97
"""Formats with at least this share of the best score count as equal to the best."""


def stands_out(candidates: list[Candidate], least: float = LIKELY) -> bool:
    """Whether the first candidate scores `least` or more, and is more specific than every other candidate of equal score."""
    if not candidates or candidates[0].score < least:
        return False
    rest = [one for one in candidates[1:] if one.score >= AS_WELL * candidates[0].score]
    return all(one.specific < candidates[0].specific for one in rest)


def ordered(candidates: list[Candidate]) -> list[Candidate]:
    """Candidates in order of score. Those that score about as well as the best come first, the most specific first, because
    a few different records do not decide the format."""
    best = max((one.score for one in candidates), default=0)
    return sorted(
        candidates, key=lambda one: (-1, -one.specific) if one.score >= AS_WELL * best else (-one.score, -one.specific)
    )
