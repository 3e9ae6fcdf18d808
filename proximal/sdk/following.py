"""The state of a program that follows event streams: cursors, jobs that have ended, and pauses between connections."""

import logging
from collections.abc import Mapping
from typing import Any, Self

from proximal.errors import ApiError, ClientError
from proximal.sdk.connection import Message, escaped
from proximal.sdk.types import JobEvent

_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0
"""Seconds before a lost stream is opened again."""
log = logging.getLogger(__name__)


class Follower:
    """Follows the events of one job or of several. The clients open the connections and pass on the messages."""

    def __init__(self, path: str, cursors: Mapping[str, int], *, several: bool) -> None:
        self.path = path
        self._cursors = dict(cursors)
        self._open = set(cursors)
        self._several = several
        self._pause = _FIRST_PAUSE

    @classmethod
    def of_job(cls, job_id: str, after: int) -> Self:
        return cls(f"/v1/jobs/{escaped(job_id)}/stream", {job_id: after}, several=False)

    @classmethod
    def of_jobs(cls, cursors: Mapping[str, int]) -> Self:
        return cls("/v1/stream", cursors, several=True)

    @property
    def ended(self) -> bool:
        """Whether every job has ended and all of its events were received."""
        return not self._open

    @property
    def params(self) -> dict[str, Any]:
        """The query of the next connection."""
        if self._several:
            return {"jobs": ",".join(f"{job_id}:{self._cursors[job_id]}" for job_id in sorted(self._open))}
        return {"after": next(iter(self._cursors.values()))}

    def connected(self, status: int) -> None:
        """Note the status of a response. 204: the jobs have ended, and every event was received before."""
        if status == 204:
            self._open.clear()

    def see(self, message: Message) -> JobEvent | None:
        """The event of a message; None for the message that a job has ended."""
        content = message.json()
        self._pause = _FIRST_PAUSE
        if message.event == "done":
            self._open -= {content["job_id"]} if self._several else set(self._cursors)
            return None
        event: JobEvent = content
        job_id = content["job_id"] if self._several else next(iter(self._cursors))
        self._cursors[job_id] = event["seq"]
        return event

    def pause_after(self, error: ClientError) -> float:
        """The seconds to wait before the next connection. Raises the error again if another connection cannot help."""
        if isinstance(error, ApiError) and error.status < 500:
            raise error
        pause = self._pause
        if pause == _FIRST_PAUSE:
            log.warning("%s. Retrying until the platform responds.", str(error).rstrip("."))
        self._pause = min(2 * pause, _LONGEST_PAUSE)
        return pause
