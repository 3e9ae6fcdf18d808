"""Trackers with their real packages, offline or local: a run of two steps that is stopped, and resumed from step 2."""

import importlib.util
import json
import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.running import tiny_spec
from tests.trainer.tracking.wandb_file import records
from trainer.events import Event, EventLog, Message, Metrics, RunFinished, RunStopped
from trainer.spec import JobSpec
from trainer.tracking import tracked
from trainer.tracking.trackers import RUN_ID

FIRST: list[Event] = [
    Metrics(stage="sft", step=1, total_steps=1, values={"loss": 9.0}),
    Metrics(stage="ppo", step=1, total_steps=3, values={"objective/kl": 0.1}),
    Metrics(stage="ppo", step=2, total_steps=3, values={"objective/kl": 0.2}),
    RunStopped(reason="signal", stage="ppo", step=1),
]
SECOND: list[Event] = [
    Metrics(stage="ppo", step=2, total_steps=3, values={"objective/kl": 0.25}),
    Metrics(stage="ppo", step=3, total_steps=3, values={"objective/kl": 0.3}),
    RunFinished(seconds=1.0, summary={"win_rate": 0.75}),
]


def spec_with(**tracking: Any) -> JobSpec:
    return JobSpec.model_validate(tiny_spec() | {"name": "mine", "tracking": tracking})


def follow(spec: JobSpec, folder: Path, events: list[Event]) -> list[Message]:
    """Log the events while the trackers follow. Returns the messages that they reported."""
    reported: list[Message] = []
    log = EventLog(folder / "events.jsonl")
    with tracked(spec, folder, reported.append):
        for event in events:
            log.emit(event)
    log.close()
    return reported


@pytest.fixture(scope="module")
def tracked_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The run folder of a finished run with TensorBoard."""
    yield from run_with(("tensorboard",), tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def widely_tracked_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The run folder of a finished run with every other tracker."""
    yield from run_with(("wandb", "mlflow", "trackio"), tmp_path_factory.mktemp("run"))


def run_with(trackers: tuple[str, ...], folder: Path) -> Iterator[Path]:
    """Finish a run with those of the trackers whose package is installed."""
    (folder / RUN_ID).write_text("job_abc")
    chosen = {name: {} for name in trackers if importlib.util.find_spec(name)}
    spec = spec_with(**chosen, link="https://here.example/jobs/job_abc", finish_seconds=250)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder}/mlflow.db")
        patch.setenv("WANDB_MODE", "offline")
        patch.setenv("TRACKIO_DIR", str(folder / "trackio"))
        for events in (FIRST, SECOND):
            assert [message.text for message in follow(spec, folder, events) if message.level != "info"] == []
        yield folder


