"""The database: engines, transactions, migrations, and the texts and numbers that it can store."""

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from sqlalchemy import Engine, create_engine, event, inspect, make_url, text
from sqlalchemy.orm import Session

from core.errors import InvalidRequest, SettingsError
from core.settings import Settings, get_settings
from data.parse import bad_text, storable

if TYPE_CHECKING:
    from alembic.config import Config  # at run time only a migration imports Alembic, which takes 13 MiB

LONGEST_MESSAGE = 2000
UNFINISHED_RESTORE = "unfinished_restore"
"""The table that marks a database while a backup is restored into it."""
_MIGRATIONS = Path(__file__).parent.parent / "migrations"
_REVISION = re.compile(r'^(down_)?revision = "(\w+)"$', re.MULTILINE)
_LARGEST = 2**63 - 1
"""The largest integer of a column."""
_AFTER_COMMIT = "after_commit"
_AFTER_ROLLBACK = "after_rollback"
_IDLE_SECONDS = 300
"""A transaction that waits so long for its process is rolled back. The process may be suspended, and its locks block others."""


@lru_cache
def engine_for(url: str) -> Engine:
    """The engine of this process for a database. Its pool reconnects after a restart of the server."""
    settings = {"options": f"-c timezone=UTC -c idle_in_transaction_session_timeout={1000 * _IDLE_SECONDS}"}
    return create_engine(url, pool_size=10, max_overflow=30, pool_pre_ping=True, connect_args=settings)


@contextmanager
def session_scope(database_url: str | None = None) -> Iterator[Session]:
    """A transaction that is committed at the end of the block, and rolled back if the block raises. Nothing else commits.

    The session takes a connection at its first statement, so an unused session costs nothing.
    """
    with Session(engine_for(database_url or get_settings().database_url), expire_on_commit=False) as session:
        try:
            yield session
            session.commit()
        except BaseException:
            session.close()  # rolls back, and leaves the loaded objects readable
            _call_all(session, _AFTER_ROLLBACK)
            raise
    _call_all(session, _AFTER_COMMIT)


def _call_all(session: Session, when: str) -> None:
    for call in session.info.pop(when, []):
        call()


@contextmanager
def request_scope(settings: Settings) -> Iterator[Session]:
    """`session_scope` for a request: PostgreSQL ends a statement that takes longer than `settings.statement_seconds`."""
    limit = text(f"SET LOCAL statement_timeout = {math.ceil(1000 * settings.statement_seconds)}")
    with session_scope(settings.database_url) as session:
        event.listen(session, "after_begin", lambda _, __, connection: connection.execute(limit))
        yield session


def after_rollback(session: Session, call: Callable[[], object]) -> None:
    """Call a function once the transaction is rolled back, to record why. The function must not raise."""
    session.info.setdefault(_AFTER_ROLLBACK, []).append(call)


def after_commit(session: Session, call: Callable[[], object]) -> None:
    """Call a function once the transaction is committed. The function must not raise."""
    session.info.setdefault(_AFTER_COMMIT, []).append(call)


def migrate(database_url: str) -> None:
    """Bring the database to the newest schema. Concurrent calls are serialised by a lock in the database.

    Raises SettingsError for a database that cannot store every text, and for one whose restore was not finished.
    """
    _check_encoding(database_url)
    with engine_for(database_url).connect() as connection:
        if inspect(connection).has_table(UNFINISHED_RESTORE):
            raise SettingsError(
                "The database holds a restore that was not finished. Create a new database, empty the blob store, and run "
                "`proximal restore` again."
            )
    upgrade(database_url, "head")


def upgrade(database_url: str, revision: str) -> None:
    """Bring the database to the schema of a revision. Raises SettingsError for a database that cannot store every text."""
    from alembic import command

    _check_encoding(database_url)
    command.upgrade(alembic_config(database_url), revision)


def knows_revision(revision: str) -> bool:
    """Whether the code has the migration."""
    return ("", revision) in _revisions()


