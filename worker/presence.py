"""Signs of life of the worker itself, busy or idle."""

import logging
import socket
from types import TracebackType

from core import workers
from core.db import session_scope
from core.ids import new_id
from core.settings import Settings
from worker.beat import Beat
from worker.database import AWAY

log = logging.getLogger(__name__)


class Presence:
    """While entered, the platform knows that this worker is there and what it works on."""

    def __init__(self, settings: Settings) -> None:
        self.worker_id = new_id("wrk")
        self._job_id: str | None = None
        self._beat = Beat("presence", settings.heartbeat_seconds, self._show)

    def __enter__(self) -> "Presence":
        self._show()
        self._beat.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self._beat.stop()
        try:
            with session_scope() as session:
                workers.leave(session, self.worker_id)
        except AWAY as error:
            log.warning("could not sign off: %s", error)

    def works_on(self, job_id: str | None) -> None:
        self._job_id = job_id
        self._show()

    def _show(self) -> bool:
        try:
            with session_scope() as session:
                workers.heartbeat(session, self.worker_id, socket.gethostname(), self._job_id)
        except AWAY as error:
            log.warning("could not give a sign of life: %s", error)
        return True
