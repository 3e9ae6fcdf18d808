"""The newest release, as `migrations/released.toml` names it: its code from the history, and its API as a process."""

import os
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import httpx
import pytest

from core import child
from tests.compose.service import free_port
from tests.waiting import eventually

ROOT = Path(__file__).parents[2]
RELEASED: dict[str, str] = tomllib.loads((ROOT / "migrations" / "released.toml").read_text())


def code_of_the_release(folder: Path) -> Path:
    """The release's files in a folder. The test is skipped in a copy of the project without its history."""
    commit = RELEASED["commit"]
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=False)
    if archive.returncode:
        pytest.skip(f"The history has no commit {commit} (git fetch --unshallow): {archive.stderr.decode().strip()}")
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder


@contextmanager
def api_of(code: Path, log: Path) -> Iterator[httpx.Client]:
    """Run the API of a folder with the Python and the settings of this process. Yields a client without a key."""
    port = free_port()
    environment = dict(os.environ) | {"PYTHONPATH": str(code), "PROXIMAL_HOSTS": "127.0.0.1"}
    command = [sys.executable, "-P", "-m", "api", "--port", str(port)]
    with log.open("wb") as output:
        process = child.start(command, cwd=code, env=environment, stdout=output)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as client:
            eventually(lambda: _alive(client, process, log))
            yield client
    finally:
        process.stop(grace=60)


def _alive(client: httpx.Client, process: child.Child, log: Path) -> bool:
    assert process.poll() is None, log.read_text()
    try:
        return client.get("/healthz").is_success
    except httpx.TransportError:
        return False
