"""How a worker is asked to end."""

import logging
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.orm import Session

from core.db import session_scope


class StopRequest:
    """Ask once: the trainer saves and the job goes back to the queue. Ask again: now.

    Plain attributes, since a signal handler must not wait for a lock that the code it interrupted may hold.
    """

    requested = False
    urgent = False

    def ask(self) -> None:
        self.urgent = self.requested
        self.requested = True

    def on_signals(self, also: Callable[[], None] = lambda: None) -> None:
        """SIGTERM and SIGINT ask; `also` is told each time."""

        def handle(number: int, frame: FrameType | None) -> None:
            self.ask()
            also()

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, handle)


# Something done every few seconds, whatever else the process is busy with.
class Beat:
    """Calls `action` from a thread of its own, every `seconds`, until it answers False or `stop` is called."""

    def __init__(self, name: str, seconds: float, action: Callable[[], bool]) -> None:
        self._seconds = seconds
        self._action = action
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._seconds):
            if not self._action():
                return


# The database may be away for a while: restarting, failing over, or its network with it.
AWAY = (OperationalError, InterfaceError)
"""What a database that does not answer raises."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0
T = TypeVar("T")
log = logging.getLogger(__name__)


def patiently(action: Callable[[Session], T], give_up: Callable[[], bool]) -> T:
    """Do `action` in a transaction; while the database is away, try again, until `give_up()`."""
    pause = _FIRST_PAUSE
    while True:
        try:
            with session_scope() as session:
                return action(session)
        except AWAY as error:
            if give_up():
                raise
            log.warning("the database does not answer, trying again in %.1f s: %s", pause, error)
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
