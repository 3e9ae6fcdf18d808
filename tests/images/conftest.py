"""Images that are really built, and containers that really run: `make test-images`. The default run leaves these tests out.

The images stay in `out/images` for the next run; containers and volumes do not.
"""

import importlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from proximal.sdk import Client
from tests.compose.compose_file import FILLED_IN, ROOT, example
from tests.images.composition import Composition
from tests.images.network import network_of_its_own

SETUP = str(ROOT / ".setup")
sys.path.append(SETUP)
try:
    containers = importlib.import_module("containers")
finally:
    sys.path.remove(SETUP)  # it has a module `vllm`, by which other tests would take vLLM for installed

IMAGES = {"api": "proximal", "worker": "proximal-worker"}
"""The folder of the Dockerfile, and the name in docker-compose.yml."""
MARKS = [pytest.mark.images, pytest.mark.timeout(3600)]
"""The marks of every test here, since the images are built for minutes."""
URL = "http://127.0.0.1:8000"
FOLDER = ROOT / "out" / "images"


@pytest.fixture(scope="session")
def podman() -> list[str]:
    """The command that runs Podman on the store with the base images."""
    if reason := containers.why_not(ROOT):
        pytest.skip(reason)
    if not (FOLDER / "stamps" / "bases").exists():
        pytest.skip("the base images are missing: run `make test-images`")
    return containers.podman(ROOT)


@pytest.fixture(scope="session")
def figures() -> Iterator[dict[str, float]]:
    """The measurements of the tests, by name. They are written to out/images/figures.json."""
    began, found = time.monotonic(), dict[str, float]()
    yield found
    found["seconds of the suite"] = time.monotonic() - began
    (FOLDER / "figures.json").write_text(json.dumps(found, indent=1))


@dataclass(frozen=True)
class Image:
    """An image in Podman's store."""

    name: str
    podman: list[str]

    def inspect(self, template: str) -> str:
        return _output([*self.podman, "image", "inspect", "--format", template, self.name]).strip()

    def run(self, *command: str) -> str:
        """The output of a command in a container as docker-compose.yml restricts it. Raises if the command fails."""
        options = ["--rm", "--network", "none", "--read-only", "--read-only-tmpfs=false", "--cap-drop", "ALL"]
        limits = ["--ulimit", "nofile=20000:20000", "--ulimit", "nproc=1000:1000", "--no-healthcheck"]
        return _output([*self.podman, "run", *options, *limits, self.name, *command])


@pytest.fixture(scope="session")
def built(podman: list[str], figures: dict[str, float]) -> dict[str, Image]:
    """Both images, built from the Dockerfiles as they are."""
    revision = _output(["git", "-C", str(ROOT), "rev-parse", "HEAD"]).strip()
    args = {"api": {}, "worker": {"TORCH_BACKEND": containers.torch_backend(ROOT)}}
    for folder, name in IMAGES.items():
        began = time.monotonic()
        dockerfile = ROOT / folder / "Dockerfile"
        containers.build(ROOT, name, dockerfile, {"REVISION": revision, **args[folder]}, context=ROOT)
        figures[f"seconds to build {name}"] = time.monotonic() - began
    return {folder: Image(name, podman) for folder, name in IMAGES.items()}


@pytest.fixture(scope="session")
def composition(podman: list[str], built: dict[str, Image], figures: dict[str, float]) -> Iterator[Composition]:
    """The compose file's services with a worker for CPUs, in a network of their own. From here on this process is in it, too."""
    with network_of_its_own():
        composition = Composition(podman, example() | FILLED_IN)
        began = time.monotonic()
        try:
            composition.up()
            figures["seconds from `compose up` to healthy"] = time.monotonic() - began
            yield composition
        finally:
            composition.logs(FOLDER / "logs" / "services")
            composition.down()


@pytest.fixture(scope="session")
def key(composition: Composition) -> str:
    """A key that is made as docs/how-to/deploy.md describes."""
    return composition.run("api", "python", "-m", "core", "keys", "create", "admin").strip()


@pytest.fixture(scope="session")
def client(key: str) -> Iterator[Client]:
    with Client(URL, key) as client:
        yield client


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout
