"""The client for asyncio: every operation as a coroutine, streams and lists as asynchronous iterators."""

import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
from anyio import to_thread

from client.errors import ApiError, Unreachable
from client.sdk.async_operations import AsyncOperations
from client.sdk.connection import MessageParser, escaped, given
from client.sdk.jobs import RECONNECT_SECONDS
from client.sdk.types import Dataset, JobEvent
from client.sdk.uploads import Uploads

log = logging.getLogger(__name__)


class AsyncClient(AsyncOperations):
    """`async with AsyncClient(url, key) as client: …`. Raises the same errors as `Client`."""

    def __init__(self, url: str, key: str, timeout: float = 30.0) -> None:
        super().__init__(url, key, timeout)
        self._key = key

    async def stream_job_events(self, job_id: str, after: int = 0) -> AsyncIterator[JobEvent]:
        """The events after sequence number `after`, as they happen, until the job has ended. A lost connection is reopened."""
        await self.get_job(job_id)  # a platform that cannot be reached at the start is an error, not an interruption
        pause, longest = RECONNECT_SECONDS
        while True:
            try:
                async for event in self._stream_once(job_id, after):
                    if event is None:
                        return
                    after, pause = event["seq"], RECONNECT_SECONDS[0]
                    yield event
            except (Unreachable, ApiError) as error:
                if isinstance(error, ApiError) and error.status < 500:
                    raise
                log.warning("%s. Retrying until the platform responds.", str(error).rstrip("."))
                await anyio.sleep(pause)
                pause = min(2 * pause, longest)

    async def _stream_once(self, job_id: str, after: int) -> AsyncIterator[JobEvent | None]:
        """The events of one connection, then None if the job has ended."""
        parser = MessageParser()
        async with self._stream(f"/v1/jobs/{escaped(job_id)}/stream", params={"after": after}) as response:
            if response.status_code == 204:
                yield None
            async for line in response.aiter_lines():
                if (message := parser.feed(line)) is not None:
                    yield None if message.event == "done" else message.json()

    async def upload_dataset(self, file: Path, kind: str | None = None, name: str = "", **options: Any) -> Dataset:
        """Upload a file and wait until it is a dataset. `options`: those of `Client.upload_dataset`.

        The upload runs in a thread, since it reads the file and sends several parts at a time.
        """

        def upload() -> Dataset:
            with Uploads(self.url, self._key) as client:
                return client.upload_dataset(file, kind, name, **options)

        return await to_thread.run_sync(upload)

    async def download_checkpoint(self, checkpoint_id: str, target: Path) -> Path:
        """Write a checkpoint's folder to `target` as a .zip. Returns `target`."""
        await self._download(f"/v1/checkpoints/{escaped(checkpoint_id)}/download", target)
        return target

    async def download_checkpoint_file(self, checkpoint_id: str, path: str, target: Path) -> Path:
        """Write one file of a checkpoint to `target`. Returns `target`."""
        await self._download(f"/v1/checkpoints/{escaped(checkpoint_id)}/files/{quote(path)}", target)
        return target

    async def export_dataset(
        self, dataset_id: str, target: Path, format: str = "trl", version: int | None = None
    ) -> int:
        """Write a version's rows to `target`. Returns the number of rows that the format cannot hold."""
        path, params = f"/v1/datasets/{escaped(dataset_id)}/export", given({"format": format, "version": version})
        return int((await self._download(path, target, params=params)).get("X-Proximal-Left-Out", 0))
