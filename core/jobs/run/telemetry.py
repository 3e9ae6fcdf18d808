"""The measurements of a machine: their table, and how they are stored and read."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import delete, func, insert, select
from sqlalchemy.orm import Session

from core.db import storable_numbers
from core.jobs.lifecycle.attempts import held
from core.models import JobTelemetry

MOST_ROWS = 1000
"""Rows of an attempt. When it has more, neighbouring rows are merged until at most half of them are left."""


@dataclass(frozen=True)
class Measurement:
    """One kind of measurement. A name with `<n>` stands for one of each GPU."""

    name: str
    unit: str
    meaning: str


MEASUREMENTS = (
    Measurement("cpu/percent", "percent of one core", "CPU time of the trainer's processes on the worker's machine."),
    Measurement("memory/rss", "bytes", "Resident memory of the trainer's processes on the worker's machine, summed."),
    Measurement("memory/machine_used", "bytes", "Memory of the machine in use, by all processes."),
    Measurement("memory/machine_total", "bytes", "Memory of the machine."),
    Measurement("disk/run_folder", "bytes", "Size of the files in the run folder."),
    Measurement("disk/free", "bytes", "Free space of the disk with the run folder."),
    Measurement("gpu/<n>/utilisation", "percent", "Share of the time in which the GPU ran a kernel."),
    Measurement("gpu/<n>/memory_used", "bytes", "Memory of the GPU in use, by all processes."),
    Measurement("gpu/<n>/memory_total", "bytes", "Memory of the GPU."),
    Measurement("gpu/<n>/power", "watts", "Power that the GPU draws."),
    Measurement("gpu/<n>/temperature", "degrees Celsius", "Temperature of the GPU."),
)


@dataclass(frozen=True)
class Sample:
    """Measurements of one moment, by name."""

    at: datetime
    values: dict[str, float]


def append_samples(session: Session, job_id: str, attempt: int, samples: Sequence[Sample]) -> None:
    """Store samples. A repeated moment is ignored. Raises LeaseLost."""
    held(session, job_id, attempt)
    of_attempt = (JobTelemetry.job_id == job_id, JobTelemetry.attempt == attempt)
    newest = session.scalar(select(func.max(JobTelemetry.at)).where(*of_attempt))
    rows = [
        {
            "job_id": job_id,
            "attempt": attempt,
            "at": sample.at,
            "seconds": 0.0,
            "samples": 1,
            "values": storable_numbers(sample.values),
        }
        for sample in samples
        if newest is None or sample.at > newest
    ]
    if rows:
        session.execute(insert(JobTelemetry), rows)
    if (session.scalar(select(func.count()).select_from(JobTelemetry).where(*of_attempt)) or 0) > MOST_ROWS:
        _merge(session, job_id, attempt)


def read_telemetry(session: Session, job_id: str, attempt: int | None) -> Sequence[JobTelemetry]:
    """The rows of an attempt in order, at most MOST_ROWS. None: those of all attempts, one attempt after the other."""
    query = select(JobTelemetry).where(JobTelemetry.job_id == job_id)
    if attempt is not None:
        query = query.where(JobTelemetry.attempt == attempt)
    return session.scalars(query.order_by(JobTelemetry.attempt, JobTelemetry.at)).all()


def _merge(session: Session, job_id: str, attempt: int) -> None:
    """Replace the rows by half as many or fewer, over buckets of one width."""
    rows = read_telemetry(session, job_id, attempt)
    first, last = rows[0].at, rows[-1].at
    width = max(2 * (last - first).total_seconds() / MOST_ROWS, max(row.seconds for row in rows) * 2)
    buckets: dict[int, list[JobTelemetry]] = defaultdict(list)
    for row in rows:
        buckets[int(row.at.timestamp() // width)].append(row)
    merged = [
        {
            "job_id": job_id,
            "attempt": attempt,
            "at": datetime.fromtimestamp(index * width, UTC),
            "seconds": width,
            "samples": sum(row.samples for row in members),
            "values": _means(members),
        }
        for index, members in sorted(buckets.items())
    ]
    session.execute(delete(JobTelemetry).where(JobTelemetry.job_id == job_id, JobTelemetry.attempt == attempt))
    session.execute(insert(JobTelemetry), merged)


def _means(rows: Sequence[JobTelemetry]) -> dict[str, float]:
    """The mean of each measurement, weighed by the number of samples."""
    sums: dict[str, float] = defaultdict(float)
    counts: dict[str, int] = defaultdict(int)
    for row in rows:
        for name, value in row.values.items():
            sums[name] += value * row.samples
            counts[name] += row.samples
    return {name: total / counts[name] for name, total in sums.items()}
