"""The data task `index`: writes the search index of stored rows."""

from collections.abc import Iterator
from typing import Any, BinaryIO

import orjson
from sqlalchemy import select

from core.datasets import overlap, rows, search
from core.datasets.damage import verify_rows
from core.db import session_scope
from core.models import Dataset, DatasetContent, DatasetVersion
from worker.tasks.context import TaskContext

_MOST_ROWS, _MOST_BYTES = 1000, 8 * 1024**2
"""Limits of a batch, which is held in memory and written in one transaction."""
Row = dict[str, Any]


def index_rows(task: TaskContext) -> None:
    """The task `index`. It continues after an earlier attempt. Rows that were deleted or are indexed are left alone.

    Background work: between two batches, it yields to other tasks.
    """
    sha256 = task.args["sha256"]
    with session_scope() as session:
        content = session.get(DatasetContent, sha256)
        query = select(Dataset.kind).join(DatasetVersion, DatasetVersion.dataset_id == Dataset.id)
        kind = session.scalars(query.where(DatasetVersion.sha256 == sha256).limit(1)).first()
    if content is None or kind is None:
        return
    verify_rows(task.blobs, content)
    if content.number_files is None:
        _write_offsets(task, content)
    done = content.search_rows or 0
    with task.blobs.open(content.blob_key) as file:
        for batch in _batches(file, done):
            with session_scope() as session:
                if not search.add(session, sha256, kind, done + 1, batch):
                    return
            done += len(batch)
            task.report(done / content.rows, f"{done:,} of {content.rows:,} rows are in the search index")
            task.yield_to_urgent()
    _add_missing_bands(task, content, kind)
    with session_scope() as session:
        search.settle(session)


def _write_offsets(task: TaskContext, content: DatasetContent) -> None:
    """Make the row offsets of a content of before their hashes were stored."""
    rows.write_index(task.blobs, content)
    with session_scope() as session:
        stored = session.get(DatasetContent, content.sha256)
        if stored is not None:
            stored.number_files = content.number_files


def _add_missing_bands(task: TaskContext, content: DatasetContent, kind: str) -> None:
    """Add the MinHash bands that an older release, or a worker without the package rensa, left out."""
    with session_scope() as session:
        if overlap.has_bands(session, content):
            return
    with task.blobs.open(content.blob_key) as file:
        for batch in _batches(file, 0):
            with session_scope() as session:
                if not search.add_bands(session, content.sha256, kind, batch):
                    return
            task.yield_to_urgent()


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
