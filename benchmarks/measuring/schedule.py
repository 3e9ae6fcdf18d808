"""Runs parts within a time budget, each in a process of its own, and records how each ended. Torch-free.

The processes are forked from one that has imported the trainer and has not touched the GPU, so that none of them waits
for the imports. A part that is `shared` runs beside other shared ones; any other has the machine to itself.
"""

import io
import json
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Literal

OUTPUT = 4000
"""Characters of a failed part's output that are kept: its end."""
_OUTCOME, _LOG = "outcome.json", "log.txt"
Status = Literal["passed", "failed", "cut", "skipped", "left_out"]


class Skipped(Exception):
    """Raised by a part that cannot run here; the text is the reason."""


class Broken(Exception):
    """Raised by a part that ran and found faults; the text is the reason."""

    def __init__(self, reason: str, figures: dict[str, Any]) -> None:
        super().__init__(reason)
        self.figures = figures


@dataclass(frozen=True)
class Place:
    """Where and how large a part works."""

    folder: Path
    """Its own; empty when the part begins."""
    cache: Path
    """Shared by all parts: models."""
    device: str
    rehearsal: bool
    """Tiny sizes, so that a CPU is done within seconds."""
    seconds: float
    """After so long the part is ended."""


@dataclass(frozen=True)
class Part:
    name: str
    work: Callable[[Place], dict[str, Any]]
    seconds: float
    shared: bool = False


@dataclass
class Outcome:
    """How a part ended. `cut`: it ran past its time; `left_out`: the budget was spent before it began."""

    name: str
    status: Status
    seconds: float = 0.0
    limit_s: float = 0.0
    reason: str | None = None
    figures: dict[str, Any] = field(default_factory=dict)
    output: str | None = None
    """The end of what a failed or cut part printed."""

    def as_json(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if value not in (None, {})}


@dataclass
class _Running:
    part: Part
    process: BaseProcess
    folder: Path
    began: float
    limit: float


class Schedule:
    """Runs parts in their order, at most `at_once` shared ones together, until `deadline` (of `time.monotonic`)."""

    def __init__(
        self, folder: Path, deadline: float, at_once: int, ended: Callable[[Outcome], None], preload: Sequence[str] = ()
    ) -> None:
        self._folder, self._deadline, self._ended = folder, deadline, ended
        self.at_once = at_once
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(list(preload))
        self._running: list[_Running] = []

    def run(self, parts: Sequence[Part], device: str, rehearsal: bool) -> None:
        """Run all of them; `ended` is called with each outcome as it is known."""
        waiting = list(parts)
        try:
            while waiting or self._running:
                while waiting and self._may_begin(waiting[0]):
                    self._begin(waiting.pop(0), device, rehearsal)
                self._collect()
        finally:
            for running in self._running:
                _end(running.process)

    def _may_begin(self, part: Part) -> bool:
        if not self._running:
            return True
        together = part.shared and all(running.part.shared for running in self._running)
        return together and len(self._running) < self.at_once

    def _begin(self, part: Part, device: str, rehearsal: bool) -> None:
        left = self._deadline - time.monotonic()
        if left <= 1:
            self._ended(Outcome(part.name, "left_out", reason="the time budget was spent"))
            return
        folder, limit = self._folder / part.name.replace(" ", "-"), min(part.seconds, left)
        folder.mkdir(parents=True)
        place = Place(folder, self._folder / "cache", device, rehearsal, limit)
        process = self._context.Process(target=_body, args=(part.work, place))
        process.start()
        self._running.append(_Running(part, process, folder, time.monotonic(), limit))

    def _collect(self) -> None:
        """Wait until a part ends or runs out of time, and report what has ended."""
        if not self._running:
            return
        soonest = min(running.began + running.limit for running in self._running) - time.monotonic()
        wait([running.process.sentinel for running in self._running], timeout=max(0.0, soonest))
        now = time.monotonic()
        for running in list(self._running):
            over = now - running.began >= running.limit
            if running.process.exitcode is None and not over:
                continue
            cut = running.process.exitcode is None
            _end(running.process)
            self._running.remove(running)
            self._ended(_outcome_of(running, cut, now - running.began))


def _outcome_of(running: _Running, cut: bool, seconds: float) -> Outcome:
    outcome = Outcome(running.part.name, "failed", round(seconds, 2), round(running.limit, 1))
    told = running.folder / _OUTCOME
    if told.exists():
        for name, value in json.loads(told.read_text(encoding="utf-8")).items():
            setattr(outcome, name, value)
    elif cut:
        outcome.status, outcome.reason = "cut", f"not over after {running.limit:.0f} s"
    if outcome.status in ("failed", "cut"):
        log = running.folder / _LOG
        outcome.output = log.read_text(encoding="utf-8", errors="replace")[-OUTPUT:] if log.exists() else ""
    if outcome.status == "failed" and outcome.reason is None:
        last = next(reversed((outcome.output or "").split("\n")[:-1]), "")
        outcome.reason = f"its process ended with {running.process.exitcode}: {last}"
    return outcome


def _end(process: BaseProcess) -> None:
    """The process with all that it started: it leads a process group."""
    if process.pid is not None and process.exitcode is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:  # it has not come as far as to lead one
            process.kill()
    process.join()


def _body(work: Callable[[Place], dict[str, Any]], place: Place) -> None:
    """In the part's own process: do the work with all output in the part's log, and write the outcome.

    An exception ends the process, whose traceback is then the end of the log.
    """
    os.setsid()
    log = os.open(place.folder / _LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # else what was printed before an exception follows its traceback
    try:
        outcome: dict[str, Any] = {"status": "passed", "figures": work(place)}
    except Skipped as reason:
        outcome = {"status": "skipped", "reason": str(reason)}
    except Broken as fault:
        outcome = {"status": "failed", "reason": str(fault), "figures": fault.figures}
    draft = place.folder / f"{_OUTCOME}.new"
    draft.write_text(json.dumps(outcome), encoding="utf-8")
    draft.rename(place.folder / _OUTCOME)
