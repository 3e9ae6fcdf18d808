"""Appends and reads the console output of jobs.

The beginning of an attempt's output is kept, and its newest output. `PROXIMAL_LOG_BYTES` limits the sum. Chunks between the
two are deleted, and the next chunk records how many bytes were dropped. Lines keep their numbers.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Select, delete, func, insert, select, update
from sqlalchemy.orm import Session

from core.jobs.lifecycle.attempts import held
from core.models import JobAttempt, JobLogChunk
from core.models.job_logs import LogSource
from data.parse import storable

_CHUNK_BYTES = 32 * 1024
"""Chunks are dropped whole, so a chunk is a small part of the limit."""
_ROW_BYTES = 100
"""Size of a chunk's row beside its text. It limits the number of rows of a trainer that prints one short line a second."""
_BEGINNING_SHARE, _SLACK_SHARE = 4, 8
"""The beginning is a quarter of the limit. When the limit is passed, an eighth of it is freed, so that few commits do it."""
_SCANNED_BYTES = 16 * 1024**2
"""Most bytes of stored output that one query reads. A search continues after it with the next page."""
_PAGE_BYTES = 4 * 1024**2
_CHUNKS_AT_A_TIME = 32


@dataclass(frozen=True)
class LogOrigin:
    """The process that wrote lines. `rank` None: the worker, or the launcher of a machine's processes."""

    source: LogSource = LogSource.TRAINER
    machine: int = 0
    rank: int | None = None


@dataclass(frozen=True)
class LogLines:
    """New lines of one process. `dropped_bytes`: output before them that was never read."""

    origin: LogOrigin
    at: datetime
    lines: Sequence[str]
    dropped_bytes: int = 0


@dataclass(frozen=True)
class LogQuery:
    """A selection of lines. `after` is a line number. `tail`: only the last lines that fit; then `after` is a lower limit."""

    attempt: int | None = None
    source: LogSource | None = None
    rank: int | None = None
    after: int = 0
    limit: int = 1000
    tail: int | None = None
    search: str = ""
    """Only lines with this text. Upper and lower case are equal."""


@dataclass(frozen=True)
class LogLine:
    """One line. `dropped_bytes`: size of the output before it that is not stored; 0 for most lines."""

    number: int
    attempt: int
    at: datetime
    origin: LogOrigin
    text: str
    dropped_bytes: int = 0


@dataclass(frozen=True)
class LogPage:
    """Lines in order. `cursor` is the `after` of the next query. `more`: lines after the cursor are already stored."""

    lines: list[LogLine] = field(default_factory=list)
    cursor: int = 0
    more: bool = False


