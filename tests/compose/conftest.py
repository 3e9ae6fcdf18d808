"""The images without a container engine: what the Dockerfiles copy, built and installed, beside the packages that they
install and no others."""

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.engine import make_url

from tests.compose import packages
from tests.compose.compose_file import ROOT
from tests.compose.dockerfile import copies, extras
from tests.compose.service import ComposedPlatform


@dataclass(frozen=True)
class Image:
    """Its Python, and the folder that its services start in."""

    python: Path
    home: Path


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Image]:
    return {name: _build(name, tmp_path_factory.mktemp(name)) for name in ("api", "worker")}


def _build(name: str, folder: Path) -> Image:
    source, environment, home = folder / "build", folder / "venv", folder / "home"
    for path, target in copies(ROOT / name / "Dockerfile", "packages"):
        _copy(ROOT / path, source / target)
    venv.create(environment, symlinks=True, with_pip=False)
    (site,) = environment.glob("lib/python*/site-packages")
    packages.link(extras(ROOT / name / "Dockerfile"), site)
    command = [sys.executable, "-m", "uv", "pip", "install", "--offline", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--quiet", "--python", sys.executable, "--target", site, source], check=True)
    home.mkdir()
    return Image(environment / "bin" / "python", home)


def _copy(path: Path, target: Path) -> None:
    if path.is_dir():
        shutil.copytree(path, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)


@pytest.fixture
def empty_database(postgres_url: str) -> Iterator[str]:
    """A database without a schema."""
    name = f"proximal_test_compose_{os.getpid()}"
    with psycopg.connect(postgres_url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield make_url(postgres_url).set(database=name).render_as_string(hide_password=False)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def composed(
    empty_database: str, redis_url: str, images: dict[str, Image], tmp_path: Path
) -> Iterator[ComposedPlatform]:
    """The services of docker-compose.yml, at the tests' own servers."""
    composed = ComposedPlatform(images, empty_database, redis_url, tmp_path)
    yield composed
    composed.stop()
