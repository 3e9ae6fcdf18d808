"""The fixtures that guard everybody else's data."""

import os

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from core.settings import Settings
from tests.conftest import _empty


def test_a_database_of_somebody_else_is_refused(postgres_url: str) -> None:
    with pytest.raises(RuntimeError, match="refusing to empty the database 'postgres'"):
        _empty(postgres_url.replace(f"proximal_test_{os.getpid()}", "postgres"))


def test_the_session_sees_a_migrated_empty_database(session: Session, settings: Settings) -> None:
    assert session.execute(text("SELECT count(*) FROM jobs")).scalar() == 0
    assert settings.data_dir.name == "data"