def append_log(session: Session, job_id: str, attempt: int, parts: Iterable[LogLines], limit: int) -> None:
    """Store new lines under the next numbers, and drop old output beyond `limit` bytes. Raises LeaseLost."""
    held(session, job_id, attempt)
    row = session.get_one(JobAttempt, (job_id, attempt), populate_existing=True)
    number, size = next_line(session, job_id), row.console_bytes
    chunks = []
    for piece in (piece for part in parts for piece in _split(part)):
        chunk = _chunk(piece, number)
        size += chunk["bytes"]
        beginning = size <= limit // _BEGINNING_SHARE
        chunks.append(chunk | {"job_id": job_id, "attempt": attempt, "beginning": beginning})
        number += len(piece.lines)
    if chunks:
        session.execute(insert(JobLogChunk), chunks)
    row.console_bytes = size - (_drop(session, row, size - limit + limit // _SLACK_SHARE) if size > limit else 0)
    session.flush()


def next_line(session: Session, job_id: str) -> int:
    """Number of the next line of the job. The worker compares it to find out whether a commit succeeded."""
    query = select(JobLogChunk.first_line + JobLogChunk.lines).where(JobLogChunk.job_id == job_id)
    return session.scalars(query.order_by(JobLogChunk.first_line.desc()).limit(1)).first() or 1


def read_log(session: Session, job_id: str, wanted: LogQuery) -> LogPage:
    """At most `limit` lines, or `tail` lines, that match. The page ends earlier after 4 MiB of text or 16 MiB of search."""
    query = _selection(job_id, wanted)
    if wanted.tail is not None:
        return _tail(session, query, wanted)
    lines: list[LogLine] = []
    cursor, size, scanned = wanted.after, 0, 0
    with _chunks(session, query.order_by(JobLogChunk.first_line)) as chunks:
        for chunk in chunks:
            if scanned > _SCANNED_BYTES:
                return LogPage(lines, cursor, more=True)
            for line in _lines_of(chunk, wanted.after):
                if len(lines) == wanted.limit or size > _PAGE_BYTES:
                    return LogPage(lines, cursor, more=True)
                cursor = line.number
                if _matches(line, wanted):
                    lines.append(line)
                    size += len(line.text)
            scanned += chunk.bytes
    return LogPage(lines, cursor)


def _tail(session: Session, query: Select[JobLogChunk], wanted: LogQuery) -> LogPage:
    found: list[LogLine] = []
    cursor, scanned = wanted.after, 0
    with _chunks(session, query.order_by(JobLogChunk.first_line.desc())) as chunks:
        for chunk in chunks:
            cursor = max(cursor, chunk.first_line + chunk.lines - 1)
            found += [line for line in _lines_of(chunk, wanted.after) if _matches(line, wanted)][::-1]
            scanned += chunk.bytes
            if len(found) >= (wanted.tail or 0) or scanned > _SCANNED_BYTES:
                break
    return LogPage(found[: wanted.tail][::-1], cursor)


def _selection(job_id: str, wanted: LogQuery) -> Select[JobLogChunk]:
    query = select(JobLogChunk).where(JobLogChunk.job_id == job_id)
    query = query.where(JobLogChunk.first_line + JobLogChunk.lines > wanted.after + 1)
    for column, value in (
        (JobLogChunk.attempt, wanted.attempt),
        (JobLogChunk.source, wanted.source),
        (JobLogChunk.rank, wanted.rank),
    ):
        if value is not None:
            query = query.where(column == value)
    return query


def _matches(line: LogLine, wanted: LogQuery) -> bool:
    return not wanted.search or wanted.search.lower() in line.text.lower()


@contextmanager
def _chunks(session: Session, query: Select[JobLogChunk]) -> Iterator[Iterable[JobLogChunk]]:
    """The chunks, read from the database a few at a time. The cursor there is closed at the end of the block."""
    with session.scalars(query.execution_options(yield_per=_CHUNKS_AT_A_TIME)) as found:
        yield found


def _lines_of(chunk: JobLogChunk, after: int) -> Iterator[LogLine]:
    """The lines of a chunk after line `after`."""
    origin = LogOrigin(LogSource(chunk.source), chunk.machine, chunk.rank)
    for index, text in enumerate(chunk.text.split("\n")):
        number, dropped = chunk.first_line + index, 0 if index else chunk.dropped_bytes
        if number > after:
            yield LogLine(number, chunk.attempt, chunk.at, origin, text, dropped)


def _split(part: LogLines) -> Iterator[LogLines]:
    """The lines in pieces of the size of a chunk."""
    piece: list[str] = []
    size, dropped = 0, part.dropped_bytes
    for line in part.lines:
        if piece and size + len(line) > _CHUNK_BYTES:
            yield LogLines(part.origin, part.at, piece, dropped)
            piece, size, dropped = [], 0, 0
        piece.append(line)
        size += len(line) + 1
    if piece:
        yield LogLines(part.origin, part.at, piece, dropped)


def _chunk(part: LogLines, number: int) -> dict[str, Any]:
    text = storable("\n".join(part.lines))
    return {
        "first_line": number,
        "lines": len(part.lines),
        "at": part.at,
        "source": part.origin.source.value,
        "machine": part.origin.machine,
        "rank": part.origin.rank,
        "text": text,
        "bytes": len(text.encode()) + _ROW_BYTES,
        "dropped_bytes": part.dropped_bytes,
    }


def _drop(session: Session, row: JobAttempt, wanted: int) -> int:
    """Delete the oldest chunks after the beginning, of at least `wanted` bytes. Returns the bytes that were freed.

    The newest chunk is kept. It takes over the count of dropped bytes where no other chunk follows.
    """
    of_attempt = (JobLogChunk.job_id == row.job_id, JobLogChunk.attempt == row.number, ~JobLogChunk.beginning)
    before = func.coalesce(func.sum(JobLogChunk.bytes).over(order_by=JobLogChunk.first_line, rows=(None, -1)), 0)
    sums = select(JobLogChunk.first_line, before.label("before")).where(*of_attempt).subquery()
    newest = select(func.max(JobLogChunk.first_line)).where(*of_attempt).scalar_subquery()
    oldest = select(sums.c.first_line).where(sums.c.before < wanted, sums.c.first_line < newest)
    in_job = JobLogChunk.job_id == row.job_id
    gone = session.execute(
        delete(JobLogChunk)
        .where(in_job, JobLogChunk.first_line.in_(oldest))
        .returning(JobLogChunk.bytes, JobLogChunk.dropped_bytes)
        .execution_options(synchronize_session=False)
    ).all()
    freed = sum(int(chunk.bytes) for chunk in gone)
    dropped = sum(chunk.bytes - _ROW_BYTES + chunk.dropped_bytes for chunk in gone)
    following = select(func.min(JobLogChunk.first_line)).where(*of_attempt).scalar_subquery()
    session.execute(
        update(JobLogChunk)
        .where(in_job, JobLogChunk.first_line == following)
        .values(dropped_bytes=JobLogChunk.dropped_bytes + dropped)
        .execution_options(synchronize_session=False)
    )
    return freed
