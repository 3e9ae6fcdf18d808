"""Preparation of a run folder for the trackers of a job."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from core.settings import Settings, get_settings
from trainer.spec.tracking import TrackingSpec
from worker.health import WorkerHeartbeat
from worker.jobs.claim import run_queued_jobs
from worker.jobs.context import WorkerContext
from worker.jobs.workspace import Workspace, prepare_tracking

Queue = Callable[[str], str]


def prepared(folder: Path, spec: dict[str, object], settings: Settings) -> Workspace:
    folder.mkdir(exist_ok=True)
    workspace = Workspace(folder)
    workspace.spec.write_text(json.dumps(spec))
    prepare_tracking(workspace, "job_1", settings)
    return workspace


def test_job_without_trackers_gets_those_of_the_platform(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROXIMAL_TRACKING", '{"wandb": {"project": "ours"}}')
    get_settings.cache_clear()
    platform = get_settings()
    workspace = prepared(tmp_path / "none", {}, platform)
    assert json.loads(workspace.spec.read_text())["tracking"]["wandb"]["project"] == "ours"
    assert (workspace.folder / "run_id").read_text() == "job_1"
    own = {"tracking": TrackingSpec.model_validate({"trackio": {}}).model_dump(mode="json")}
    assert json.loads(prepared(tmp_path / "own", own, platform).spec.read_text()) == own
    assert not (prepared(tmp_path / "off", {}, settings).folder / "run_id").exists()


def test_tensorboard_files_outlive_the_attempts(settings: Settings, tmp_path: Path) -> None:
    spec = {"tracking": {"tensorboard": {}}}
    for attempt in ("1", "2"):
        workspace = prepared(tmp_path / attempt, spec, settings)
        (workspace.folder / "tensorboard" / attempt).touch()
    assert {file.name for file in (settings.data_dir / "tensorboard" / "job_1").iterdir()} == {"1", "2"}


def test_variables_of_trackers_reach_the_trainer(
    queue: Queue,
    context: WorkerContext,
    heartbeat: WorkerHeartbeat,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("WANDB_API_KEY", "MLFLOW_TRACKING_URI", "TRACKIO_DIR"):
        monkeypatch.setenv(name, f"value of {name}")
    job_id = queue("show_environment crash")
    run_queued_jobs(replace(context), heartbeat)
    console = (settings.data_dir / "runs" / job_id / "attempt-1" / "trainer.log").read_text()
    assert all(f"value of {name}" in console for name in ("WANDB_API_KEY", "MLFLOW_TRACKING_URI", "TRACKIO_DIR"))
