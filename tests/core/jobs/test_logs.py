"""Stored console output: numbering, fencing, the limit of an attempt, cursor, tail and search."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from core.errors import LeaseLost
from core.jobs.lifecycle import attempts
from core.jobs.run.logs import LogLines, LogOrigin, LogQuery, append_log, read_log
from core.models import Job, JobAttempt, JobLogChunk
from core.models.job_logs import LogSource
from tests.core.factories import make_job, running

LIMIT = 64 * 1024
AT = datetime(2026, 1, 2, tzinfo=UTC)
WORKER = LogOrigin(LogSource.WORKER)


def lines(*texts: str, rank: int | None = 0, dropped: int = 0) -> LogLines:
    return LogLines(LogOrigin(rank=rank), AT, texts, dropped)


def texts(session: Session, job: Job, **wanted: object) -> list[str]:
    return [line.text for line in read_log(session, job.id, LogQuery(**wanted)).lines]


@pytest.fixture
def job(session: Session) -> Job:
    made = make_job(session)
    running(session, made)
    return made


def test_append_log_numbers_lines_over_all_attempts(session: Session, job: Job) -> None:
    append_log(session, job.id, 1, [LogLines(WORKER, AT, ["w1"]), lines("a", "b")], LIMIT)
    attempts.release(session, job.id, 1, "")
    running(session, job)
    append_log(session, job.id, 2, [lines("c", rank=3)], LIMIT)
    page = read_log(session, job.id, LogQuery())
    found = [(line.number, line.attempt, line.origin.source, line.origin.rank, line.text) for line in page.lines]
    assert found == [
        (1, 1, "worker", None, "w1"),
        (2, 1, "trainer", 0, "a"),
        (3, 1, "trainer", 0, "b"),
        (4, 2, "trainer", 3, "c"),
    ]
    assert (page.cursor, page.more) == (4, False)


def test_append_log_of_an_old_attempt_writes_nothing(session: Session, job: Job) -> None:
    append_log(session, job.id, 1, [lines("a")], LIMIT)
    attempts.release(session, job.id, 1, "")
    session.commit()
    with pytest.raises(LeaseLost):
        append_log(session, job.id, 1, [lines("late")], LIMIT)
    running(session, job)
    with pytest.raises(LeaseLost):
        append_log(session, job.id, 1, [lines("later")], LIMIT)
    assert texts(session, job) == ["a"]


def test_append_log_keeps_beginning_and_end_in_the_limit(session: Session, job: Job) -> None:
    for batch in range(40):
        append_log(session, job.id, 1, [lines(*(f"{batch} {number} {'x' * 90}" for number in range(100)))], LIMIT)
    page = read_log(session, job.id, LogQuery(limit=10_000))
    numbers = [line.number for line in page.lines]
    assert numbers[0] == 1 and numbers[-1] == 4000
    (gap,) = [line for line in page.lines if line.dropped_bytes]
    before = numbers.index(gap.number)
    lost = range(numbers[before - 1] + 1, gap.number)
    assert (
        gap.dropped_bytes
        == sum(len(f"{(n - 1) // 100} {(n - 1) % 100} {'x' * 90}") + 1 for n in lost) - len(lost) // 100
    )
    stored, rows = session.execute(select(func.sum(JobLogChunk.bytes), func.count()).select_from(JobLogChunk)).one()
    attempt = session.get_one(JobAttempt, (job.id, 1))
    assert stored == attempt.console_bytes <= LIMIT
    assert stored > LIMIT // 2 and rows < 40


def test_append_log_bounds_the_rows_of_short_lines(session: Session, job: Job) -> None:
    for start in (0, 500, 1000):
        append_log(session, job.id, 1, [lines(str(start + number)) for number in range(500)], LIMIT)
    assert session.scalar(select(func.count()).select_from(JobLogChunk)) <= LIMIT // 100
    assert texts(session, job, tail=2) == ["1498", "1499"]


def test_append_log_counts_output_that_was_never_read(session: Session, job: Job) -> None:
    append_log(session, job.id, 1, [lines("a"), lines("b", "c", dropped=700)], LIMIT)
    page = read_log(session, job.id, LogQuery())
    assert [line.dropped_bytes for line in page.lines] == [0, 700, 0]


def test_append_log_replaces_text_postgres_cannot_store(session: Session, job: Job) -> None:
    append_log(session, job.id, 1, [lines("a\x00b", "\ud800")], LIMIT)
    assert texts(session, job) == ["a\ufffdb", "\ufffd"]


def test_read_log_selects_by_attempt_source_and_rank(session: Session, job: Job) -> None:
    append_log(session, job.id, 1, [LogLines(WORKER, AT, ["w"]), lines("zero"), lines("one", rank=1)], LIMIT)
    assert texts(session, job, source=LogSource.WORKER) == ["w"]
    assert texts(session, job, rank=1) == ["one"]
    assert texts(session, job, attempt=2) == []


def test_read_log_pages_join_to_the_whole(session: Session, job: Job) -> None:
    append_log(session, job.id, 1, [lines(*map(str, range(25)))], LIMIT)
    append_log(session, job.id, 1, [lines(*map(str, range(25, 40)))], LIMIT)
    read, cursor, more = [], 0, True
    while more:
        page = read_log(session, job.id, LogQuery(after=cursor, limit=7))
        read += [line.text for line in page.lines]
        cursor, more = page.cursor, page.more
    assert read == [str(number) for number in range(40)]
    assert read_log(session, job.id, LogQuery(after=cursor)).cursor == 40


def test_read_log_tail_is_the_end_in_order(session: Session, job: Job) -> None:
    for start in (0, 5, 10):
        append_log(session, job.id, 1, [lines(*(f"line {start + n}" for n in range(5)))], LIMIT)
    page = read_log(session, job.id, LogQuery(tail=7))
    assert [line.text for line in page.lines] == [f"line {n}" for n in range(8, 15)]
    assert page.cursor == 15
    assert texts(session, job, tail=7, after=12) == ["line 12", "line 13", "line 14"]


def test_read_log_search_ignores_case_and_moves_the_cursor(session: Session, job: Job) -> None:
    append_log(session, job.id, 1, [lines("Loss 1", "other", "100 % of _x_", "LOSS 2", "end")], LIMIT)
    page = read_log(session, job.id, LogQuery(search="loss"))
    assert ([line.number for line in page.lines], page.cursor) == ([1, 4], 5)
    assert texts(session, job, search="% of _x") == ["100 % of _x_"]
    assert texts(session, job, search="loss", tail=1) == ["LOSS 2"]


def test_deleted_job_takes_its_log_with_it(session: Session, job: Job) -> None:
    append_log(session, job.id, 1, [lines("a")], LIMIT)
    session.delete(session.get_one(Job, job.id))
    session.flush()
    assert session.scalar(select(func.count()).select_from(JobLogChunk)) == 0
