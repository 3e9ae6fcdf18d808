"""A cluster for each test, and the trainer of an attempt in it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from core.settings import Settings, get_settings
from proximal.sdk.spec_files import read_spec
from tests.kubernetes.cluster import Cluster
from trainer.events import EventLog, RunStopped
from worker.jobs.launch.interface import RunToStart
from worker.jobs.launch.kubernetes.trainer import KubernetesTrainer
from worker.jobs.workspace import Workspace

TINY = Path(__file__).parents[2] / "examples" / "tiny.toml"
JOB_ID = "job_abcdefghijklmnopqrstuvwx"
NAME = "proximal-job-abcdefghijklmnopqrstuvwx-1"
VARIABLES = {
    "PROXIMAL_LAUNCHER": "kubernetes",
    "PROXIMAL_KUBERNETES_IMAGE": "registry.example.org/proximal-worker:0.1.0",
    "PROXIMAL_KUBERNETES_CLAIM": "data",
    "PROXIMAL_KUBERNETES_POLL_SECONDS": "0.05",
    "PROXIMAL_STOP_SECONDS": "60",
    "DATABASE_URL": "postgresql://user:a-password@localhost/x",
    "REDIS_URL": "redis://localhost",
}


@pytest.fixture
def variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The settings of a worker for Kubernetes."""
    for name, value in (VARIABLES | {"PROXIMAL_DATA_DIR": str(tmp_path / "data")}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    get_settings.cache_clear()
    yield
    get_settings.cache_clear()


def started(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    cluster.start()
    monkeypatch.setenv("PROXIMAL_KUBERNETES_CONFIG", str(cluster.config_file))
    get_settings.cache_clear()
    try:
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def cluster(variables: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """One whose pods start no process."""
    yield from started(Cluster(tmp_path / "node", tmp_path / "data", scripted=True), monkeypatch)


@pytest.fixture
def real_cluster(variables: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """One whose pods are processes."""
    yield from started(Cluster(tmp_path / "node", tmp_path / "data"), monkeypatch)


def make_run(settings: Settings, attempt: int = 1, **changes: Any) -> RunToStart:
    """An attempt at the tiny job, with the files that a worker prepares."""
    workspace = Workspace(settings.data_dir / "runs" / JOB_ID / f"attempt-{attempt}")
    (workspace.folder / "data").mkdir(parents=True)
    spec = read_spec(TINY) | changes
    for role in ("sft", "preferences"):
        rows = (TINY.parent / "tiny" / f"{role}.jsonl").read_bytes()
        (workspace.folder / "data" / f"{role}.jsonl").write_bytes(rows)
        spec["data"][role] = f"data/{role}.jsonl"
    workspace.spec.write_text(json.dumps(spec))
    workspace.lease.write_text("9e9")
    workspace.local_paths.write_text(json.dumps({"allowed": [], "refused": []}))
    return RunToStart(JOB_ID, attempt, spec, workspace, settings)


Start = Callable[..., KubernetesTrainer]


@pytest.fixture
def start(cluster: Cluster) -> Iterator[Start]:
    """Start the trainer of an attempt. `settings`: changed fields of the settings."""
    trainers = []

    def start(settings: dict[str, Any] | None = None, **changes: Any) -> KubernetesTrainer:
        run = make_run(get_settings().model_copy(update=settings or {}), **changes)
        trainers.append(KubernetesTrainer(run))
        return trainers[-1]

    yield start
    for trainer in trainers:
        trainer.leave()


def waits_for(cluster: Cluster, trainer: KubernetesTrainer, part: str) -> None:
    cluster.until(lambda: part in (trainer.waiting or ""))
    assert trainer.poll() is None and trainer.refused is None


def ended(cluster: Cluster, trainer: KubernetesTrainer) -> int:
    cluster.until(lambda: trainer.poll() is not None)
    status = trainer.poll()
    assert status is not None
    return status


def saved(trainer: KubernetesTrainer) -> None:
    """Write the event of a trainer that was asked to end."""
    log = EventLog(trainer._run.workspace.events)
    log.emit(RunStopped(reason="signal", stage="ppo", step=3))
    log.close()
