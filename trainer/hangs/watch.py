"""Hang detection: a phase of the run that takes far longer than its history is named, with the stacks of all threads.

Each process has one watching thread. It counts the seconds in which the process ran: a wait of one second counts as one
second, however late it returns. So a process that a debugger or a laptop's lid has paused comes no closer to a deadline.
Neither does one that waits for such a process on its machine.

The thread needs Python's global lock. A call into C that keeps the lock is therefore not reported before it returns. Other
processes of the run report that this one does not respond.
"""

import faulthandler
import math
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Protocol, TextIO

from trainer.hangs.finding import Finding, Place, finding_of
from trainer.hangs.peers import PeerPlaces
from trainer.hangs.phases import Floors, Phase, PhaseClock

_TICK_SECONDS = 1.0
PATIENCE = 5
"""Ticks for which the other processes are awaited after a question."""


class Watched(Protocol):
    """The session that is watched."""

    def position(self) -> tuple[str | None, int]:
        """The stage and the last step."""
        ...

    def hangs_in(self, finding: Finding) -> None:
        """Act on a hang. It is called in the watching thread of one process. May raise OSError."""
        ...


class HangWatch:
    """Reports a phase that passes its deadline, from a thread that runs inside `watching`."""

    def __init__(self, floors: Floors | None = None, is_on: bool = True) -> None:
        self.clock = PhaseClock(floors or Floors())
        self._is_on = is_on
        self.peers: PeerPlaces | None = None
        """The other processes of the run, if there are any."""
        self._watched: Watched | None = None
        self._last_event, self._event_age = "none", 0
        self._lock = threading.Lock()
        self._waited: int | None = None
        """Ticks since this process has responded to the present question; None if it has not."""

    @contextmanager
    def phase(self, name: Phase, at_most: float = 0) -> Iterator[None]:
        """While inside, the phase is watched. A phase that raises adds nothing to the history.

        `at_most`: seconds after which it ends by itself, if it does.
        """
        with self._lock:
            inside = self.clock.innermost.name == name
            if not inside:
                self.clock.begin(name, math.ceil(at_most))
        if inside:
            yield
            return
        completed = False
        try:
            yield
            completed = True
        finally:
            with self._lock:
                self.clock.end(completed)

    def enter_stage(self, stage: str) -> None:
        """From now on, phases have the history of this stage."""
        with self._lock:
            self.clock.enter_stage(stage)

    def step_ended(self) -> None:
        """A step has been reported."""
        with self._lock:
            self.clock.step_ended()

    def note_event(self, description: str) -> None:
        """Remember the last event of the run."""
        with self._lock:
            self._last_event, self._event_age = description, 0

    def recall(self, stored: Mapping[str, Any]) -> None:
        """Add the history of an earlier process."""
        with self._lock:
            self.clock.recall(stored)

    def stored(self) -> dict[str, list[int | None]]:
        """The history, for JSON."""
        with self._lock:
            return self.clock.stored()

    @contextmanager
    def watching(self, watched: Watched) -> Iterator[None]:
        """Watch this session while inside. Inside another one, the session takes the place of the outer one meanwhile."""
        outer, self._watched = self._watched, watched
        token = _watch.set(self)
        try:
            if outer is None and self._is_on:
                with self._thread():
                    yield
            else:
                yield
        finally:
            _watch.reset(token)
            self._watched = outer

    @contextmanager
    def _thread(self) -> Iterator[None]:
        ended = threading.Event()
        thread = threading.Thread(target=self._run, args=(ended,), name="hang watch", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _run(self, ended: threading.Event) -> None:
        while not ended.wait(_TICK_SECONDS):
            self.look(sys.__stderr__)

    def look(self, stream: TextIO | None) -> None:
        """Count one tick. Past a deadline, write the stacks of all threads to `stream` and report the phase.

        With several processes, also respond to a question of another one.
        """
        try:
            self._look(stream)
        except OSError as error:  # such as a full disk; the main thread meets it too
            _write(stream, f"hang: the finding cannot be written: {error}")

    def _look(self, stream: TextIO | None) -> None:
        peers = self.peers
        if _is_debugged():
            return
        if peers is not None and self._waited is None and peers.is_one_paused():
            return
        with self._lock:
            self._event_age += 1
            overdue = self.clock.tick()
        if peers is None:
            if overdue is not None:
                _write_stacks(stream)
                self._conclude(finding_of({0: self._place()}, 1), stream)
            return
        if overdue is not None:
            peers.ask()
        if peers.is_asked():
            self._take_part(peers, stream)

    def _take_part(self, peers: PeerPlaces, stream: TextIO | None) -> None:
        """Respond to the question once. Then wait for the other processes, of which the first one to respond reports."""
        if self._waited is None:
            self._waited = 0
            _write_stacks(stream)
            peers.respond(self._place())
        else:
            self._waited += 1
        found = peers.responses()
        if len(found) < peers.processes and self._waited < PATIENCE:
            return
        self._waited = None
        peers.next_question()
        with self._lock:
            self.clock.silence()
        if peers.rank == min(found):
            self._conclude(finding_of(found, peers.processes), stream)

    def _conclude(self, finding: Finding, stream: TextIO | None) -> None:
        _write(stream, f"hang: {finding.text}")
        if self._watched is not None:
            self._watched.hangs_in(finding)

    def _place(self) -> Place:
        stage, step = self._watched.position() if self._watched is not None else (None, 0)
        with self._lock:
            running = self.clock.innermost
            event = f"{self._last_event}, {self._event_age} seconds ago"
            return Place(self.clock.path, running.ticks, self.clock.collectives, stage, step, event)


_watch: ContextVar[HangWatch | None] = ContextVar("hang watch", default=None)


@contextmanager
def phase(name: Phase, at_most: float = 0) -> Iterator[None]:
    """While inside, the run is in this phase, as `HangWatch.phase` has it. Usable as a decorator.

    It has an effect in the main thread of a run that is watched. In another thread, and outside of a run, it has none.
    """
    watch = _watch.get()
    if watch is None:
        yield
        return
    with watch.phase(name, at_most):
        yield


def _is_debugged() -> bool:
    """Whether the main thread waits at the prompt of a debugger, such as pdb."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None:
        if frame.f_globals.get("__name__") == "bdb":
            return True
        frame = frame.f_back
    return False


def _write_stacks(stream: TextIO | None) -> None:
    if stream is None:
        return
    _write(stream, "hang: the stacks of all threads of this process:")
    with suppress(OSError):
        faulthandler.dump_traceback(stream, all_threads=True)


def _write(stream: TextIO | None, line: str) -> None:
    if stream is not None:
        with suppress(OSError):
            stream.write(f"{line}\n")
            stream.flush()
