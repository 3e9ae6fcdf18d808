"""The console output of jobs."""

import json
import logging
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from client.errors import ApiError, Unreachable
from client.sdk.connection import Connection
from client.sdk.types import JobLogLine

_POLL_SECONDS = 1.0
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LogFilter:
    """A selection of lines. `source`: `trainer` or `worker`; `search`: a text that the lines contain."""

    attempt: int | None = None
    source: str | None = None
    rank: int | None = None
    search: str | None = None


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
        reached = False
        while True:
            try:
                lines, cursor, complete = self._log_page(job_id, select, after, tail)
            except (Unreachable, ApiError) as error:
                if not (follow and reached) or (isinstance(error, ApiError) and error.status < 500):
                    raise
                log.warning("%s. Retrying until the platform responds.", str(error).rstrip("."))
                time.sleep(_POLL_SECONDS)
                continue
            yield from lines
            idle = cursor == after or tail is not None
            after, tail, reached = cursor, None, True
            if complete or (idle and not follow):
                return
            if idle:
                time.sleep(_POLL_SECONDS)

    def _log_page(
        self, job_id: str, select: LogFilter, after: int, tail: int | None
    ) -> tuple[list[JobLogLine], int, bool]:
        """The lines of one request, the cursor after them, and whether they are the last ones of an ended job."""
        query = {name: value for name, value in asdict(select).items() if value is not None}
        query |= {"after": after, "limit": 5000} | ({} if tail is None else {"tail": tail})
        response = self._request("GET", f"/v1/jobs/{job_id}/logs", params=query)
        # Not splitlines: a line may contain other line separators.
        lines: list[JobLogLine] = [json.loads(line) for line in response.text.split("\n") if line]
        return lines, int(response.headers["X-Log-Cursor"]), response.headers["X-Log-Complete"] == "true"
