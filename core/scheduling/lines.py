"""The lines of the queue, as rows of `queue_lines`: the jobs of one owner with one priority and one requirement.

A row is added when a job is queued. It holds the time since which the line waits and the age of its first job, so a claim
orders the lines without reading their jobs. If the first job leaves without a claim, both stay as they are. A line without jobs keeps its row for a while, and the claim passes over it.

Jobs are queued under a lock of their row or of their owner's submissions, but not of the owner's row. So a row may be missing
when another program queues a job, or when the last check of an old row overlaps with a submission. The sweeper adds it.
"""

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from core.models import queue_lines
from core.scheduling.matching import Requirement
from core.scheduling.policy import Line

_KEY = "owner_id, priority, requirement"
_FIRST_JOB = f"""
    SELECT id FROM jobs WHERE status = 'queued' AND ({_KEY}) = (line.owner_id, line.priority, line.requirement)
    ORDER BY created_at, id LIMIT 1"""
_WAIT_ANEW = text(
    """
    UPDATE queue_lines AS line SET waits_since = job.queued_at, oldest = job.created_at
    FROM jobs AS job
    WHERE job.id = :job_id AND line.owner_id = job.owner_id AND line.priority = job.priority
        AND line.requirement = job.requirement AND line.waits_since < job.queued_at AND NOT EXISTS (
            SELECT FROM jobs AS other
            WHERE other.status = 'queued' AND other.owner_id = job.owner_id AND other.priority = job.priority
                AND other.requirement = job.requirement AND (other.created_at, other.id) < (job.created_at, job.id))
    """
)
_ADD = text(
    f"""
    INSERT INTO queue_lines ({_KEY}, waits_since, oldest) SELECT {_KEY}, queued_at, created_at FROM jobs WHERE id = :job_id
    ON CONFLICT DO NOTHING
    """
)
_ADD_MISSING = text(
    f"""
    WITH RECURSIVE heads AS (
        (SELECT {_KEY}, queued_at, created_at FROM jobs WHERE status = 'queued' ORDER BY {_KEY}, created_at, id LIMIT 1)
        UNION ALL
        SELECT next.* FROM heads CROSS JOIN LATERAL (
            SELECT {_KEY}, queued_at, created_at FROM jobs
            WHERE status = 'queued' AND ({_KEY}) > (heads.owner_id, heads.priority, heads.requirement)
            ORDER BY {_KEY}, created_at, id LIMIT 1
        ) AS next
    )
    INSERT INTO queue_lines ({_KEY}, waits_since, oldest) SELECT {_KEY}, queued_at, created_at FROM heads
    ON CONFLICT DO NOTHING
    """
)
_REMOVE_EMPTY = text(
    f"""
    DELETE FROM queue_lines WHERE ({_KEY}) IN (
        SELECT {_KEY} FROM queue_lines AS line
        WHERE waits_since < now() - interval '1 hour' AND NOT EXISTS ({_FIRST_JOB})
        FOR UPDATE SKIP LOCKED)
    """
)
_READ = text(
    f"""
    SELECT {_KEY}, extract(epoch FROM waits_since)::float8 AS waits_since, extract(epoch FROM oldest)::float8 AS oldest,
        jobs.ids, jobs.times
    FROM queue_lines AS line CROSS JOIN LATERAL (
        SELECT array_agg(id ORDER BY created_at, id) AS ids,
            array_agg(extract(epoch FROM created_at)::float8 ORDER BY created_at, id) AS times
        FROM (
            SELECT id, created_at FROM jobs
            WHERE status = 'queued' AND ({_KEY}) = (line.owner_id, line.priority, line.requirement)
            ORDER BY created_at, id LIMIT :most
        ) AS of_line
    ) AS jobs
    WHERE jobs.ids IS NOT NULL
    """
)


def enter_line(session: Session, job_id: str) -> None:
    """Add the line of a job that was queued in this transaction. If the job is the first of its line, the line waits from now."""
    waits_anew = session.execute(_WAIT_ANEW, {"job_id": job_id})
    if not waits_anew.rowcount:  # type: ignore[attr-defined]
        session.execute(_ADD, {"job_id": job_id})


def repair_lines(session: Session) -> None:
    """Add lines that are missing, and remove those that have had no job for long."""
    session.execute(_REMOVE_EMPTY)
    session.execute(_ADD_MISSING)


def count_lines(session: Session) -> int:
    """The number of lines, also of those without jobs."""
    count: int = session.scalars(select(func.count()).select_from(queue_lines)).one()
    return count


def read_lines(session: Session) -> list[Line]:
    """All lines with a queued job."""
    return [line for line, _ in read_jobs_of_lines(session, 1)]


def read_jobs_of_lines(session: Session, most: int) -> list[tuple[Line, list[tuple[str, float]]]]:
    """All lines with a queued job, and the id and submission time of each job that follows the first. At most `most` jobs a line."""
    lines = []
    for row in session.execute(_READ, {"most": most}):
        need = Requirement.from_stored(row.requirement)
        line = Line(row.ids[0], row.owner_id, row.oldest, row.waits_since, row.priority, need)
        lines.append((line, list(zip(row.ids[1:], row.times[1:], strict=True))))
    return lines
