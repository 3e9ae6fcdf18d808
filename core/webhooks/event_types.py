"""The events that a webhook can receive, and their payloads."""

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import orjson

from core.models import Dataset, DatasetVersion, Job, JobFinding, WebhookFormat
from core.models.jobs import JobStatus


class EventType(StrEnum):
    """An event that a webhook can receive. `webhook.test` goes to the webhook whose test was asked for."""

    JOB_QUEUED = "job.queued"
    JOB_RUNNING = "job.running"
    JOB_PAUSED = "job.paused"
    JOB_SUCCEEDED = "job.succeeded"
    JOB_FAILED = "job.failed"
    JOB_CANCELLED = "job.cancelled"
    JOB_FINDING = "job.finding"
    """A health rule fired in a run, or the run warned, for the first time or more gravely than before."""
    DATASET_READY = "dataset.ready"
    DATASET_FAILED = "dataset.failed"


TEST = "webhook.test"
OF_STATUS: Mapping[JobStatus, EventType] = {
    JobStatus.QUEUED: EventType.JOB_QUEUED,
    JobStatus.RUNNING: EventType.JOB_RUNNING,
    JobStatus.PAUSED: EventType.JOB_PAUSED,
    JobStatus.SUCCEEDED: EventType.JOB_SUCCEEDED,
    JobStatus.FAILED: EventType.JOB_FAILED,
    JobStatus.CANCELLED: EventType.JOB_CANCELLED,
}
"""The event of each state of a job that has one. The others last for seconds, on the way to one of these."""
Data = dict[str, Any]


def job_data(job: Job, before: str | None) -> Data:
    """The data of a change of a job's state."""
    return {
        "object": "job",
        "id": job.id,
        "name": job.name,
        "status": job.status,
        "previous_status": before,
        "reason": job.status_reason,
        "error": job.error,
        "attempt": job.attempt,
        "event": job.last_seq,
    }


def finding_data(job: Job, finding: JobFinding) -> Data:
    """The data of a finding about a run."""
    names = ("id", "rule", "severity", "action", "seed", "stage", "step", "cause", "suggestion")
    return {
        "object": "job.finding",
        **{name: getattr(finding, name) for name in names},
        "job_id": job.id,
        "job_name": job.name,
    }


def dataset_data(dataset: Dataset, version: DatasetVersion) -> Data:
    """The data of a version of a dataset that is ready or has failed."""
    return {
        "object": "dataset",
        "id": dataset.id,
        "name": dataset.name,
        "kind": dataset.kind,
        "version": version.number,
        "status": version.status,
        "error": version.error,
    }


def test_data(webhook_id: str) -> Data:
    """The data of the event `webhook.test`."""
    return {"object": "webhook", "id": webhook_id, "text": "This is a test of the webhook."}


def payload(kind: WebhookFormat, event_type: str, data: Data) -> str:
    """The text that is signed and sent."""
    if kind is WebhookFormat.SLACK:
        return orjson.dumps({"text": _sentence(event_type, data)}).decode()
    at = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    return orjson.dumps({"type": event_type, "timestamp": at, "data": data}).decode()


def _sentence(event_type: str, data: Data) -> str:
    """The event for people, in Slack's markup, which has three characters with a meaning."""
    match data["object"]:
        case "job":
            name, identifier, state = data["name"], data["id"], data["status"]
            detail = data["error"]["message"] if data["error"] else data["reason"]
        case "job.finding":
            name, identifier, state, detail = data["job_name"], data["job_id"], data["severity"], data["cause"]
        case "dataset":
            name, identifier, state = data["name"], data["id"], f"version {data['version']} {data['status']}"
            detail = data["error"]["message"] if data["error"] else ""
        case _:
            name, identifier, state, detail = event_type, data["id"], "test", data["text"]
    shown = [str(part).translate(_ESCAPES) for part in (name or identifier, identifier, state, detail)]
    return f"*{shown[0]}* ({shown[1]}): {shown[2]}" + (f". {shown[3]}" if shown[3] else "")


_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
