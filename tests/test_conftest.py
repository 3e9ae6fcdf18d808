"""The fixtures that guard everybody else's data."""

import gzip
import os
import subprocess
import sys

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from core.settings import Settings
from tests.conftest import _empty, pytest_make_parametrize_id


def test_empty_refuses_a_database_outside_the_tests(postgres_url: str) -> None:
    with pytest.raises(RuntimeError, match="refusing to empty the database 'postgres'"):
        _empty(postgres_url.replace(f"proximal_test_{os.getpid()}", "postgres"))


def test_the_session_sees_a_migrated_empty_database(session: Session, settings: Settings) -> None:
    assert session.execute(text("SELECT count(*) FROM jobs")).scalar() == 0
    assert settings.data_dir.name == "data"


def test_a_parameters_name_is_the_same_in_every_process() -> None:
    assert pytest_make_parametrize_id(gzip.compress(b"x", mtime=1)) == pytest_make_parametrize_id(
        gzip.compress(b"x", mtime=2)
    )


def test_processes_of_the_tests_keep_their_bytecode() -> None:
    command = [sys.executable, "-c", "import sys; print(sys.dont_write_bytecode)"]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "False\n"
