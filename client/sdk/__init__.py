"""Python client of the REST API: one method for each operation, with the name of the API's reference.

with Client("http://127.0.0.1:8000", "prx_…") as client:
    dataset = client.upload_dataset(Path("pairs.jsonl"), "preferences")
    job = client.create_job({"model": "…", "data": {"preferences": dataset["id"]}, "ppo": {}})
    for event in client.stream_job_events(job["id"]):
        …
"""

from typing import Any

from client.sdk.annotation import Annotation
from client.sdk.job_logs import JobLogs
from client.sdk.jobs import Jobs
from client.sdk.types import Health, MetricInfo, Preset, Readiness, Session, Worker
from client.sdk.uploads import Uploads


class Client(Jobs, JobLogs, Uploads, Annotation):
    """Raises ApiError when the platform refuses and Unreachable when it does not answer."""

    def who_am_i(self) -> Session:
        answer: Session = self._get("/v1/session")
        return answer

    def list_workers(self) -> list[Worker]:
        return list(self._get("/v1/workers")["data"])

    def list_metric_meanings(self) -> list[MetricInfo]:
        return list(self._get("/v1/reference/metrics")["data"])

    def list_presets(self) -> list[Preset]:
        """Job specs to start from."""
        return list(self._get("/v1/presets")["data"])

    def get_job_schema(self) -> dict[str, Any]:
        answer: dict[str, Any] = self._get("/v1/schema/job")
        return answer

    def is_alive(self) -> Health:
        answer: Health = self._get("/healthz")
        return answer

    def is_ready(self) -> Readiness:
        """Raises ApiError with status 503 if a part of the platform does not respond."""
        answer: Readiness = self._get("/readyz")
        return answer
