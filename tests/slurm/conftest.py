"""A cluster of two nodes for all tests of this folder, and a platform whose worker submits to it: `make test-slurm`."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from proximal.sdk import Client
from tests.proximal.conftest import Up, running_up
from tests.slurm.cluster import SlurmCluster, missing, running_cluster


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:
    if why := missing():
        pytest.skip(why)
    with running_cluster(tmp_path_factory.mktemp("slurm") / "c") as cluster:
        yield cluster


Platform = Callable[..., AbstractContextManager[tuple[Up, Client]]]


@pytest.fixture
def platform(cluster: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Platform:
    """Start a platform with these options of `up` and these settings, beside `PROXIMAL_LAUNCHER=slurm`."""

    @contextmanager
    def start(*options: str, **settings: str) -> Iterator[tuple[Up, Client]]:
        for name, value in {"launcher": "slurm", "slurm_poll_seconds": "0.5", **settings}.items():
            monkeypatch.setenv(f"PROXIMAL_{name.upper()}", value)
        with running_up(tmp_path / "data", *options) as up, up.client() as client:
            yield up, client

    return start
