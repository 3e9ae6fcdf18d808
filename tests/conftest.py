"""Real servers for every test: an embedded PostgreSQL and Valkey, started once, in a temporary folder.

Tests own their database and refuse any that is not theirs. A fixture imports what it needs: the trainer's tests also run
where neither the platform's packages nor pytest-xdist are installed, as on a bare GPU machine.
"""

import gc
import os
import sys
from collections.abc import Generator, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import pytest

from tests import costs

if TYPE_CHECKING:
    import psycopg
    from psycopg import sql
    from sqlalchemy.orm import Session

    from core.settings import Settings

_OURS = "proximal_test"
_SHARED = ("proximal", "compose", "docs", "e2e")
# With PYTHONDONTWRITEBYTECODE set and a fresh installation, each of the processes that tests start compiles all of PyTorch anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
_SCRUBBED = ("PROXIMAL_", "AWS_", "DATABASE_URL", "REDIS_URL", "PG", "CELERY_", "ALEMBIC_")


def pytest_addoption(parser: pytest.Parser) -> None:
    costs.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register Hypothesis' profile for all tests: without a deadline, a busy machine fails no example."""
    with suppress(ImportError):  # a bare GPU machine may lack it
        from hypothesis import settings

        settings.register_profile("tests", deadline=None)
        settings.load_profile("tests")
    costs.register(config)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Without garbage collections, which take 2 s of the 20 s: nearly all objects stay, so later ones skip them, too."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    costs.mark_units(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Asked under `-n`. Marks of `--dist loadgroup` do not arrive since pytest 9.2 (node ids are no texts any more)."""
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    class DearestFirst(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
        """Gives out whole scopes, the dearest on record first: one that starts late would keep the other processes waiting."""

        def _split_scope(self, nodeid: str) -> str:
            return _scope_of(nodeid)

        def _assign_work_unit(self, node: Any) -> None:
            dearest = max(self.workqueue, key=lambda scope: recorded.get(scope, 0.0))
            self.workqueue.move_to_end(dearest, last=False)
            super()._assign_work_unit(node)

    recorded = costs.recorded_by_scope(_scope_of)
    return DearestFirst(config, log)


def _scope_of(test: str) -> str:
    """The tests that stay in one process of several: a folder whose tests share a whole platform; elsewhere a file."""
    file = PurePosixPath(test.partition("::")[0])
    folder = (file.parent if file.suffix else file).relative_to("tests")
    return str(folder) if folder.parts and folder.parts[0] in _SHARED else str(file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """For `-n auto`: one more than there are cores. A test's own processes need them too, and each of the tests' processes collects all tests."""
    return min(4, (os.cpu_count() or 1) + 1)


def pytest_make_parametrize_id(val: Any) -> str | None:
    """Bytes by their length: a gzip file has the time in it, and under `-n` every process must find the same names."""
    return f"{len(val)} bytes" if isinstance(val, bytes) else None


SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session", autouse=True)
def _scrubbed_environment() -> Iterator[None]:
    """Remove the developer's settings, which must not change a test. No test may use a model hub.

    A data worker has one slot, since each further one is a process that takes a second to start.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(_SCRUBBED)]:
            patch.delenv(name)
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("PROXIMAL_DATA_SLOTS", "1")
        yield


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A PostgreSQL server for the whole run (quick and careless: it need not survive a power cut)."""
    from core.embedded.postgres import Postgres

    folder = tmp_path_factory.mktemp("postgres")
    server = Postgres(folder, folder / "log", database=f"{_OURS}_{os.getpid()}", durable=False)
    running = server.start()
    yield server.url
    server.stop(running)


@pytest.fixture(scope="session")
def _redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    from core.embedded.redis import Redis

    folder = tmp_path_factory.mktemp("redis")
    server = Redis(folder, folder / "log", durable=False)
    running = server.start()
    yield server.url
    server.stop(running)


@pytest.fixture
def redis_url(_redis_server: str) -> str:
    """An empty Redis."""
    from redis import Redis

    with Redis.from_url(_redis_server) as client:
        client.flushall()
    return _redis_server


@pytest.fixture(scope="session")
def _migrated(postgres_url: str) -> Iterator[str]:
    """The run's own database, made by the migrations as a real one would be."""
    from core.db import engine_for, migrate

    migrate(postgres_url)
    yield postgres_url
    _cleaner(postgres_url)[0].close()
    engine_for(postgres_url).dispose()


@pytest.fixture
def database_url(_migrated: str) -> str:
    """A migrated database without a row in it."""
    _empty(_migrated)
    return _migrated


@pytest.fixture
def settings(
    database_url: str, redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator["Settings"]:
    """The settings that this process, and whatever it starts, will find."""
    from core.settings import get_settings

    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("REDIS_URL", redis_url)
    monkeypatch.setenv("PROXIMAL_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("PROXIMAL_HOSTS", "testserver")  # the host of Starlette's TestClient
    get_settings.cache_clear()
    yield get_settings()
    get_settings.cache_clear()


@pytest.fixture
def session(settings: "Settings") -> Iterator["Session"]:
    """A session that the test commits itself."""
    from sqlalchemy.orm import Session

    from core.db import engine_for

    with Session(engine_for(settings.database_url), expire_on_commit=False) as session:
        yield session


def _empty(url: str) -> None:
    """Delete every row: of small tables a third of what TRUNCATE takes. Rows left locked make it fail, not hang."""
    import psycopg

    _refuse_what_is_not_ours(url)
    try:
        _delete_rows(url)
    except psycopg.errors.LockNotAvailable:
        raise
    except psycopg.OperationalError:  # a test has ended all connections
        _cleaner.cache_clear()
        _delete_rows(url)


def _delete_rows(url: str) -> None:
    connection, statement = _cleaner(url)
    connection.execute(statement)


@cache
def _cleaner(url: str) -> tuple["psycopg.Connection", "sql.Composed"]:
    """A connection and the statement that deletes every row. A new connection reads the catalogue, which takes longer."""
    import psycopg
    from psycopg import sql

    connection = psycopg.connect(url.replace("+psycopg", ""), autocommit=True)
    rows = connection.execute(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version'"
    ).fetchall()
    connection.execute("SET lock_timeout = '10s'; SET session_replication_role = replica")
    return connection, sql.SQL(" ").join(sql.SQL("DELETE FROM {};").format(sql.Identifier(name)) for (name,) in rows)


def _refuse_what_is_not_ours(url: str) -> None:
    from sqlalchemy.engine import make_url

    name = make_url(url).database or ""
    if not name.startswith(_OURS):
        raise RuntimeError(f"refusing to empty the database {name!r}: its name does not start with {_OURS!r}")


@pytest.fixture
def shared_data() -> Path:
    """Real models and texts that the repository does not carry."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the shared models and datasets are not on this machine")
    return SHARED_DATA
