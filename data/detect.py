"""Detects the format of a file by its first records."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from data.columns import Column, columns_of
from data.errors import RowError
from data.files import encodings
from data.files.opened import Opened, opened
from data.files.records import Record, compact, shown
from data.files.streams import Limits
from data.findings import unusable
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
    sample: list[dict[str, Any]] = field(default_factory=list)
    """The examined records that can be read."""
    names: list[str] | None = None
    """The columns, if the file names them before its records."""


def detect(
    open_: Callable[[], BinaryIO],
    filename: str,
    limits: Limits,
    scratch: Path | None = None,
    encoding: str | None = None,
) -> Detection:
    """The detection of a file. `encoding` is the text encoding; None detects it.

    Raises UnusableFile for a file without records or in another encoding than UTF-8, and InvalidOption for an unknown encoding.
    """
    encoding = encodings.checked(encoding)
    with opened(open_, filename, limits, scratch=scratch, encoding=encoding) as file:
        sample = first_records(file, None, RECORDS)
    if encoding is None:
        _refuse_other_encoding(sample, file)
    good = [value for _, value, _ in sample if not isinstance(value, RowError)]
    problems = [{"line": line, "detail": bad.detail} for line, bad, _ in sample if isinstance(bad, RowError)]
    columns, candidates = columns_of(good, file.names), _candidates(good)
    notes = [*file.notes, *_separated(file)]
    return Detection(
        file.container,
        file.compression,
        file.encoding,
        notes,
        columns,
        candidates,
        stands_out(candidates),
        len(sample),
        problems[:20],
        None if stands_out(candidates) else guess(columns),
        encoding,
        good,
        file.names,
    )


def without(detection: Detection, ignored: Sequence[str]) -> Detection:
    """The detection of the same records without these columns, which may be paths with dots."""
    if not ignored:
        return detection
    sample = [_without(record, ignored) for record in detection.sample]
    columns, candidates = (
        columns_of(sample, [one for one in detection.names or [] if one not in ignored]),
        _candidates(sample),
    )
    sure = stands_out(candidates)
    suggested = None if sure else guess(columns)
    return replace(detection, columns=columns, candidates=candidates, sure=sure, suggested=suggested, sample=sample)


def _without(record: dict[str, Any], ignored: Sequence[str]) -> dict[str, Any]:
    """The record without these columns. Columns inside objects stay, because readers receive objects as a whole."""
    return {name: value for name, value in record.items() if name not in ignored}


def first_records(file: Opened, columns: Callable[[str], bool] | None, count: int) -> list[Record]:
    """Up to `count` records, fewer where they are long."""
    sample: list[Record] = []
    size = 0
    for record in islice(file.records(columns), count):
        sample.append(record)
        size += len(record[2] or shown(record, _BYTES))
        if size > _BYTES:
            break
    return sample


def _refuse_other_encoding(sample: list[Record], file: Opened) -> None:
    """Raise UnusableFile if no record has a character of UTF-8 beyond ASCII, a record is not UTF-8, and an encoding is likely.

    A file that has both is UTF-8 with damaged records, which an import reports one by one.
    """
    bad = [record for record in sample if isinstance(record[1], RowError) and record[1].code == "not_utf8"]
    good = (value for _, value, _ in sample if not isinstance(value, RowError))
    if not bad or file.hint is None or not all(compact(value).isascii() for value in good):
        return
    line, _, raw = bad[0]
    if names := file.hint.names(raw):
        guess = f"it looks like {' or '.join(names)}: set encoding to the right one"
        detail = f"The file is not UTF-8, first in line {line}; {guess}. If single lines are damaged, set it to utf-8."
        raise unusable("not_utf8", detail, line, encodings=names)


def _separated(file: Opened) -> list[str]:
    """A note on the delimiter, unless it is a comma."""
    if file.delimiter in (None, ","):
        return []
    names = {"\t": "tabs", ";": "semicolons", "|": "vertical bars"}
    name = names.get(file.delimiter or "", f"the sign {file.delimiter}")
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
    rest = [candidate for candidate in candidates[1:] if candidate.score >= AS_WELL * candidates[0].score]
    return all(one.specific < candidates[0].specific for one in rest)


def ordered(candidates: list[Candidate]) -> list[Candidate]:
    """Candidates in order of score. Those that score about as well as the best come first, the most specific first, because
    a few different records do not decide the format."""
    best = max((candidate.score for candidate in candidates), default=0)
    return sorted(
        candidates, key=lambda one: (-1, -one.specific) if one.score >= AS_WELL * best else (-one.score, -one.specific)
    )