def test_tensorboard_repeated_steps_replace_earlier(tracked_run: Path) -> None:
    pytest.importorskip("tensorboard", reason="the extra `tensorboard` is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    def scalars(stage: str, name: str) -> list[tuple[int, float]]:
        found = EventAccumulator(str(tracked_run / "tensorboard" / stage)).Reload()
        return [(one.step, pytest.approx(one.value)) for one in found.Scalars(name)]

    assert scalars("ppo", "objective/kl") == [(1, 0.1), (2, 0.25), (3, 0.3)]
    assert scalars("sft", "loss") == [(1, 9.0)]
    assert scalars("run", "final/win_rate") == [(0, 0.75)]
    text = EventAccumulator(str(tracked_run / "tensorboard" / "run")).Reload().Tensors("config/text_summary")[0]
    assert b"https://here.example/jobs/job_abc" in text.tensor_proto.string_val[0]


SEEDS: list[Event] = [
    Metrics(stage="ppo", step=1, total_steps=1, values={"objective/kl": 0.1}, seed=5),
    RunFinished(seconds=1.0, summary={"win_rate": 0.5}, seed=5),
    Metrics(stage="ppo", step=1, total_steps=1, values={"objective/kl": 0.3}, seed=6),
    RunFinished(seconds=1.0, summary={"win_rate": 0.75}, seed=6),
    RunFinished(seconds=2.0, summary={"win_rate": 0.625}),
]


def test_tensorboard_several_seeds_are_runs_of_their_own(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="the extra `tensorboard` is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    spec = spec_with(tensorboard={}, finish_seconds=250).model_copy(update={"seed": 5, "seeds": 2})
    assert [message.seed for message in follow(spec, tmp_path, SEEDS)] == [5, 6, None]
    found = {}
    for folder, name in (("seed-5", "ppo"), ("seed-6", "ppo"), ("seed-5", "run"), ("seed-6", "run"), ("", "run")):
        read = EventAccumulator(str(tmp_path / "tensorboard" / folder / name)).Reload()
        tag = "objective/kl" if name == "ppo" else "final/win_rate"
        found[folder, name] = [(one.step, round(one.value, 6)) for one in read.Scalars(tag)]
    assert found == {
        ("seed-5", "ppo"): [(1, 0.1)], ("seed-6", "ppo"): [(1, 0.3)],
        ("seed-5", "run"): [(0, 0.5)], ("seed-6", "run"): [(0, 0.75)], ("", "run"): [(0, 0.625)],
    }  # fmt: skip
    assert not (tmp_path / "tensorboard" / "ppo").exists()


@pytest.mark.slow
def test_other_trackers_group_several_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("wandb", "mlflow", "trackio"):
        pytest.importorskip(name, reason=f"the extra `{name}` is not installed")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    (tmp_path / RUN_ID).write_text("job_abc")
    spec = spec_with(wandb={}, mlflow={}, trackio={}, finish_seconds=250).model_copy(update={"seed": 5, "seeds": 2})
    assert [one.text for one in follow(spec, tmp_path, SEEDS) if one.level != "info"] == []
    with sqlite3.connect(tmp_path / "mlflow.db") as database:
        ids = dict(database.execute("SELECT value, run_uuid FROM tags WHERE key = 'proximal.run_id'").fetchall())
        parents = dict(database.execute("SELECT run_uuid, value FROM tags WHERE key = 'mlflow.parentRunId'").fetchall())
        kl = database.execute("SELECT run_uuid, value FROM metrics WHERE key = 'ppo/objective/kl'").fetchall()
        final = dict(database.execute("SELECT run_uuid, value FROM metrics WHERE key = 'final/win_rate'").fetchall())
    whole, first, second = (ids[f"job_abc{rest}"] for rest in ("", "-seed-5", "-seed-6"))
    assert parents == {first: whole, second: whole}
    assert sorted(kl) == sorted([(first, 0.1), (second, 0.3)])
    assert final == {first: 0.5, second: 0.75, whole: 0.625}
    with sqlite3.connect(tmp_path / "trackio" / "proximal.db") as database:
        names = [name for (name,) in database.execute("SELECT run_name FROM metrics ORDER BY id")]
    assert list(dict.fromkeys(names)) == ["job_abc-seed-5", "job_abc-seed-6", "job_abc"]
    files = (tmp_path / "tracking" / "wandb").glob("offline-run-*/*.wandb")
    runs = [one.run for file in files for one in records(file) if one.WhichOneof("record_type") == "run"]
    assert {(one.run_id, one.run_group) for one in runs} == {
        (f"job_abc{rest}", "job_abc") for rest in ("", "-seed-5", "-seed-6")
    }


@pytest.mark.slow
def test_wandb_resumed_run_keeps_its_id_and_axes(widely_tracked_run: Path) -> None:
    pytest.importorskip("wandb", reason="the extra `wandb` is not installed")
    files = sorted((widely_tracked_run / "tracking" / "wandb").glob("offline-run-*-job_abc/*.wandb"))
    assert len(files) == 2
    found = [record for file in files for record in records(file)]
    rows = [
        {item.key or item.nested_key[0]: json.loads(item.value_json) for item in record.history.item}
        for record in found
        if record.WhichOneof("record_type") == "history"
    ]
    kl = [(row["ppo/step"], row["ppo/objective/kl"]) for row in rows if "ppo/objective/kl" in row]
    assert kl == [(1, 0.1), (2, 0.2), (2, 0.25), (3, 0.3)]
    runs = [record.run for record in found if record.WhichOneof("record_type") == "run"]
    assert {(run.run_id, run.project, run.display_name) for run in runs} == {("job_abc", "proximal", "mine")}
    axes = {record.metric.glob_name: record.metric.step_metric for record in found if record.metric.glob_name}
    assert axes["ppo/*"] == "ppo/step"


@pytest.mark.slow
def test_mlflow_resumed_run_is_one_run(widely_tracked_run: Path) -> None:
    pytest.importorskip("mlflow", reason="the extra `mlflow` is not installed")
    with sqlite3.connect(widely_tracked_run / "mlflow.db") as database:
        (run,) = database.execute("SELECT run_uuid, name, status FROM runs").fetchall()
        kl = database.execute(
            "SELECT step, value FROM metrics WHERE key = 'ppo/objective/kl' ORDER BY rowid"
        ).fetchall()
        final = database.execute("SELECT value FROM metrics WHERE key = 'final/win_rate'").fetchall()
        params = dict(database.execute("SELECT key, value FROM params").fetchall())
    assert run[1:] == ("mine", "FINISHED")
    assert kl == [(1, 0.1), (2, 0.2), (2, 0.25), (3, 0.3)]
    assert (final, params["run_id"], params["link"]) == ([(0.75,)], "job_abc", "https://here.example/jobs/job_abc")


@pytest.mark.slow
def test_trackio_resumed_run_is_one_run(widely_tracked_run: Path) -> None:
    pytest.importorskip("trackio", reason="the extra `trackio` is not installed")
    with sqlite3.connect(widely_tracked_run / "trackio" / "proximal.db") as database:
        rows = database.execute("SELECT run_id, run_name, step, metrics FROM metrics ORDER BY id").fetchall()
    assert len({run_id for run_id, *_ in rows}) == 1 and {name for _, name, *_ in rows} == {"job_abc"}
    kl = [
        (step, found["ppo/objective/kl"])
        for *_, step, text in rows
        if "ppo/objective/kl" in (found := json.loads(text))
    ]
    assert kl == [(1, 0.1), (2, 0.2), (2, 0.25), (3, 0.3)]
    assert json.loads(rows[-1][-1])["final/win_rate"] == 0.75


def test_tracker_that_fails_is_reported_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mlflow", reason="the extra `mlflow` is not installed")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    first, second = follow(spec_with(mlflow={}, finish_seconds=100), tmp_path, FIRST)
    assert "MLFLOW_TRACKING_URI is not set" in first.text and first.level == "warning"
    assert second.text == "The tracker mlflow ended with status 1; 3 steps were not sent."


def test_tracker_that_hangs_is_stopped_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that accepts a connection and never answers."""
    pytest.importorskip("mlflow", reason="the extra `mlflow` is not installed")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{silent.getsockname()[1]}")
        (only,) = follow(spec_with(mlflow={}, finish_seconds=0.5), tmp_path, FIRST)
    assert only.text == "The tracker mlflow did not end in time; 3 steps were not sent."


def test_tracker_without_its_package_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainer.tracking.trackers.find_spec", lambda name: None)
    (only,) = follow(spec_with(wandb={}), tmp_path, FIRST)
    assert only.level == "warning" and "pip install wandb." in only.text
    assert not (tmp_path / "tracking").exists()
