"""One process with Helm for the tests of a worker of pytest."""

import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from tests.helm.chart import ROOT, Renderer


@pytest.fixture(scope="session")
def helm() -> Iterator[Renderer]:
    if find_spec("helm_python") is None:
        pytest.skip("helm-python-sdk is missing: it has no wheel for this platform, or is not installed")
    command = [sys.executable, "-m", "tests.helm.renderer"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Renderer(process)
        assert process.stdin
        process.stdin.close()
