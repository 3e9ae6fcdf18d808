"""Methods for jobs that OpenAPI cannot describe: following events, and downloads."""

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from proximal.errors import ApiError, Unreachable
from proximal.sdk.connection import escaped, messages
from proximal.sdk.following import Follower
from proximal.sdk.operations import Operations
from proximal.sdk.types import JobEvent, Validation

_POLL_SECONDS = 0.5


class Jobs(Operations):
    """Streams and downloads of jobs, and validations to their end."""

    def finished_validation(
        self, validation: Validation, on_progress: Callable[[Validation], None] | None = None
    ) -> Validation:
        """Wait until the check of `validate_job` has ended. `on_progress` is called after each poll.

        A check that fails has `result` None, and `error`.
        """
        while validation["status"] in ("queued", "running"):
            time.sleep(_POLL_SECONDS)
            validation = self.get_validation(validation["id"])
            if on_progress is not None:
                on_progress(validation)
        return validation

    def stream_job_events(self, job_id: str, after: int = 0) -> Iterator[JobEvent]:
        """The events after sequence number `after`, as they happen, until the job has ended. A lost connection is reopened."""
        self.get_job(job_id)  # a platform that cannot be reached at the start is an error, not an interruption
        yield from self._follow(Follower.of_job(job_id, after))

    def stream_events(self, jobs: Mapping[str, int]) -> Iterator[JobEvent]:
        """The events of several jobs over one connection, until all have ended. `jobs`: a sequence number for each job id,
        after which its events begin. A lost connection is reopened."""
        for job_id in jobs:
            self.get_job(job_id)
        yield from self._follow(Follower.of_jobs(jobs))

    def _follow(self, follower: Follower) -> Iterator[JobEvent]:
        while not follower.ended:
            try:
                with self._stream(follower.path, params=follower.params) as response:
                    follower.connected(response.status_code)
                    for message in messages(response.iter_lines()):
                        if (event := follower.see(message)) is not None:
                            yield event
                        if follower.ended:
                            return
            except (Unreachable, ApiError) as error:
                time.sleep(follower.pause_after(error))

    def download_checkpoint(self, checkpoint_id: str, target: str | Path) -> Path:
        """Write a checkpoint's folder to `target` as a .zip. Returns the path of the file."""
        self._download(f"/v1/checkpoints/{escaped(checkpoint_id)}/download", target)
        return Path(target)

    def download_checkpoint_file(self, checkpoint_id: str, path: str, target: str | Path) -> Path:
        """Write one file of a checkpoint to `target`. Returns the path of the file."""
        self._download(f"/v1/checkpoints/{escaped(checkpoint_id)}/files/{quote(path)}", target)
        return Path(target)
