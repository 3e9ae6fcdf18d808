"""Databases with the schema of an older release, for tests of migrations."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from alembic import command
from alembic.config import Config
from psycopg import sql
from sqlalchemy import make_url

from core.db import alembic_config, engine_for


@contextmanager
def database_at(postgres_url: str, revision: str, name: str) -> Iterator[Config]:
    """A separate database at the revision, dropped at the end. `config.attributes["database_url"]` is its address."""
    here = make_url(postgres_url)
    full_name = f"{here.database}_{name}"
    with psycopg.connect(postgres_url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(full_name)))
        url = here.set(database=full_name).render_as_string(hide_password=False)
        made = alembic_config(url)
        command.upgrade(made, revision)
        try:
            yield made
        finally:
            engine_for(url).dispose()
            connection.execute(sql.SQL("DROP DATABASE {}").format(sql.Identifier(full_name)))
