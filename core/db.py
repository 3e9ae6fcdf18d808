"""The database: one engine per address, and the one place that commits."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache

from sqlalchemy import Engine, create_engine
from sqlalchemy.orm import Session

from core.settings import get_settings

_AFTER_COMMIT = "after_commit"


@lru_cache
def engine_for(url: str) -> Engine:
    """The process's engine for `url`; its pool outlives single sessions and survives a restart of the server."""
    in_utc = {"options": "-c timezone=UTC"}
    return create_engine(url, pool_size=10, max_overflow=30, pool_pre_ping=True, connect_args=in_utc)


@contextmanager
def session_scope(database_url: str | None = None) -> Iterator[Session]:
    """One transaction: committed when the block ends well, rolled back when it raises. Nothing else commits.

    A session takes a connection at its first statement, so an unused one costs nothing.
    """
    with Session(engine_for(database_url or get_settings().database_url), expire_on_commit=False) as session:
        yield session
        session.commit()
    for call in session.info.pop(_AFTER_COMMIT, []):
        call()


def after_commit(session: Session, call: Callable[[], object]) -> None:
    """Have `call` made once the transaction is committed, and never if it is not. It must not raise."""
    session.info.setdefault(_AFTER_COMMIT, []).append(call)
