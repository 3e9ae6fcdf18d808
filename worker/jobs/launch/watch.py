"""Watches a launcher's engine: what it offers, and why it accepts no jobs at present."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from worker.process import PeriodicThread

State = TypeVar("State")
log = logging.getLogger(__name__)


class EngineWatch(Generic[State]):
    """The engine as it was seen last, and why the worker cannot submit to it."""

    def __init__(self, name: str, check: Callable[[], tuple[State | None, str | None]]) -> None:
        self._name, self._check = name, check
        self.cluster: State | None = None
        self.problem: str | None = None
        self.look()

    def look(self) -> bool:
        """Read the engine's state. One that does not respond keeps its last description. Returns True."""
        cluster, problem = self._check()
        self.cluster = cluster or self.cluster
        if problem != self.problem:
            log.warning("%s", problem or f"{self._name} accepts jobs again.")
        self.problem = problem
        return True


@contextmanager
def watching(
    name: str, check: Callable[[], tuple[State | None, str | None]], seconds: float
) -> Iterator[EngineWatch[State]]:
    """While inside, a thread looks at the engine every `seconds`."""
    watch = EngineWatch(name, check)
    thread = PeriodicThread("cluster", seconds, watch.look)
    thread.start()
    try:
        yield watch
    finally:
        thread.stop()
