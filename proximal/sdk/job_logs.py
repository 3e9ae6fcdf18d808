"""The console output of jobs."""

import json
import logging
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import anyio
import httpx

from proximal.errors import ApiError, ClientError, Unreachable
from proximal.sdk.connection import AsyncConnection, Connection, escaped
from proximal.sdk.types import JobLogLine

_POLL_SECONDS = 1.0
_PAGE = 5000
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LogFilter:
    """A selection of lines. `source`: `trainer` or `worker`; `search`: a text that the lines contain."""

    attempt: int | None = None
    source: str | None = None
    rank: int | None = None
    search: str | None = None


class _LogReader:
    """The state of a program that reads lines page by page. The clients send the requests, and wait for `pause` seconds."""

    def __init__(self, job_id: str, select: LogFilter, tail: int | None, after: int, *, follow: bool) -> None:
        self.path = f"/v1/jobs/{escaped(job_id)}/logs"
        self._select, self._tail, self._after, self._follow = select, tail, after, follow
        self._reached = False
        self.ended = False
        self.pause = 0.0

    @property
    def params(self) -> dict[str, Any]:
        """The query of the next page."""
        query = {name: value for name, value in asdict(self._select).items() if value is not None}
        tail = {} if self._tail is None else {"tail": self._tail}
        return query | {"after": self._after, "limit": _PAGE} | tail

    def see(self, response: httpx.Response) -> list[JobLogLine]:
        """The lines of a page."""
        # Not splitlines: a line may contain other line separators.
        lines: list[JobLogLine] = [json.loads(line) for line in response.text.split("\n") if line]
        cursor = int(response.headers["X-Log-Cursor"])
        idle = cursor == self._after or self._tail is not None
        self._after, self._tail, self._reached = cursor, None, True
        self.ended = response.headers["X-Log-Complete"] == "true" or (idle and not self._follow)
        self.pause = _POLL_SECONDS if idle and not self.ended else 0.0
        return lines

    def failed(self, error: ClientError) -> None:
        """Set the pause before the next request. Raises the error again if another request cannot help."""
        if not (self._follow and self._reached) or (isinstance(error, ApiError) and error.status < 500):
            raise error
        log.warning("%s. Retrying until the platform responds.", str(error).rstrip("."))
        self.pause = _POLL_SECONDS


class JobLogs(Connection):
    """`/v1/jobs/{id}/logs`"""

    def logs(
        self,
        job_id: str,
        select: LogFilter = LogFilter(),
        *,
        tail: int | None = None,
        after: int = 0,
        follow: bool = False,
    ) -> Iterator[JobLogLine]:
        """The stored lines after number `after`, or the last `tail` of them.

        With `follow`, also the lines that come later, until the job has ended. A lost connection is reopened.
        """
        reader = _LogReader(job_id, select, tail, after, follow=follow)
        while not reader.ended:
            try:
                lines = reader.see(self._request("GET", reader.path, params=reader.params))
            except (Unreachable, ApiError) as error:
                reader.failed(error)
                lines = []
            yield from lines
            time.sleep(reader.pause)


class AsyncJobLogs(AsyncConnection):
    """The same for asyncio."""

    async def logs(
        self,
        job_id: str,
        select: LogFilter = LogFilter(),
        *,
        tail: int | None = None,
        after: int = 0,
        follow: bool = False,
    ) -> AsyncIterator[JobLogLine]:
        """The stored lines after number `after`, or the last `tail` of them.

        With `follow`, also the lines that come later, until the job has ended. A lost connection is reopened.
        """
        reader = _LogReader(job_id, select, tail, after, follow=follow)
        while not reader.ended:
            try:
                lines = reader.see(await self._request("GET", reader.path, params=reader.params))
            except (Unreachable, ApiError) as error:
                reader.failed(error)
                lines = []
            for line in lines:
                yield line
            await anyio.sleep(reader.pause)
