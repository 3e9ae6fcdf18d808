"""The lowest versions that pyproject.toml allows for the trainer: its tests pass with them too.

The first run installs them into out/floors (5 GB where torch comes with CUDA); without a package index the test is skipped.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = (
    "models/lora",
    "optim",
    "sampling",
    "test_command.py",
    "models/test_offload.py",
    "distributed/test_sharding.py",
)
"""Below tests/trainer: what depends most on the versions of torch, transformers and peft."""
_BESIDE = ("pytest>=9", "pytest-timeout", "hypothesis")


def floors() -> list[str]:
    """The trainer's requirements, each at the lowest minor version that it allows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lowest = [re.sub(r">=([\d.]+).*", r"==\1.*", need) for need in project["optional-dependencies"]["trainer"]]
    return [*lowest, *project["dependencies"], *_BESIDE]


def test_the_lowest_versions_are_read_from_the_project() -> None:
    found = floors()
    assert any(re.fullmatch(r"torch==2\.\d+\.\*", need) for need in found)
    assert len([need for need in found if "==" in need]) == 6 and "pytest>=9" in found


@pytest.mark.parametrize("name", TESTS)
def test_floors_chosen_test_paths_exist(name: str) -> None:
    """The slow test below is rarely run, so this one finds a folder that has moved."""
    assert (ROOT / "tests" / "trainer" / name).exists()


@pytest.fixture(scope="module")
def python() -> Path:
    """A Python with the lowest versions, and without the platform's packages."""
    wanted = floors()
    name = hashlib.sha256(f"{wanted}{sys.version_info[:2]}".encode()).hexdigest()[:10]
    folder, draft = ROOT / "out" / "floors" / name, ROOT / "out" / "floors" / f"{name}.making"
    if not folder.exists():
        shutil.rmtree(draft, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(draft)], check=True)
        pip = [str(draft / "bin" / "python"), "-m", "pip", "install", "-q", *wanted]
        done = subprocess.run(pip, capture_output=True, text=True, check=False)
        if done.returncode:
            shutil.rmtree(draft)
            pytest.skip(f"the lowest versions cannot be installed here: {done.stderr.strip()[-300:]}")
        draft.rename(folder)
    return folder / "bin" / "python"


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_trainer_passes_its_tests_at_the_lowest_versions(python: Path) -> None:
    tests = [f"tests/trainer/{name}" for name in TESTS]
    command = [str(python), "-m", "pytest", *tests, "-q", "-m", "not slow", "-p", "no:cacheprovider"]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:]
