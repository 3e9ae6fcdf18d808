"""The database: one engine per address, and the one place that commits."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
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


# Brings a database to the newest schema, from any working directory.
_ROOT = Path(__file__).parent.parent


def migrate(database_url: str) -> None:
    """Run every migration that the database lacks. Two at once take turns."""
    command.upgrade(alembic_config(database_url), "head")


def at_head(database_url: str) -> bool:
    """Whether the database has the schema that this code expects."""
    with engine_for(database_url).connect() as connection:
        found = MigrationContext.configure(connection).get_current_heads()
    return set(found) == set(ScriptDirectory.from_config(alembic_config(database_url)).get_heads())


def alembic_config(database_url: str) -> Config:
    """Alembic's configuration without a file of its own: `[tool.alembic]` in pyproject.toml serves its command line."""
    config = Config()
    config.set_main_option("script_location", str(_ROOT / "migrations"))
    config.attributes["database_url"] = database_url
    return config
