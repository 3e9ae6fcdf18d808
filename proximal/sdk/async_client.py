"""The client for asyncio: every operation as a coroutine, streams and lists as asynchronous iterators."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
from anyio import to_thread

from proximal.errors import ApiError, Unreachable
from proximal.sdk.async_operations import AsyncOperations
from proximal.sdk.connection import MessageParser, escaped, given
from proximal.sdk.datasets import not_carried
from proximal.sdk.following import Follower
from proximal.sdk.job_logs import AsyncJobLogs
from proximal.sdk.types import Dataset, JobEvent
from proximal.sdk.uploads import Uploads


class AsyncClient(AsyncOperations, AsyncJobLogs):
    """`async with AsyncClient(url, key) as client: …`. Raises the same errors as `Client`."""

    def __init__(self, url: str, key: str, timeout: float = 30.0) -> None:
        super().__init__(url, key, timeout)
        self._key = key

    async def stream_job_events(self, job_id: str, after: int = 0) -> AsyncIterator[JobEvent]:
        """The events after sequence number `after`, as they happen, until the job has ended. A lost connection is reopened."""
        await self.get_job(job_id)
        async for event in self._follow(Follower.of_job(job_id, after)):
            yield event

    async def stream_events(self, jobs: Mapping[str, int]) -> AsyncIterator[JobEvent]:
        """The events of several jobs over one connection, until all have ended. `jobs`: a sequence number for each job id,
        after which its events begin. A lost connection is reopened."""
        for job_id in jobs:
            await self.get_job(job_id)
        async for event in self._follow(Follower.of_jobs(jobs)):
            yield event

    async def _follow(self, follower: Follower) -> AsyncIterator[JobEvent]:
        while not follower.ended:
            parser = MessageParser()
            try:
                async with self._stream(follower.path, params=follower.params) as response:
                    follower.connected(response.status_code)
                    async for line in response.aiter_lines():
                        if (message := parser.feed(line)) is not None and (event := follower.see(message)) is not None:
                            yield event
                        if follower.ended:
                            return
            except (Unreachable, ApiError) as error:
                await anyio.sleep(follower.pause_after(error))

    async def upload_dataset(
        self, file: str | Path, kind: str | None = None, name: str = "", **options: Any
    ) -> Dataset:
        """Upload a file and wait until it is a dataset. `options`: those of `Client.upload_dataset`.

        The upload runs in a thread, since it reads the file and sends several parts at a time.
        """

        def upload() -> Dataset:
            with Uploads(self.url, self._key) as client:
                return client.upload_dataset(file, kind, name, **options)

        return await to_thread.run_sync(upload)

    async def download_checkpoint(self, checkpoint_id: str, target: str | Path) -> Path:
        """Write a checkpoint's folder to `target` as a .zip. Returns the path of the file."""
        await self._download(f"/v1/checkpoints/{escaped(checkpoint_id)}/download", target)
        return Path(target)

    async def download_checkpoint_file(self, checkpoint_id: str, path: str, target: str | Path) -> Path:
        """Write one file of a checkpoint to `target`. Returns the path of the file."""
        await self._download(f"/v1/checkpoints/{escaped(checkpoint_id)}/files/{quote(path)}", target)
        return Path(target)

    async def export_dataset(
        self, dataset_id: str, target: str | Path, format: str = "trl", version: int | None = None
    ) -> dict[str, int]:
        """Write a version's rows to `target`. Returns the number of rows with each property that the format cannot hold."""
        path, params = f"/v1/datasets/{escaped(dataset_id)}/export", given({"format": format, "version": version})
        return not_carried(await self._download(path, target, params=params))

    async def export_audit_log(self, target: str | Path, format: str = "jsonl", **filters: Any) -> Path:
        """Write the audit log to `target`, the oldest row first. `filters`: those of `list_audit_rows`. Returns its path."""
        await self._download("/v1/audit/export", target, params=given({"format": format, **filters}))
        return Path(target)
