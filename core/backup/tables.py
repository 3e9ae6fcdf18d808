"""The rows of all tables as files, by PostgreSQL's COPY: decision 0027."""

from collections.abc import Iterator
from contextlib import contextmanager
from graphlib import TopologicalSorter
from pathlib import Path

import psycopg
import zstandard
from psycopg import sql
from sqlalchemy import make_url

from core.backup.manifest import BackupError, StoredTable, sha256_of
from core.db import UNFINISHED_RESTORE

_PIECE = 1024 * 1024
_LEVEL = 3
"""Level of zstd: rows shrink to about a fifth at several hundred megabytes per second."""
_TABLES = """
    SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum)
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND c.relname <> ALL (%s)
      AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
    GROUP BY c.relname ORDER BY c.relname
"""
_REFERENCES = """
    SELECT DISTINCT c.relname, f.relname FROM pg_constraint k
    JOIN pg_class c ON c.oid = k.conrelid JOIN pg_class f ON f.oid = k.confrelid
    WHERE k.contype = 'f' AND c.relnamespace = current_schema()::regnamespace AND k.conrelid <> k.confrelid
"""


@contextmanager
def connected(database_url: str) -> Iterator[psycopg.Connection]:
    """A connection of its own, whose transaction is committed at the end of the block."""
    url = make_url(database_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(url, options="-c timezone=UTC -c statement_timeout=0") as connection:
        yield connection


@contextmanager
def snapshot(database_url: str) -> Iterator[psycopg.Connection]:
    """A transaction that sees the database of one moment, whatever other transactions commit meanwhile."""
    with connected(database_url) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        yield connection


def tables_of(connection: psycopg.Connection) -> dict[str, list[str]]:
    """The columns of each table that are not computed by the database. Left out are the tables of the schema's state."""
    return dict(connection.execute(_TABLES, [["alembic_version", UNFINISHED_RESTORE]]).fetchall())


def write_tables(connection: psycopg.Connection, folder: Path, place: str) -> dict[str, StoredTable]:
    """Write every table to a file below `folder/place`."""
    (folder / place).mkdir(parents=True)
    return {
        name: _write_table(connection, name, columns, folder, f"{place}/{name}.copy.zst")
        for name, columns in tables_of(connection).items()
    }


def _write_table(connection: psycopg.Connection, name: str, columns: list[str], folder: Path, file: str) -> StoredTable:
    path = folder / file
    with (
        path.open("wb") as target,
        zstandard.ZstdCompressor(_LEVEL).stream_writer(target) as writer,
        connection.cursor() as cursor,
    ):
        with cursor.copy(sql.SQL("COPY {} ({}) TO STDOUT").format(sql.Identifier(name), _names(columns))) as copy:
            for piece in copy:
                writer.write(piece)
        rows = cursor.rowcount
    return StoredTable(file=file, columns=columns, rows=rows, bytes=path.stat().st_size, sha256=sha256_of(path))


def read_tables(connection: psycopg.Connection, folder: Path, tables: dict[str, StoredTable]) -> dict[str, int]:
    """Load every table into the empty database. Returns its rows by table. Raises BackupError for another number of rows.

    A table comes after those that it refers to, so that no right to disable foreign keys is needed.
    """
    present = tables_of(connection)
    if present.keys() != tables.keys():
        raise BackupError(f"The tables differ from the schema: {', '.join(sorted(present.keys() ^ tables.keys()))}.")
    order = TopologicalSorter[str]({name: set() for name in present})
    for table, referred in connection.execute(_REFERENCES):
        order.add(table, referred)
    for name in order.static_order():
        _read_table(connection, name, folder / tables[name].file, tables[name].columns)
    found = {name: _count(connection, name) for name in present}
    if wrong := [name for name, table in tables.items() if found[name] != table.rows]:
        raise BackupError(f"Not all rows were restored: {', '.join(wrong)}.")
    return found


def _read_table(connection: psycopg.Connection, name: str, path: Path, columns: list[str]) -> None:
    command = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(name), _names(columns))
    with (
        path.open("rb") as source,
        zstandard.ZstdDecompressor().stream_reader(source) as reader,
        connection.cursor() as cursor,
        cursor.copy(command) as copy,
    ):
        while piece := reader.read(_PIECE):
            copy.write(piece)


def _count(connection: psycopg.Connection, name: str) -> int:
    row = connection.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(name))).fetchone()
    assert row is not None
    return int(row[0])


def _names(columns: list[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, columns))
