"""Events become deliveries in the transaction of their change."""

import json
from collections.abc import Sequence

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from core import tasks
from core.datasets import versions
from core.jobs.lifecycle import attempts
from core.jobs.lifecycle.actors import PLATFORM
from core.jobs.lifecycle.state import Request, request
from core.jobs.run.events import append_events
from core.models import Dataset, Webhook, WebhookDelivery, WebhookFormat
from core.models.jobs import JobStatus
from core.models.tasks import TaskStatus
from core.settings import Settings
from core.webhooks import webhooks
from core.webhooks.event_types import EventType
from tests.core.factories import make_dataset, make_job, make_key, running
from trainer.events import Health, Message


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"webhook_networks": ["127.0.0.0/8"]})


@pytest.fixture
def owner(session: Session) -> str:
    return make_key(session).owner_id


def webhook(session: Session, settings: Settings, owner: str, *types: EventType, **more: object) -> Webhook:
    made = webhooks.create(session, settings, owner, "http://127.0.0.1:9/", types or list(EventType), **more)
    session.commit()
    return made


def bodies(session: Session) -> Sequence[dict[str, object]]:
    session.commit()
    return [json.loads(one) for one in session.scalars(select(WebhookDelivery.body).order_by(WebhookDelivery.number))]


def types(session: Session) -> list[object]:
    return [one["type"] for one in bodies(session)]


def test_job_sends_its_states_in_order(session: Session, settings: Settings, owner: str) -> None:
    webhook(session, settings, owner)
    job = make_job(session, owner, name="pairs")
    running(session, job)
    request(session, job, Request.PAUSE, PLATFORM)
    request(session, job, Request.CANCEL, PLATFORM)
    found = bodies(session)
    assert [one["type"] for one in found] == ["dataset.ready", "job.queued", "job.running"]
    data = found[-1]["data"]
    assert (data["id"], data["name"], data["status"], data["previous_status"]) == (
        job.id,
        "pairs",
        "running",
        "starting",
    )
    assert set(found[-1]) == {"type", "timestamp", "data"} and str(found[-1]["timestamp"]).endswith("Z")
    request_queued = make_job(session, owner)
    request(session, request_queued, Request.PAUSE, PLATFORM)
    request(session, request_queued, Request.RESUME, PLATFORM)
    request(session, request_queued, Request.CANCEL, PLATFORM)
    assert types(session)[-4:] == ["job.queued", "job.paused", "job.queued", "job.cancelled"]


def test_failed_job_sends_its_error(session: Session, settings: Settings, owner: str) -> None:
    webhook(session, settings, owner, EventType.JOB_FAILED)
    job = make_job(session, owner)
    attempt = running(session, job)
    error = {"code": "crash", "message": "It broke."}
    attempts.finish(session, job.id, attempt, JobStatus.FAILED, "The trainer crashed.", error)
    (only,) = bodies(session)
    assert (only["type"], only["data"]["error"]) == ("job.failed", error)


def test_rolled_back_change_sends_nothing(session: Session, settings: Settings, owner: str) -> None:
    job = make_job(session, owner)
    webhook(session, settings, owner)
    request(session, job, Request.CANCEL, PLATFORM)
    session.rollback()
    assert bodies(session) == []


def test_disabled_and_other_webhooks_get_nothing(session: Session, settings: Settings, owner: str) -> None:
    webhook(session, settings, owner, enabled=False)
    webhook(session, settings, owner, EventType.JOB_FAILED)
    webhook(session, settings, make_key(session, "other").owner_id)
    job = make_job(session, owner)
    request(session, job, Request.CANCEL, PLATFORM)
    assert bodies(session) == []


def test_finding_is_sent_once_until_it_is_graver(session: Session, settings: Settings, owner: str) -> None:
    webhook(session, settings, owner, EventType.JOB_FINDING)
    job = make_job(session, owner)
    attempt = running(session, job)

    def fired(step: int, action: str) -> Health:
        return Health(
            rule="kl_explodes",
            stage="ppo",
            step=step,
            action=action,
            limit=1,
            cause="KL is 9.",
            suggestion="",
            evidence=[],
        )

    for event in (fired(1, "warn"), fired(2, "warn"), Message(text="low memory", level="warning"), fired(3, "pause")):
        append_events(session, job.id, attempt, [event])
    found = [one["data"] for one in bodies(session)]
    assert [(one["rule"], one["severity"], one["cause"]) for one in found] == [
        ("kl_explodes", "warning", "KL is 9."),
        (None, "warning", "low memory"),
        ("kl_explodes", "error", "KL is 9."),
    ]
    assert {one["job_id"] for one in found} == {job.id}


def test_failed_import_sends_the_dataset(session: Session, settings: Settings, owner: str) -> None:
    webhook(session, settings, owner, EventType.DATASET_FAILED)
    dataset = session.get_one(Dataset, make_dataset(session, owner).id)
    version = versions.new_version(session, dataset, {"type": "upload"})
    task = tasks.enqueue(session, owner, "import", {"dataset": dataset.id, "version": version.id})
    tasks.end(session, task, TaskStatus.FAILED, {"code": "unreadable", "message": "It is no file."})
    (only,) = bodies(session)
    assert only["data"]["id"] == dataset.id and only["data"]["version"] == 2
    assert only["data"]["error"]["message"] == "It is no file."


def test_slack_gets_a_sentence(session: Session, settings: Settings, owner: str) -> None:
    webhook(session, settings, owner, EventType.JOB_CANCELLED, kind=WebhookFormat.SLACK)
    job = make_job(session, owner, name="a <b> & c")
    request(session, job, Request.CANCEL, PLATFORM, "Too slow.")
    assert bodies(session) == [{"text": f"*a &lt;b&gt; &amp; c* ({job.id}): cancelled. Too slow."}]
