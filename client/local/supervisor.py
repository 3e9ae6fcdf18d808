"""Keeps a handful of processes running, and ends them all."""

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
    """One process: how to start it, and how to ask it to end."""

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
    """Services start in the order of `start`, and end in the reverse."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._services: list[Service] = []
        self.urgent = False
        """Set to end without any grace, also while `stop` is waiting."""

    def start(self, service: Service) -> None:
        service.start()
        self._services.append(service)

    def tick(self) -> None:
        """Look at every process once; start again what has died, sooner at first than after many deaths."""
        for service in self._services:
            if service.child is not None and (status := service.child.poll()) is not None:
                self._mourn(service, status)
            if service.child is None and time.monotonic() >= service.restart_at:
                self._start_again(service)

    def stop(self) -> None:
        """End them all; nothing that was started here is left when this returns."""
        for service in reversed(self._services):
            if service.child is not None:
                _stop(service, service.child, lambda: self.urgent)
        self._services.clear()

    def _mourn(self, service: Service, status: int) -> None:
        if time.monotonic() - service.started_at > _HEALTHY_SECONDS:
            service.pause = _FIRST_PAUSE
        how = f"killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        self._say(f"{service.name} was {how}; starting it again in {service.pause:g} s")
        self._put_off(service)

    def _start_again(self, service: Service) -> None:
        try:
            service.start()
        except EmbeddedServerError as error:
            self._say(f"{service.name} could not be started: {error}; trying again in {service.pause:g} s")
            self._put_off(service)
        else:
            self._say(f"{service.name} is running again")

    def _put_off(self, service: Service) -> None:
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
    """SIGINT and SIGTERM call `on_signal` instead of ending us."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda *_: on_signal())
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