def _check_encoding(database_url: str) -> None:
    """Raise SettingsError for another encoding than UTF-8. SQLAlchemy itself fails on SQL_ASCII with a TypeError."""
    url = make_url(database_url)
    try:
        with psycopg.connect(url.set(drivername="postgresql").render_as_string(hide_password=False)) as connection:
            encoding = connection.info.parameter_status("server_encoding")
    except psycopg.OperationalError:
        return  # the migration reports it
    if encoding != "UTF8":
        raise SettingsError(
            f"The database {url.database} has the encoding {encoding}, which cannot store every text. Create another one with "
            "`CREATE DATABASE proximal ENCODING 'UTF8' TEMPLATE template0`, and name it in DATABASE_URL."
        )


def at_head(database_url: str) -> bool:
    """Whether the database has exactly the newest schema of this code."""
    return _revisions_of(database_url) == _newest_revisions()


def at_head_or_newer(database_url: str) -> bool:
    """Whether the database has the newest schema of this code or of a later release.

    The API works with the schema of the next release, so that it serves until it is replaced. CONTRIBUTING.md has the rule.
    """
    found = _revisions_of(database_url)
    return found == _newest_revisions() or not found <= {name for _, name in _revisions()}


def _revisions_of(database_url: str) -> frozenset[str]:
    with engine_for(database_url).connect() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return frozenset()
        return frozenset(connection.scalars(text("SELECT version_num FROM alembic_version")))


def _newest_revisions() -> frozenset[str]:
    """The revisions in the folder of migrations that no other one follows."""
    lines = _revisions()
    return frozenset(name for down, name in lines if not down) - {name for down, name in lines if down}


@lru_cache
def _revisions() -> frozenset[tuple[str, str]]:
    """("", revision) and ("down_", the one before) of each migration."""
    return frozenset(line for file in _MIGRATIONS.glob("versions/*.py") for line in _REVISION.findall(file.read_text()))


def alembic_config(database_url: str) -> "Config":
    """Alembic's configuration, for any working directory. Its command line reads `[tool.alembic]` in pyproject.toml."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    config.attributes["database_url"] = database_url
    return config


def storable_message(text: str) -> str:
    """The text without characters that PostgreSQL cannot store. The middle of a text over 2000 characters is left out."""
    half = LONGEST_MESSAGE // 2
    short = text if len(text) <= LONGEST_MESSAGE else f"{text[:half]}\n[…]\n{text[-half:]}"
    return str(storable(short))


def storable_numbers(values: dict[str, float]) -> dict[str, float]:
    """The finite numbers. JSON in PostgreSQL has no infinity and no NaN."""
    return {_storable_name(name): value for name, value in values.items() if math.isfinite(value)}


def check_storable(value: Any, kind: type[InvalidRequest] = InvalidRequest) -> None:
    """Raises `kind` with the pointer of the first text or integer in a JSON value that PostgreSQL cannot store."""
    if part := unstorable_part(value):
        raise unstorable(*part, kind)


def unstorable(pointer: str, detail: str, kind: type[InvalidRequest] = InvalidRequest) -> InvalidRequest:
    """The error for the field at the pointer."""
    param = pointer.lstrip("#?/").replace("/", ".")
    return kind(f"{pointer}: {detail}.", param=param, errors=[{"pointer": pointer, "detail": detail}])


def unstorable_part(value: Any, pointer: str = "#") -> tuple[str, str] | None:
    """The pointer of the first text or integer that PostgreSQL cannot store, with the reason; None without one."""
    if found := bad_text(value, pointer):
        return found, "holds a NUL character or half of a surrogate pair"
    if found := _too_large(value, pointer):
        return found, f"must be at most {_LARGEST}"
    return None


def _too_large(value: Any, pointer: str) -> str | None:
    if isinstance(value, int):
        return pointer if abs(value) > _LARGEST else None
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return next((large for key, item in items if (large := _too_large(item, f"{pointer}/{key}"))), None)


@lru_cache(maxsize=4096)
def _storable_name(name: str) -> str:
    """The names of metrics repeat at each step."""
    return str(storable(name))
