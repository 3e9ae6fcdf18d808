"""A run with a tracker: the same result, and its metrics in the tracker."""

from pathlib import Path

import pytest

from tests.trainer.run.tools import run, spec_of
from tests.trainer.running import events_of
from trainer.events import Message, Metrics
from trainer.preflight.check import check


def test_run_writes_its_metrics_to_tensorboard(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="the extra `tensorboard` is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run(tmp_path, ["sft"], tracking={"tensorboard": {}, "finish_seconds": 100})
    losses = {e.step: e.values["loss"] for e in events_of(tmp_path) if isinstance(e, Metrics)}
    found = EventAccumulator(str(tmp_path / "tensorboard" / "sft")).Reload().Scalars("loss")
    assert {one.step: pytest.approx(one.value) for one in found} == losses and losses
    warnings = [e.text for e in events_of(tmp_path) if isinstance(e, Message) and e.level == "warning"]
    assert not any("tracker" in text for text in warnings)


def test_check_names_a_tracker_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainer.tracking.trackers.find_spec", lambda name: None if name == "wandb" else name)
    found = check(spec_of(["sft"], tracking={"wandb": {}, "tensorboard": {}})).findings
    (only,) = [finding for finding in found if finding.code == "tracker_missing"]
    assert (only.level, only.where) == ("warning", "#/tracking/wandb") and "pip install wandb." in (only.fix or "")
