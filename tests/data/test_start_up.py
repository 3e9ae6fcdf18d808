"""Imports without garbage collections."""

import gc
import subprocess
import sys
from pathlib import Path

import pytest

from data.start_up import importing

ROOT = Path(__file__).parents[2]


def test_no_collection_while_importing_and_one_may_come_after() -> None:
    with importing("no_such_module"):
        assert not gc.isenabled()
    assert gc.isenabled() and gc.get_freeze_count() > 0


def test_known_module_leaves_collections_alone() -> None:
    before = gc.get_freeze_count()
    with importing("gc"):
        assert gc.isenabled()
    assert gc.get_freeze_count() == before


def test_failed_import_turns_collections_on_again() -> None:
    with pytest.raises(ImportError), importing("no_such_module"):
        raise ImportError
    assert gc.isenabled()


def test_collections_that_were_off_stay_off() -> None:
    gc.disable()
    try:
        with importing("no_such_module"):
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize("module", ["api.__main__", "trainer.__main__", "worker.__main__"])
def test_commands_import_without_collections(module: str) -> None:
    """Afterwards they are on, and leave out what was imported."""
    probe = f"import gc, {module}; print(gc.isenabled(), gc.get_freeze_count() > 10_000)"
    printed = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert printed == "True True\n"
