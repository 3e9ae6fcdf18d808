"""Hang detection: a phase of the run that takes far longer than its history is named, with the stacks of all threads.

Each process has one watching thread. It counts the seconds in which the process ran: a wait of one second counts as one
second, however late it returns. A process that a debugger or a laptop's lid has paused therefore comes no closer to a
deadline. The thread only reports: it ends no run and changes no result.

The thread needs Python's global lock. A call into C that keeps the lock is therefore not reported before it returns.
"""

import faulthandler
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, TextIO

Phase = Literal["rollout", "score", "update", "save"]

_TICK_SECONDS = 1.0
FIRST_SECONDS = 1800
"""The deadline of a phase that has not ended before in this process: it may compile kernels, or start an engine."""
LEAST_SECONDS = 45
"""The shortest deadline of a phase that has ended before."""
MULTIPLE = 10
"""The deadline of a phase is this many times the longest that it has taken."""


@dataclass
class Deadlines:
    """The running phase and the history of all phases, in ticks of one second."""

    longest: dict[Phase, int] = field(default_factory=dict)
    running: Phase | None = None
    ticks: int = 0
    _reported: bool = False

    def begin(self, phase: Phase) -> None:
        self.running, self.ticks, self._reported = phase, 0, False

    def end(self) -> None:
        """End the running phase and remember how long it took."""
        if self.running is not None:
            self.longest[self.running] = max(self.longest.get(self.running, 0), self.ticks)
        self.running = None

    def of(self, phase: Phase) -> int:
        """The deadline of `phase`, in ticks."""
        longest = self.longest.get(phase)
        return FIRST_SECONDS if longest is None else max(LEAST_SECONDS, MULTIPLE * longest)

    def tick(self) -> Phase | None:
        """Count one tick. Return the running phase when it passes its deadline, once for each time it runs."""
        if self.running is None:
            return None
        self.ticks += 1
        if self._reported or self.ticks <= self.of(self.running):
            return None
        self._reported = True
        return self.running


class HangWatch:
    """Reports a phase that passes its deadline, from a thread that runs inside `watching`."""

    def __init__(self, report: Callable[[str], None], place: Callable[[], str]) -> None:
        """`report` is called with the finding, in the watching thread. `place`: the rank, stage and last step, as text."""
        self.deadlines = Deadlines()
        self._report, self._place = report, place
        self._lock = threading.Lock()

    @contextmanager
    def phase(self, name: Phase) -> Iterator[None]:
        """While inside, the phase is watched. A phase that raises adds nothing to the history. Phases do not nest."""
        with self._lock:
            self.deadlines.begin(name)
        try:
            yield
        except BaseException:
            with self._lock:
                self.deadlines.running = None
            raise
        with self._lock:
            self.deadlines.end()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Run the watching thread while inside."""
        ended = threading.Event()
        thread = threading.Thread(target=self._watch, args=(ended,), name="hang watch", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _watch(self, ended: threading.Event) -> None:
        while not ended.wait(_TICK_SECONDS):
            self.look(sys.__stderr__)

    def look(self, stream: TextIO | None) -> None:
        """Count one tick. Past the deadline, write the stacks of all threads to `stream` and report the phase."""
        with self._lock:
            hanging, ticks = self.deadlines.tick(), self.deadlines.ticks
        if hanging is None:
            return
        text = (
            f"The phase {hanging} has run for {ticks} seconds, far longer than before ({self._place()}). It may hang. "
            "The trainer's log has the stacks of its threads. Stop the run and run it again to resume from its checkpoint."
        )
        if stream is not None:
            stream.write(f"hang: {text}\n")
            stream.flush()
            faulthandler.dump_traceback(stream, all_threads=True)
        try:
            self._report(text)
        except OSError as error:  # such as a full disk; the main thread meets it too
            if stream is not None:
                stream.write(f"hang: the finding cannot be written to the events: {error}\n")
