"""The data task `annotation_close`: writes the answers of a round into the dataset version that waits for them."""

from core.annotation import closing
from core.datasets import publish, row_store, rows
from core.db import session_scope
from core.errors import NotFound
from core.models import AnnotationRound, DatasetVersion
from core.models.annotation import RoundStatus
from worker.tasks.context import TaskRun

_EVERY = 1000


def run(task: TaskRun) -> None:
    """Raises what keeps the rows from being written; the round can then be closed once more."""
    round_id, parent_id = task.args["round"], task.args["parent"]
    with session_scope() as session:
        round_ = session.get(AnnotationRound, round_id)
        parent = session.get(DatasetVersion, parent_id) if parent_id else None
    if round_ is None or round_.status != RoundStatus.CLOSING:
        return
    if parent_id and parent is None:
        raise NotFound("The version that the answers were to be added to is no longer there.")
    last = 0
    with row_store.drafting(task.scratch) as out:
        if parent is not None:
            total = parent.content.rows if parent.content else 1
            for stored in rows.stream(task.blobs, parent):
                last = stored.line
                out.add(last, stored.row)
                if stored.number % _EVERY == 0:
                    task.tell(0.9 * stored.number / total, f"Row {stored.number:,} of {total:,} is copied")
        with session_scope() as session:
            for line, row in enumerate(closing.answered_rows(session, round_id), last + 1):
                out.add(line, row)
        draft = out.finish()
        with session_scope() as session:
            version = publish.publish_version(session, task.blobs, task.args["version"], draft)
            closing.finish(session, round_id, version)
