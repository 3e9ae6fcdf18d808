"""What the operations of a job cannot do alone: following its events, and downloads."""

import logging
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from client.errors import ApiError, Unreachable
from client.sdk.connection import escaped, messages
from client.sdk.operations import Operations
from client.sdk.types import JobEvent

RECONNECT_SECONDS = (0.2, 5.0)
"""The first and the longest pause before a lost stream is opened again."""
log = logging.getLogger(__name__)


class Jobs(Operations):
    """Streams and downloads of jobs."""

    def stream_job_events(self, job_id: str, after: int = 0) -> Iterator[JobEvent]:
        """The events after sequence number `after`, as they happen, until the job has ended. A lost connection is reopened."""
        self.get_job(job_id)  # A platform that cannot be reached at the start is an error, not an interruption.
        first, longest = RECONNECT_SECONDS
        pause = first
        while True:
            try:
                for event in self._stream_once(job_id, after):
                    if event is None:
                        return
                    after, pause = event["seq"], first
                    yield event
            except (Unreachable, ApiError) as error:
                if isinstance(error, ApiError) and error.status < 500:
                    raise
                if pause == first:
                    log.warning("%s. Retrying until the platform responds.", str(error).rstrip("."))
                time.sleep(pause)
                pause = min(2 * pause, longest)

    def _stream_once(self, job_id: str, after: int) -> Iterator[JobEvent | None]:
        """The events of one connection, then None if the job has ended."""
        with self._stream(f"/v1/jobs/{escaped(job_id)}/stream", params={"after": after}) as response:
            if response.status_code == 204:
                yield None
            for message in messages(response.iter_lines()):
                yield None if message.event == "done" else message.json()

    def download_checkpoint(self, checkpoint_id: str, target: Path) -> Path:
        """Write a checkpoint's folder to `target` as a .zip. Returns `target`."""
        self._download(f"/v1/checkpoints/{escaped(checkpoint_id)}/download", target)
        return target

    def download_checkpoint_file(self, checkpoint_id: str, path: str, target: Path) -> Path:
        """Write one file of a checkpoint to `target`. Returns `target`."""
        self._download(f"/v1/checkpoints/{escaped(checkpoint_id)}/files/{quote(path)}", target)
        return target
