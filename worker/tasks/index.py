"""The data task `index`: makes a content's rows findable, by word and by split."""

from collections.abc import Iterator
from typing import Any, BinaryIO

import orjson
from sqlalchemy import select

from core.datasets import overlap, rows, search
from core.db import session_scope
from core.models import Dataset, DatasetContent, DatasetVersion
from worker.tasks.context import TaskRun

_MOST_ROWS, _MOST_BYTES = 1000, 8 * 1024**2
"""Of one batch: what is in memory, and what one transaction writes."""
Row = dict[str, Any]


def run(task: TaskRun) -> None:
    """Goes on where an earlier try ended. Nothing, if the rows are gone or another task has indexed them.

    It may take long, and nobody waits for it: it gives way to other tasks between two batches.
    """
    sha256 = task.args["sha256"]
    with session_scope() as session:
        content = session.get(DatasetContent, sha256)
        of_it = select(Dataset.kind).join(DatasetVersion, DatasetVersion.dataset_id == Dataset.id)
        kind = session.scalars(of_it.where(DatasetVersion.sha256 == sha256).limit(1)).first()
    if content is None or kind is None:
        return
    rows.write_index(task.blobs, content)
    done = content.search_rows or 0
    with task.blobs.open(content.blob_key) as file:
        for batch in _batches(file, done):
            with session_scope() as session:
                if not search.add(session, sha256, kind, done + 1, batch):
                    return
            done += len(batch)
            task.tell(done / content.rows, f"{done:,} of {content.rows:,} rows are in the search index")
            task.give_way()
    _add_missing_bands(task, content, kind)
    with session_scope() as session:
        search.settle(session)


def _add_missing_bands(task: TaskRun, content: DatasetContent, kind: str) -> None:
    """An older version of the platform, or one without rensa, indexed prompts without their bands."""
    with session_scope() as session:
        if overlap.has_bands(session, content):
            return
    with task.blobs.open(content.blob_key) as file:
        for batch in _batches(file, 0):
            with session_scope() as session:
                if not search.add_bands(session, content.sha256, kind, batch):
                    return
            task.give_way()


def _batches(file: BinaryIO, after: int) -> Iterator[list[Row]]:
    batch: list[Row] = []
    size = 0
    for number, line in enumerate(file, 1):
        if number <= after:
            continue
        batch.append(orjson.loads(line))
        size += len(line)
        if len(batch) == _MOST_ROWS or size > _MOST_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
