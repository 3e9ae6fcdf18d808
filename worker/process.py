"""Parts that every process of the worker shares: stop requests, periodic threads, database retries, the message loop."""

import logging
import signal
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import TypeVar

from celery.worker import WorkController, state  # type: ignore[import-untyped]
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.orm import Session

from core.broker import celery_app, task_name, wake_worker
from core.db import session_scope

DATABASE_UNAVAILABLE = (OperationalError, InterfaceError)
"""Errors of a database that does not answer: it restarts, fails over, or the network is down."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0
_POLL_SECONDS = 0.1
T = TypeVar("T")
log = logging.getLogger(__name__)


class StopRequest:
    """The first request lets the trainer save and gives the job back to the queue. The second one ends at once.

    Plain attributes: a signal handler must not wait for a lock that the interrupted code may hold.
    """

    requested = False
    urgent = False

    def ask(self) -> None:
        self.urgent = self.requested
        self.requested = True

    def on_signals(self, also: Callable[[], None] = lambda: None) -> None:
        """Make SIGTERM and SIGINT call `ask` and `also`."""

        def handle(number: int, frame: FrameType | None) -> None:
            self.ask()
            also()

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, handle)

    def pause(self, seconds: float) -> None:
        """Sleep, but no longer than until the first request."""
        deadline = time.monotonic() + seconds
        while not self.requested and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)


class PeriodicThread:
    """Calls `action` in a thread every `seconds`, until it returns False or `stop` is called."""

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


def with_retries(action: Callable[[Session], T], give_up: Callable[[], bool]) -> T:
    """The result of `action` in a transaction. It is repeated while the database is unavailable, until `give_up()`."""
    pause = _FIRST_PAUSE
    while True:
        try:
            with session_scope() as session:
                return action(session)
        except DATABASE_UNAVAILABLE as error:
            if give_up():
                raise
            log.warning("the database does not answer, trying again in %.1f s: %s", pause, error)
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)


def consume_messages(redis_url: str, queue: str, handler: Callable[[], int], also: Sequence[str] = ()) -> int:
    """Call `handler` for each message of the queue and of the queues `also`, until `stop_consuming` is called. Returns the exit status.

    Uses Celery's bare controller, without the signal handlers of its command line: with those, a solo worker would
    ignore signals until the present job ends, which may take days.
    """
    app = celery_app(redis_url)
    # A broker that does not answer must not end the worker, however long that takes.
    app.conf.update(broker_connection_max_retries=None, worker_enable_remote_control=False)

    @app.task(name=task_name(queue))  # type: ignore[untyped-decorator]
    def on_message() -> int:  # Celery needs a function with a name, and a handler may be a lambda
        return handler()

    controller = WorkController(
        app=app,
        queues=[queue, *also],
        pool="solo",
        concurrency=1,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
        # Rows may have been waiting for a worker to start, or for the broker to come back.
        ready_callback=lambda _: wake_worker(redis_url, queue),
    )
    controller.start()
    return int(controller.exitcode or 0)


def stop_consuming() -> None:
    """Make `consume_messages` return after the present message. Safe in a signal handler."""
    state.should_stop = 0
