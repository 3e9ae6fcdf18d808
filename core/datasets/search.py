"""The search index of contents: the words of each row, and the hash of its prompt."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import ARRAY, BigInteger, Select, Text, cast, column, exists, func, insert, select, text
from sqlalchemy.orm import Session

from core import tasks
from core.datasets import overlap, splits
from core.db import session_scope
from core.errors import SearchNotReady
from core.models import DatasetContent, DatasetRow, DatasetVersion, DataTask
from core.models.tasks import TaskStatus

INDEX = "index"
"""The kind of the data task that writes the index."""
MOST_BYTES = 200_000
"""Most bytes of a row that are indexed: PostgreSQL refuses a row whose words take more than 1 MiB."""
_CONFIGURATION = "simple"
"""PostgreSQL's configuration without stemming and stop words, for any language."""
_NOT_TEXT = frozenset({"role", "label", "labels", "thumb"})


def request(session: Session, version: DatasetVersion) -> None:
    """Queue an index task, unless the rows are indexed or a task is queued. Rows that an older release indexed lack bands."""
    content = version.content
    assert content is not None
    waiting = exists().where(
        DataTask.kind == INDEX,
        DataTask.status.in_((TaskStatus.QUEUED, TaskStatus.RUNNING)),
        tasks.argument("sha256") == content.sha256,
    )
    whole = content.search_rows == content.rows and overlap.has_bands(session, content)
    if not whole and not session.scalars(select(waiting)).one():
        args = {"dataset": version.dataset_id, "sha256": content.sha256}
        tasks.enqueue(session, version.dataset.owner_id, INDEX, args)


def request_again(version_id: str) -> None:
    """Call `request` in a new transaction, for a caller whose own is rolled back by an error.

    The index task may have been cancelled, or may have failed.
    """
    with session_scope() as session:
        version = session.get(DatasetVersion, version_id)
        if version is not None and version.content is not None:
            request(session, version)


def add(session: Session, sha256: str, kind: str, first: int, rows: Sequence[dict[str, Any]]) -> bool:
    """Index rows from number `first` on. Returns False, without a change, unless the index ends before `first`.

    Then the content was deleted, or another task indexes it.
    """
    content = _locked(session, sha256)
    if content is None or (content.search_rows or 0) != first - 1:
        return False
    numbers = list(range(first, first + len(rows)))
    hashes = [splits.stored_hash(kind, row) for row in rows]
    texts = [text_of(row) for row in rows]
    arrays = cast(numbers, ARRAY(BigInteger)), cast(texts, ARRAY(Text)), cast(hashes, ARRAY(BigInteger))
    columns = column("number", BigInteger), column("words", Text), column("prompt_hash", BigInteger)
    given = func.unnest(*arrays).table_valued(*columns).render_derived()
    vector = func.to_tsvector(_CONFIGURATION, given.c.words)
    source = select(cast(sha256, Text), given.c.number, vector, given.c.prompt_hash)
    session.execute(insert(DatasetRow).from_select(["sha256", "row", "search", "prompt_hash"], source))
    overlap.add_prompts(session, sha256, kind, hashes, rows)
    content.search_rows = numbers[-1]
    session.flush()
    return True


def add_bands(session: Session, sha256: str, kind: str, rows: Sequence[dict[str, Any]]) -> bool:
    """Store the bands of prompts of indexed rows. Returns False, without a change, if the rows were deleted or the package
    rensa is missing."""
    hashes = [splits.stored_hash(kind, row) for row in rows]
    return _locked(session, sha256) is not None and overlap.add_prompts(session, sha256, kind, hashes, rows)


def _locked(session: Session, sha256: str) -> DatasetContent | None:
    """The content, locked against deletion and indexing until the commit; None if it was deleted."""
    query = select(DatasetContent).filter_by(sha256=sha256).with_for_update(key_share=True)
    return session.scalars(query.execution_options(populate_existing=True)).one_or_none()


def settle(session: Session) -> None:
    """Merge pending entries into the index and update the planner's statistics, after many insertions.

    Without it, a search may read all rows instead of taking a millisecond.
    """
    clean = """
        SELECT gin_clean_pending_list(oid) FROM pg_class
        WHERE relname = 'ix_dataset_rows_search' AND pg_has_role(relowner, 'USAGE')
    """
    session.execute(text(clean))
    session.execute(text("ANALYZE dataset_rows"))


def matching(content: DatasetContent, words: str | None) -> Select[Any]:
    """A query of the numbers of rows with these words, in web search syntax: `"a phrase" or word -without`.

    `words` None: all rows. Raises SearchNotReady while the index is incomplete.
    """
    if content.search_rows != content.rows:
        raise SearchNotReady()
    query = select(DatasetRow.row).where(DatasetRow.sha256 == content.sha256)
    if words is not None:
        query = query.where(DatasetRow.search.op("@@")(func.websearch_to_tsquery(_CONFIGURATION, words)))
    return query


def text_of(row: dict[str, Any]) -> str:
    """The searched text of a row, at most MOST_BYTES long."""
    whole = "\n".join(_texts(row)).encode()
    return whole[:MOST_BYTES].decode(errors="ignore")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, item in value.items():
            if name not in _NOT_TEXT:
                yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
