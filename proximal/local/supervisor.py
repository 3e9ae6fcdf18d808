"""Keeps processes running, and stops them."""

import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from core.child import Child
from core.embedded.server import EmbeddedServerError

_POLL_SECONDS = 0.1
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
_HEALTHY_SECONDS = 30.0


@dataclass
class Service:
    """A process with the way to start and to stop it."""

    name: str
    launch: Callable[[], Child]
    stop_signal: int = signal.SIGTERM
    grace: float = 10.0
    child: Child | None = None
    started_at: float = 0.0
    pause: float = _FIRST_PAUSE
    restart_at: float = field(default=0.0)

    def start(self) -> None:
        self.child = self.launch()
        self.started_at = time.monotonic()


class Supervisor:
    """Restarts services that end. Services stop in the reverse order of `start`."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._services: list[Service] = []
        self.urgent = False
        """If set, `stop` kills the processes at once, even while it is waiting."""

    def start(self, service: Service) -> None:
        service.start()
        self._services.append(service)

    def tick(self) -> None:
        """Check every process and restart those that have ended. The pause grows with each restart."""
        for service in self._services:
            if service.child is not None and (status := service.child.poll()) is not None:
                self._on_exit(service, status)
            if service.child is None and time.monotonic() >= service.restart_at:
                self._start_again(service)

    def stop(self) -> None:
        """Stop all services. When this returns, none of their processes is left."""
        for service in reversed(self._services):
            if service.child is not None:
                _stop(service, service.child, lambda: self.urgent)
        self._services.clear()

    def _on_exit(self, service: Service, status: int) -> None:
        if time.monotonic() - service.started_at > _HEALTHY_SECONDS:
            service.pause = _FIRST_PAUSE
        how = f"killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        self._say(f"{service.name} was {how}; starting it again in {service.pause:g} s")
        self._schedule_restart(service)

    def _start_again(self, service: Service) -> None:
        try:
            service.start()
        except EmbeddedServerError as error:
            self._say(f"{service.name} could not be started: {error}; trying again in {service.pause:g} s")
            self._schedule_restart(service)
        else:
            self._say(f"{service.name} is running again")

    def _schedule_restart(self, service: Service) -> None:
        service.child = None
        service.restart_at = time.monotonic() + service.pause
        service.pause = min(2 * service.pause, _LONGEST_PAUSE)


def _stop(service: Service, child: Child, urgent: Callable[[], bool]) -> None:
    deadline = time.monotonic() + service.grace
    if child.poll() is None and not urgent():
        child.send(service.stop_signal)
    while child.poll() is None:
        if urgent() or time.monotonic() > deadline:
            child.kill()
        time.sleep(_POLL_SECONDS / 5)


@contextlib.contextmanager
def stopping_on_signals(on_signal: Callable[[], None]) -> Iterator[None]:
    """SIGINT and SIGTERM call `on_signal` instead of ending this process."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda *_: on_signal())
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
