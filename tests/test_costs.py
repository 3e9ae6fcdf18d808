"""The record of what tests cost, the budgets, and the choice of unit tests."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import costs
from tests.conftest import _scope_of
from tests.costs import Costs

ROOT = Path(__file__).parents[1]
CONFTEST = """
from pathlib import Path
from tests import costs

costs.RECORD, costs.BUDGETS = Path("costs.json"), Path("budgets.toml")
costs.NOTABLE_WALL = 600.0  # a busy machine makes every test wait

def pytest_addoption(parser): costs.add_options(parser)
def pytest_configure(config): costs.register(config)
def pytest_collection_modifyitems(items): costs.mark_units(items)
"""
TESTS = """
import time
import pytest

def burn():
    start = time.process_time()
    while time.process_time() < start + 0.6: pass

@pytest.fixture(scope="module")
def shared(): burn()

@pytest.fixture
def postgres_url(): pass

def test_cheap(): pass
def test_dear(): burn()
def test_with_shared(shared): pass
def test_with_server(postgres_url): pass
@pytest.mark.slow
def test_slow(): pass
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_five.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    slow:\n    unit:\n")
    (tmp_path / "costs.json").write_text("{}")
    (tmp_path / "budgets.toml").write_text('[cpu_seconds]\n"tests" = 1\n')
    return tmp_path


def _pytest(folder: Path, *options: str) -> str:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *options]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout


def test_record_names_dear_tests_and_dear_shared_fixtures(folder: Path) -> None:
    _pytest(folder, "--costs")
    recorded = json.loads((folder / "costs.json").read_text())
    assert set(recorded) == {"test_five.py::test_dear", "test_five.py::shared"}
    assert all(cost >= 0.6 for cost in recorded.values())


def test_unit_leaves_out_dear_slow_and_server_tests(folder: Path) -> None:
    (folder / "costs.json").write_text('{"test_five.py::test_dear": 0.6, "test_five.py::shared": 0.6}')
    assert _pytest(folder, "-m", "unit", "--collect-only").splitlines()[0] == "test_five.py::test_cheap"
    assert "1 passed, 4 deselected" in _pytest(folder, "-m", "unit")


def test_budget_counts_a_test_for_the_deepest_folder() -> None:
    costs = Costs({"tests": 10.0, "tests/api": 2.0}, None, enforced=True)
    costs.seconds = {
        "tests/api/test_a.py::test_b": 1.5,
        "tests/api/test_a.py::fixture": 1.0,
        "tests/test_c.py::test_d": 4.0,
    }
    assert costs.by_folder() == {"tests": 4.0, "tests/api": 2.5}
    assert costs.over_budget() == ["tests/api took 2.5 CPU seconds; its budget is 2"]


def test_a_slower_machine_has_larger_budgets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "YARDSTICK_SECONDS", 0.5)
    slow = Costs({"tests": 10.0}, None, enforced=True)
    slow.seconds, slow.yardsticks = {"tests/test_a.py::test_b": 14.0}, [0.1, 0.75, 9.0]
    assert (slow.slowness(), slow.over_budget()) == (1.5, [])
    slow.yardsticks = [0.1, 0.6, 9.0]
    assert slow.over_budget() == ["tests took 14.0 CPU seconds; its budget is 12"]


def test_a_faster_machine_has_the_budgets_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "YARDSTICK_SECONDS", 0.5)
    fast = Costs({"tests": 10.0}, None, enforced=True)
    fast.seconds, fast.yardsticks = {"tests/test_a.py::test_b": 10.0}, [0.1]
    assert (fast.slowness(), fast.over_budget()) == (1.0, [])


def test_recorded_seconds_are_summed_by_scope(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = {
        "::first": 9,
        "tests/e2e/test_a.py::x": 2,
        "tests/e2e::job": 3,
        "tests/e2e/a/test_b.py::x": 5,
        "tests/data/test_b.py::y[1]": 4,
    }
    monkeypatch.setattr(costs, "RECORD", tmp_path / "costs.json")
    costs.RECORD.write_text(json.dumps(record))
    assert costs.recorded_by_scope(_scope_of) == {"e2e": 5.0, "e2e/a": 5.0, "tests/data/test_b.py": 4.0}


@pytest.mark.slow
def test_processes_begin_with_the_dearest_scopes(tmp_path: Path) -> None:
    """The record names the last file; by number of tests, the first one would begin."""
    (tmp_path / "tests").mkdir()
    conftest = (
        "from tests.conftest import pytest_xdist_make_scheduler\nfrom tests import costs\nfrom pathlib import Path\n"
    )
    (tmp_path / "conftest.py").write_text(f"{conftest}costs.RECORD = Path({str(tmp_path / 'costs.json')!r})\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    for name, count in (("a", 3), ("b", 2), ("c", 2)):
        tests = "".join(f"def test_{number}(): pass\n" for number in range(count))
        (tmp_path / "tests" / f"test_{name}.py").write_text(tests)
    (tmp_path / "costs.json").write_text('{"tests/test_c.py::test_0": 5}')
    command = [sys.executable, "-m", "pytest", "-n", "1", "-v", "-p", "no:valkey", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    begun = [line.split("::")[0][-4] for line in done.stdout.splitlines() if "PASSED" in line]
    assert begun == list("ccaaabb"), done.stdout + done.stderr
