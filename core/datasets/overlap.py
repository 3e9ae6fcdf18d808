"""Prompts that two datasets share: equal ones by their hashes, near duplicates by the bands of their signatures.

Both are looked up in SQL. Only samples and the candidates for near duplicates are read from the rows; the candidates are
measured in their texts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sqlalchemy import Subquery, func, select, text
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Session

from core.blobs import BlobStore
from core.datasets import rows, splits
from core.errors import SearchNotReady
from core.models import DatasetContent, DatasetPrompt, DatasetRow, DatasetVersion
from data.report.words import jaccard, shingles
from data.splits import prompt_text
from trainer.errors import SpecError

SIMILAR = 0.8
"""Jaccard similarity of word triples from which on two prompts are near duplicates, as in the data report."""
SAMPLES = 20
MOST_CANDIDATES = 4000
"""Most pairs of prompts that are compared. With more, the number of near duplicates is a lower bound."""
_EXCERPT = 200
_PER_BAND = 4
"""Prompts of the other dataset that a prompt is compared with, for each band that they share."""


@dataclass(frozen=True)
class OverlapRow:
    """A row: its number from 1, its line in the source, and the beginning of its prompt."""

    row_number: int
    line: int
    prompt: str


@dataclass(frozen=True)
class OverlapSample:
    """The first row of each dataset with the shared prompt, or with two near duplicates."""

    row: OverlapRow
    other: OverlapRow
    similarity: float = 1.0


@dataclass(frozen=True)
class SharedPrompts:
    """Prompts of one dataset that the other one holds."""

    prompts: int
    """Number of different prompts."""
    rows: int
    """Number of rows with these prompts."""
    other_rows: int | None
    """Number of the other dataset's rows with these prompts. None for near duplicates."""
    samples: list[OverlapSample]
    complete: bool = True
    """False if there may be more than were found."""


@dataclass(frozen=True)
class Overlap:
    """`near` excludes equal prompts. It is None if the rows of either were indexed without bands."""

    exact: SharedPrompts
    near: SharedPrompts | None


def add_prompts(
    session: Session, sha256: str, kind: str, hashes: Sequence[int | None], some: Sequence[dict[str, Any]]
) -> bool:
    """Store the bands of prompts that are not stored yet. Returns False, without a change, if rensa is not installed."""
    prompts = {key: splits.prompt_of(kind, row) for key, row in zip(hashes, some, strict=True) if key is not None}
    found = _bands([prompt_text(prompt) for prompt in prompts.values() if prompt is not None])
    if prompts and found is not None:
        stored = zip(prompts, found, strict=True)
        values = [{"sha256": sha256, "prompt_hash": key, "bands": bands} for key, bands in stored]
        session.execute(upsert(DatasetPrompt).on_conflict_do_nothing(), values)
    return found is not None


def _bands(texts: Sequence[str]) -> list[list[int]] | None:
    try:
        from data.report import minhash  # numpy and rensa, which only the data worker needs

        found = minhash.bands(minhash.signatures([shingles(one) for one in texts]))
    except (ImportError, SpecError):
        return None
    return [[int(band) - splits.HALF for band in bands] for bands in found]


def compare(session: Session, blobs: BlobStore, version: DatasetVersion, other: DatasetVersion) -> Overlap:
    """The prompts of `version` that `other` has too. Raises SearchNotReady while either is not indexed completely."""
    one, two = rows.content_of(version), rows.content_of(other)
    for content in (one, two):
        if content.search_rows != content.rows:
            raise SearchNotReady()
    prompts, counts = _exact_counts(session, one, two)
    places = session.execute(_joined(one, two).order_by("first").limit(SAMPLES)).all()
    samples = _samples(blobs, (version, other), [(place.first, place.other_first, 1.0) for place in places])
    return Overlap(SharedPrompts(prompts, *counts, samples), _near(session, blobs, version, other))


def shared_prompts(session: Session, content: DatasetContent, other: DatasetContent) -> int | None:
    """The number of different prompts that both have; None while either is not indexed completely."""
    if any(one.search_rows != one.rows for one in (content, other)):
        return None
    return _exact_counts(session, content, other)[0]


def _exact_counts(session: Session, content: DatasetContent, other: DatasetContent) -> tuple[int, tuple[int, int]]:
    joined = _joined(content, other).subquery()
    sums = (func.coalesce(func.sum(column), 0) for column in (joined.c.rows, joined.c.other_rows))
    prompts, own, others = session.execute(select(func.count(), *sums).select_from(joined)).one()
    return int(prompts), (int(own), int(others))


def _joined(content: DatasetContent, other: DatasetContent) -> Any:
    """A query of the prompts in both versions, with the number of rows in each and the first of them."""
    own, theirs = _grouped(content, "own"), _grouped(other, "theirs")
    columns = (own.c.rows, theirs.c.rows.label("other_rows"), own.c.first, theirs.c.first.label("other_first"))
    return select(*columns).join(theirs, own.c.prompt_hash == theirs.c.prompt_hash)


def _grouped(content: DatasetContent, name: str) -> Subquery:
    columns = DatasetRow.prompt_hash, func.count().label("rows"), func.min(DatasetRow.row).label("first")
    query = select(*columns).where(DatasetRow.sha256 == content.sha256, DatasetRow.prompt_hash.is_not(None))
    return query.group_by(DatasetRow.prompt_hash).subquery(name)


