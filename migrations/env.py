"""Runs the migrations on the database that the caller names, else on the one of the settings."""

from alembic import context
from sqlalchemy import text

from core.db import engine_for
from core.models import Base
from core.settings import get_settings

LOCK = 0x70726F78  # "prox": any number of ours, so that two migrations at once take turns


def run() -> None:
    """Everything in one transaction: a migration that fails leaves the schema as it was."""
    url = context.config.attributes.get("database_url") or get_settings().database_url
    with engine_for(url).connect() as connection:
        context.configure(connection=connection, target_metadata=Base.metadata, compare_server_default=True)
        with context.begin_transaction():
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
            connection.execute(text("SET LOCAL lock_timeout = '10s'"))
            context.run_migrations()


run()
