"""Runs that are killed at any event and begun again, and are compared with one that was left alone.

A kill leaves the files of the run folder as they are. A copy of the folder at that moment is therefore a killed run.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.trainer.run.tools import spec_of
from tests.trainer.running import events_of
from trainer.errors import Paused
from trainer.events import Event, EventLog, Metrics, console
from trainer.events.commands import Command, append_commands
from trainer.run.process import run_in_process

Commands = Mapping[int, list[Command]]
"""Commands by the number of steps that are done when they come."""
_EPHEMERAL = ("run_started", "run_finished", "run_stopped", "stage_started", "stage_finished", "message")
"""Events that each start of the run emits anew, or that hold the seconds of a clock."""


Moment = Callable[[Event, Literal["before", "after"]], bool]
"""Whether the run is killed now, before or after the event is written."""


def at_step(step: int) -> Moment:
    """After the metrics of this step."""
    return lambda event, when: when == "after" and isinstance(event, Metrics) and event.step == step


def at_event(number: int, wanted: Literal["before", "after"]) -> Moment:
    """Before or after event number `number` (0-based)."""
    events = iter(range(10**6))
    return lambda event, when: when == wanted and next(events) == number


@dataclass(frozen=True)
class Trial:
    """A run of `stages`; the commands go to the last one that trains."""

    stages: list[str]
    changes: Mapping[str, Any]
    commands: Commands

    @property
    def stage(self) -> str:
        return next(stage for stage in reversed(self.stages) if stage != "evaluation")

    def run(self, folder: Path, kills: Mapping[Path, "Moment"] | None = None) -> None:
        """Run in `folder` until the end. Copy the folder as a kill at each of these moments leaves it.

        A pause by a health rule is resumed at once.
        """
        folder.mkdir(parents=True, exist_ok=True)
        if 0 in self.commands and self.stage != "ppo":  # only PPO reports a step 0
            append_commands(folder, self.commands[0])
        emit = EventLog.emit

        def look(log: EventLog, event: Event) -> None:
            _copy(folder, [copy for copy, moment in (kills or {}).items() if moment(event, "before")])
            emit(log, event)
            _copy(folder, [copy for copy, moment in (kills or {}).items() if moment(event, "after")])
            if isinstance(event, Metrics) and event.stage == self.stage:
                append_commands(folder, self.commands.get(event.step, []))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(EventLog, "emit", look)
            patch.setattr(console, "show", lambda event: None)
            while True:
                try:
                    run_in_process(spec_of(self.stages, **self.changes), folder)
                except Paused:
                    continue
                break


def _copy(folder: Path, copies: list[Path]) -> None:
    for copy in copies:
        if not copy.exists():
            shutil.copytree(folder, copy)


def outcome(folder: Path) -> dict[str, str]:
    """A hash of every stored tensor by file, and all stored numbers but the seconds."""
    found = {}
    for file in sorted((folder / "checkpoints").rglob("*")):
        name = str(file.relative_to(folder / "checkpoints"))
        if file.suffix == ".safetensors":
            found[name] = hashlib.sha256(file.read_bytes()).hexdigest()
        elif file.name in ("state.json", "stage.json", "best.json"):
            numbers = json.loads(file.read_text())
            found[name] = json.dumps(
                {key: numbers[key] for key in sorted(numbers) if key not in ("seconds", "phases")}, sort_keys=True
            )
    return found


def told(folder: Path) -> set[str]:
    """The different events without clock readings, as JSON. One that a resumed run repeats is the same event."""
    return {_without_clock(event) for event in events_of(folder) if event.type not in _EPHEMERAL}


def _without_clock(event: Event) -> str:
    data = event.model_dump(mode="json", exclude={"at"})
    if isinstance(event, Metrics):
        data["values"] = {k: v for k, v in event.values.items() if not k.startswith(("time/", "memory/"))}
    return json.dumps(data, sort_keys=True)


def assert_same(killed: Path, calm: Path, between: bool = False) -> None:
    """Bit-identical weights, state, metrics and other events.

    `between`: the kill may have come between a checkpoint and its events, which the folder's log then lacks.
    """
    assert outcome(killed) == outcome(calm)
    extra, missing = told(killed) - told(calm), told(calm) - told(killed)
    if between:
        missing = {event for event in missing if json.loads(event)["type"] not in ("checkpoint_saved", "rolled_back")}
    assert not extra and not missing