# Prompts that share a band form a bucket. Each prompt is compared with the first few of its bucket, because prompts from one
# template form a bucket of thousands: all pairs of two such buckets would be millions.
_CANDIDATES = text(
    """
    WITH theirs AS (
        SELECT band, (array_agg(prompt_hash ORDER BY prompt_hash))[1:CAST(:per_band AS int)] AS found
        FROM (SELECT prompt_hash, unnest(bands) AS band FROM dataset_prompts WHERE sha256 = :other) AS cut GROUP BY band
    ), own AS (
        SELECT prompt_hash, unnest(bands) AS band FROM dataset_prompts AS mine WHERE sha256 = :sha256 AND NOT EXISTS (
            SELECT FROM dataset_prompts AS equal WHERE equal.sha256 = :other AND equal.prompt_hash = mine.prompt_hash)
    )
    SELECT DISTINCT own.prompt_hash, unnest(theirs.found) AS other FROM own JOIN theirs USING (band)
    ORDER BY 1, 2 LIMIT :most
    """
)


def _near(session: Session, blobs: BlobStore, version: DatasetVersion, other: DatasetVersion) -> SharedPrompts | None:
    one, two = rows.content_of(version), rows.content_of(other)
    if not all(has_bands(session, content) for content in (one, two)):
        return None
    given = {"sha256": one.sha256, "other": two.sha256, "per_band": _PER_BAND, "most": MOST_CANDIDATES + 1}
    found = [(int(own), int(theirs)) for own, theirs in session.execute(_CANDIDATES, given)]
    pairs = found[:MOST_CANDIDATES]
    own, theirs = (_first_rows(session, one, {a for a, _ in pairs}), _first_rows(session, two, {b for _, b in pairs}))
    texts = (
        _texts(blobs, version, [row for row, _ in own.values()]),
        _texts(blobs, other, [r for r, _ in theirs.values()]),
    )
    similar = list(_similar([((own[a], theirs[b])) for a, b in pairs], *texts))
    places = [(first, other_first, similarity) for (first, _), other_first, similarity in similar]
    samples = _samples(blobs, (version, other), sorted(places)[:SAMPLES])
    return SharedPrompts(
        len(similar), sum(count for (_, count), _, _ in similar), None, samples, complete=len(found) <= MOST_CANDIDATES
    )


def has_bands(session: Session, content: DatasetContent) -> bool:
    """Whether every prompt has bands. Rows that were indexed by an older release, or without rensa, lack them."""
    stored = session.scalar(select(func.count()).select_from(DatasetPrompt).filter_by(sha256=content.sha256))
    different = func.count(DatasetRow.prompt_hash.distinct())
    return bool(stored == session.scalar(select(different).where(DatasetRow.sha256 == content.sha256)))


First = tuple[int, int]
"""Number of a prompt's first row, and the number of rows with the prompt."""


def _first_rows(session: Session, content: DatasetContent, hashes: set[int]) -> dict[int, First]:
    columns = DatasetRow.prompt_hash, func.min(DatasetRow.row), func.count()
    query = select(*columns).where(DatasetRow.sha256 == content.sha256, DatasetRow.prompt_hash.in_(hashes))
    rows = session.execute(query.group_by(DatasetRow.prompt_hash))
    return {key: (first, count) for key, first, count in rows if key is not None}


def _texts(blobs: BlobStore, version: DatasetVersion, numbers: Sequence[int]) -> dict[int, str]:
    """The prompts of these rows as texts, by row number."""
    ordered, found = sorted(set(numbers)), {}
    for number, row in zip(ordered, rows.read(blobs, rows.content_of(version), ordered), strict=True):
        prompt = splits.prompt_of(version.dataset.kind, row)
        found[number] = "" if prompt is None else prompt_text(prompt)
    return found


def _similar(
    pairs: Sequence[tuple[First, First]], own: dict[int, str], theirs: dict[int, str]
) -> Iterator[tuple[First, int, float]]:
    """Each prompt that has a near duplicate, with the row of the nearest one and their similarity."""
    for first, group in groupby(pairs, key=lambda pair: pair[0]):
        mine = frozenset(shingles(own[first[0]]))
        measured = [(jaccard(mine, frozenset(shingles(theirs[row]))), -row) for _, (row, _) in group]
        best, other = max(measured)
        if best >= SIMILAR:
            yield first, -other, best


def _samples(
    blobs: BlobStore, versions: tuple[DatasetVersion, DatasetVersion], places: Sequence[tuple[int, int, float]]
) -> list[OverlapSample]:
    own = _places(blobs, versions[0], [row for row, _, _ in places])
    theirs = _places(blobs, versions[1], [other for _, other, _ in places])
    return [OverlapSample(own[row], theirs[other], round(similarity, 4)) for row, other, similarity in places]


def _places(blobs: BlobStore, version: DatasetVersion, numbers: Sequence[int]) -> dict[int, OverlapRow]:
    ordered = sorted(set(numbers))
    texts, lines = _texts(blobs, version, ordered), rows.lines(blobs, version, ordered)
    return {
        number: OverlapRow(number, line, texts[number][:_EXCERPT]) for number, line in zip(ordered, lines, strict=True)
    }
