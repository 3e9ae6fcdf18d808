"""How a worker is asked to end."""

import signal
from collections.abc import Callable
from types import FrameType


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
