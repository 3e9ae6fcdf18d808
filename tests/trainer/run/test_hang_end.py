"""Tests for trainer/run/hang_end.py: the end of a run that hangs, by hand and under a worker."""

import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.trainer.rewards.tools import Reply, says, serving
from tests.trainer.running import events_of, start, status_of, write_spec
from tests.trainer.stage_tools import session_in
from trainer.events import Event, Message, RunFailed, RunFinished, RunStarted
from trainer.hangs import Finding
from trainer.hangs.restart import Restarts
from trainer.run.hang_end import HangEnd
from trainer.session.session import Session
from trainer.spec import HangSpec

FINDING = Finding("reward", [0], "Process 0 has been in the phase reward for 46 seconds.")


class Ended(BaseException):
    """The process would have ended, or have been replaced."""


def end_of(
    session: Session, action: str, restarts: Restarts | None, monkeypatch: pytest.MonkeyPatch
) -> tuple[int | list[str], RunFailed]:
    """The exit status or the command that replaces the process, and the last event."""

    def end(*arguments: Any) -> None:
        raise Ended(arguments[-1])

    monkeypatch.setattr(os, "_exit", end)
    monkeypatch.setattr(os, "execv", end)
    session.spec = session.spec.model_copy(update={"hang": HangSpec.model_validate({"action": action})})
    session.on_hang = HangEnd(session, None, restarts)
    session.stage, session.step = "ppo", 7
    with pytest.raises(Ended) as ended:
        session.hangs_in(FINDING)
    last = events_of(session.run_dir)[-1]
    assert isinstance(last, RunFailed)
    result: int | list[str] = ended.value.args[0]
    return result, last


def test_fail_ends_the_run_with_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with session_in(tmp_path) as session:
        status, event = end_of(session, "fail", Restarts(["run"]), monkeypatch)
    assert (status, event.code, event.stage, event.step) == (15, "hang", "ppo", 7)
    assert event.message.startswith(
        "The run hangs. Process 0 has been in the phase reward for 46 seconds. The trainer's"
    )


def test_restart_under_a_worker_ends_with_its_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with session_in(tmp_path) as session:
        status, event = end_of(session, "restart", None, monkeypatch)
    assert (status, event.code) == (16, "hang_restart")


@pytest.mark.parametrize(("attempt", "saved", "following"), [(1, False, 2), (4, False, 5), (3, True, 2), (5, True, 2)])
def test_restart_by_hand_runs_the_command_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attempt: int, saved: bool, following: int
) -> None:
    with session_in(tmp_path) as session:
        session.has_saved = saved
        command, event = end_of(session, "restart", Restarts(["run", "spec.json"], attempt), monkeypatch)
    assert command == [sys.executable, "-m", "trainer", "run", "spec.json", "--attempt", str(following)]
    assert event.code == "hang_restart"


def test_restart_by_hand_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with session_in(tmp_path) as session:
        status, event = end_of(session, "restart", Restarts(["run"], 5), monkeypatch)
    assert (status, event.code) == (15, "hang")
    assert event.message.endswith("This was attempt 5 in a row without a new checkpoint.")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"action": "off", "least_seconds": 60}, '`least_seconds` has no effect with `action` = "off"'),
        ({"first_seconds": 30}, r"`first_seconds` \(30\) must be at least `least_seconds` \(45\)"),
        ({"least_seconds": 0}, "greater than or equal to 1"),
    ],
)
def test_hang_spec_without_effect_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        HangSpec.model_validate(changes)


class FailsOnce:
    """A reward server that refuses the second batch of training once."""

    def __init__(self) -> None:
        self.batches = 0

    def __call__(self, question: dict[str, Any]) -> Reply:
        self.batches += len(question["items"]) == 16
        return says({"scores": [0.5 for _ in question["items"]]}, status=503 if self.batches == 2 else 200)


def hang_at_a_retry(event: Event) -> None:
    """Hang as a trainer does whose output is not read any more."""
    if isinstance(event, Message) and "Trying again" in event.text:
        threading.Event().wait()


@pytest.mark.slow
def test_a_run_by_hand_restarts_after_a_hang_and_finishes(tmp_path: Path) -> None:
    """The floor is far above what a step takes, also on a busy machine. The test waits for it once."""
    with serving(FailsOnce()) as server:
        spec = write_spec(
            tmp_path,
            stages=["sft", "ppo"],
            sft={"epochs": 1},
            ppo={"steps": 3, "save_every": 1, "eval_every": 3, "self_test": False},
            evaluation={"prompts": 4},
            rewards=[{"type": "http", "url": server.url}],
            hang={"action": "restart", "least_seconds": 12},
        )
        stderr = tmp_path / "stderr"
        stderr.touch()
        assert status_of(start(spec, tmp_path / "run", stderr=str(stderr), on_event=hang_at_a_retry), 240) == 0
    failed = [event for event in events_of(tmp_path / "run") if isinstance(event, RunFailed)]
    assert [event.code for event in failed] == ["hang_restart"]
    assert "Process 0 has been in the phase reward (in score) for 13 seconds" in failed[0].message
    assert "in hang_at_a_retry" in stderr.read_text()
    started = [event.resumed_step for event in events_of(tmp_path / "run") if isinstance(event, RunStarted)]
    assert started == [None, 1]
    assert isinstance(events_of(tmp_path / "run")[-1], RunFinished)
