"""The images without a container engine: their sources as the Dockerfiles copy them, installed as they install them."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.engine import make_url

from tests.compose.compose_file import ROOT
from tests.compose.dockerfile import copies
from tests.compose.service import House

# What the API's image does not have. The worker's lacks nothing that could be tried here by accident.
ABSENT = {"api": ["torch", "transformers", "safetensors", "httpx", "typer"], "worker": ["fastapi", "uvicorn", "httpx"]}
# The tests' own environment knows the working tree; an image does not.
SITECUSTOMIZE = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in str(finder)]
class Absent:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {absent!r}:
            raise ModuleNotFoundError(f"{{name}} is not in this image", name=name)
sys.meta_path.insert(0, Absent)
"""


@dataclass(frozen=True)
class Image:
    """What a service's Python finds, before the packages that other people wrote."""

    pythonpath: str
    home: Path


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Image]:
    return {name: _build(name, tmp_path_factory.mktemp(name)) for name in ("api", "worker")}


def _build(name: str, folder: Path) -> Image:
    source, site, home = folder / "build", folder / "site", folder / "home"
    for path, target in copies(ROOT / name / "Dockerfile", "packages"):
        _copy(ROOT / path, source / target)
    command = [sys.executable, "-m", "uv", "pip", "install", "--offline", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--quiet", "--python", sys.executable, "--target", site, source], check=True)
    (site / "sitecustomize.py").write_text(SITECUSTOMIZE.format(absent=ABSENT[name]))
    home.mkdir()
    return Image(str(site), home)


def _copy(path: Path, target: Path) -> None:
    if path.is_dir():
        shutil.copytree(path, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)


@pytest.fixture
def empty_database(postgres_url: str) -> Iterator[str]:
    """A database that nobody has migrated."""
    name = f"proximal_test_compose_{os.getpid()}"
    with psycopg.connect(postgres_url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield make_url(postgres_url).set(database=name).render_as_string(hide_password=False)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def house(empty_database: str, redis_url: str, images: dict[str, Image], tmp_path: Path) -> Iterator[House]:
    """The services of docker-compose.yml, at the tests' own servers."""
    house = House(images, empty_database, redis_url, tmp_path)
    yield house
    house.stop()
