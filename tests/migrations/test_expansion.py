"""Migrations since the newest release expand the schema, unless they declare that they contract it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import event

from core.db import engine_for
from tests.core.old_databases import database_at
from tests.migrations.expansion import breaks, made_tables
from tests.migrations.previous_release import RELEASED

RULE = "CONTRIBUTING.md, Migrations: make it two steps, or set `contract` in the migration to the reason"


@contextmanager
def statements_of(url: str) -> Iterator[list[str]]:
    """The SQL that is run on the database meanwhile."""
    found: list[str] = []
    engine = engine_for(url)

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        found.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(engine, "before_cursor_execute", note)


def test_migrations_since_the_release_only_expand(postgres_url: str) -> None:
    made: frozenset[str] = frozenset()
    with database_at(postgres_url, RELEASED["revision"], "expansion") as config:
        newer = list(ScriptDirectory.from_config(config).iterate_revisions("head", RELEASED["revision"]))
        for revision in reversed(newer):
            with statements_of(config.attributes["database_url"]) as statements:
                command.upgrade(config, revision.revision)
            assert statements, revision.path
            made = made.union(*map(made_tables, statements))
            found = [one for statement in statements for one in breaks(statement, made) if "alembic_version" not in one]
            declared = getattr(revision.module, "contract", "")
            assert bool(found) == bool(declared), f"{revision.path} {found or 'contracts nothing'}. {RULE}"


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("DROP TABLE jobs", "drops a table"),
        ("ALTER TABLE jobs DROP COLUMN notes", "drops a column"),
        ("ALTER TABLE jobs RENAME COLUMN notes TO remarks", "renames"),
        ("ALTER TABLE jobs RENAME TO runs", "renames"),
        ("ALTER TABLE jobs ALTER COLUMN kl SET NOT NULL", "makes a column NOT NULL"),
        ("ALTER TABLE jobs ALTER COLUMN notes DROP DEFAULT", "drops a default"),
        ("ALTER TABLE jobs ALTER COLUMN step TYPE TEXT", "changes the type"),
        ("ALTER TABLE jobs ADD COLUMN place TEXT NOT NULL", "without a default"),
        ("ALTER TABLE jobs ADD COLUMN place TEXT GENERATED ALWAYS AS (name) STORED", "computed column"),
        ("ALTER TABLE jobs ADD CONSTRAINT c CHECK (step > 0)", "without NOT VALID"),
        ("ALTER TABLE jobs ADD FOREIGN KEY (name) REFERENCES owners (id)", "without NOT VALID"),
        ("CREATE INDEX i ON job_metrics (at)", "without CONCURRENTLY"),
        ('CREATE UNIQUE INDEX i ON ONLY "job_metrics" (at)', "without CONCURRENTLY"),
        ("UPDATE jobs SET notes = ''", "changes stored rows"),
        ("DELETE\n  FROM jobs", "changes stored rows"),
        ("LOCK TABLE jobs", "locks a whole table"),
        ("CREATE TABLE a (b TEXT); DROP TABLE jobs", "drops a table"),
    ],
)
def test_a_statement_that_contracts_is_found(statement: str, expected: str) -> None:
    (found,) = breaks(statement, made_tables(statement))
    assert expected in found


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE a (b TEXT NOT NULL); CREATE INDEX i ON a (b); ALTER TABLE a ADD CONSTRAINT c CHECK (b > '')",
        "ALTER TABLE jobs ADD COLUMN place TEXT",
        "ALTER TABLE jobs ADD COLUMN place TEXT DEFAULT 'local' NOT NULL",
        "ALTER TABLE jobs ALTER COLUMN notes DROP NOT NULL",
        "ALTER TABLE jobs ADD CONSTRAINT c CHECK (step > 0) NOT VALID",
        "ALTER TABLE jobs DROP CONSTRAINT c",
        "CREATE UNIQUE INDEX CONCURRENTLY i ON job_metrics (at)",
        "INSERT INTO a (b) SELECT name FROM jobs",
    ],
)
def test_a_statement_that_expands_is_free(statement: str) -> None:
    assert breaks(statement, made_tables(statement)) == []
