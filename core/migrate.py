"""Brings a database to the newest schema, from any working directory."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from core.db import engine_for

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
