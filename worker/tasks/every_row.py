"""Going through a version, row by row."""

from collections.abc import Iterator
from typing import Any

from core.datasets import rows
from core.models import DatasetVersion
from worker.tasks.context import TaskRun

_EVERY = 1000


def every_row(task: TaskRun, version: DatasetVersion) -> Iterator[tuple[int, dict[str, Any]]]:
    """All rows with their numbers; now and then it is told how far that is, as the first tenth of the task."""
    total = version.content.rows if version.content else 1
    for stored in rows.stream(task.blobs, version):
        if stored.number % _EVERY == 0:
            task.tell(0.1 * stored.number / total, f"Looking at row {stored.number:,} of {total:,}")
        yield stored.number, stored.row
