"""Jobs, with their events, metrics, completions and checkpoints."""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from client.errors import ApiError, Unreachable
from client.sdk.connection import Connection, messages
from client.sdk.types import Checkpoint, Job, JobEvent, JobSample, JobSummary, Metrics, SampleStep

_RECONNECT_SECONDS = (0.2, 5.0)
log = logging.getLogger(__name__)


class SpecModel(Protocol):
    """`trainer.spec.JobSpec`. It is not imported here, because that takes a second."""

    def model_dump(self, *, mode: str) -> dict[str, Any]: ...


class Jobs(Connection):
    """`/v1/jobs`, `/v1/checkpoints`"""

    def create_job(self, spec: SpecModel | Mapping[str, Any]) -> Job:
        body = dict(spec) if isinstance(spec, Mapping) else spec.model_dump(mode="json")
        answer: Job = self._request("POST", "/v1/jobs", json=body).json()
        return answer

    def list_jobs(self, status: Sequence[str] = ()) -> Iterator[JobSummary]:
        """Newest first."""
        return self._pages("/v1/jobs", status=list(status) or None)

    def get_job(self, job_id: str) -> Job:
        answer: Job = self._get(f"/v1/jobs/{job_id}")
        return answer

    def cancel_job(self, job_id: str, reason: str = "") -> Job:
        return self._change_job(job_id, "cancel", {"reason": reason})

    def pause_job(self, job_id: str, reason: str = "") -> Job:
        """Pause a queued job at once. A running one is `pausing` until it is saved."""
        return self._change_job(job_id, "pause", {"reason": reason})

    def resume_job(self, job_id: str, reason: str = "") -> Job:
        """Queue a paused job again. It continues after its last saved step."""
        return self._change_job(job_id, "resume", {"reason": reason})

    def _change_job(self, job_id: str, request: str, body: Mapping[str, Any]) -> Job:
        answer: Job = self._request("POST", f"/v1/jobs/{job_id}/{request}", json=dict(body)).json()
        return answer

    def list_job_events(self, job_id: str, after: int = 0, types: Sequence[str] = ()) -> Iterator[JobEvent]:
        return self._pages(f"/v1/jobs/{job_id}/events", after=after, types=",".join(types) or None)

    def stream_job_events(self, job_id: str, after: int = 0) -> Iterator[JobEvent]:
        """The events after sequence number `after`, as they happen, until the job has ended. A lost connection is reopened."""
        self.get_job(job_id)  # A platform that cannot be reached at the start is an error, not an interruption.
        first, longest = _RECONNECT_SECONDS
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
        with self._stream(f"/v1/jobs/{job_id}/stream", params={"after": after}) as response:
            if response.status_code == 204:
                yield None
            for message in messages(response.iter_lines()):
                yield None if message.event == "done" else message.json()

    def get_job_metrics(
        self,
        job_id: str,
        stage: str | None = None,
        names: Sequence[str] = (),
        first: int | None = None,
        last: int | None = None,
        max_points: int = 1000,
    ) -> Metrics:
        """Series of metrics. A range of more than `max_points` steps is returned in buckets."""
        query = {"stage": stage, "names": ",".join(names) or None, "from": first, "to": last, "max_points": max_points}
        answer: Metrics = self._get(f"/v1/jobs/{job_id}/metrics", **query)
        return answer

    def list_job_samples(self, job_id: str, stage: str | None = None, step: int | None = None) -> list[JobSample]:
        """The completions of one step, by default the newest."""
        return list(self._get(f"/v1/jobs/{job_id}/samples", stage=stage, step=step)["data"])

    def list_job_sample_steps(self, job_id: str, stage: str | None = None) -> list[SampleStep]:
        return list(self._get(f"/v1/jobs/{job_id}/samples/steps", stage=stage)["data"])

    def list_job_checkpoints(self, job_id: str, final: bool | None = None) -> Iterator[Checkpoint]:
        return self._pages(f"/v1/jobs/{job_id}/checkpoints", final=final)

    def download_checkpoint(self, checkpoint_id: str, target: Path) -> Path:
        """Write a checkpoint's folder to `target` as a .zip."""
        return self._download(f"/v1/checkpoints/{checkpoint_id}/download", target)

    def download_checkpoint_file(self, checkpoint_id: str, path: str, target: Path) -> Path:
        return self._download(f"/v1/checkpoints/{checkpoint_id}/files/{path}", target)
