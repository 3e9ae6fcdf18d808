"""The queue of deliveries: claims, order, further tries, and the end of failing webhooks."""

import random
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from core.db import engine_for
from core.models import DeliveryStatus, Webhook, WebhookDelivery, WebhookTry
from core.settings import Settings
from core.webhooks import deliveries, outbox, webhooks
from core.webhooks.deliveries import AT_ONCE, MOST_TRIES, Claim, Outcome, pause_after
from core.webhooks.event_types import EventType
from tests.core.factories import make_key

OK = Outcome(None, 3, 200, "ok")
BROKEN = Outcome("The receiver returned 500.", 3, 500, "oh")


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"webhook_networks": ["127.0.0.0/8"]})


@pytest.fixture
def webhook(session: Session, settings: Settings) -> Webhook:
    made = webhooks.create(session, settings, make_key(session).owner_id, "http://127.0.0.1:9/", list(EventType))
    session.commit()
    return made


def event(session: Session, webhook: Webhook, subject: str = "job_1") -> str:
    outbox.record(session, webhook.owner_id, EventType.JOB_QUEUED, subject, lambda: {"object": "job"})
    session.commit()
    return session.scalars(select(WebhookDelivery.id).order_by(WebhookDelivery.number.desc()).limit(1)).one()


def claim(session: Session, settings: Settings, most: int = 10) -> list[Claim]:
    found = deliveries.claim(session, settings, most)
    session.commit()
    return found


def finish(session: Session, settings: Settings, claimed: Claim, outcome: Outcome) -> None:
    deliveries.finish(session, settings, claimed, outcome)
    session.commit()


def due(session: Session) -> None:
    """Let the next tries be due, and the leases end."""
    past = datetime.now(UTC) - timedelta(seconds=1)
    session.execute(update(WebhookDelivery).values(next_at=past))
    session.execute(
        update(WebhookDelivery).where(WebhookDelivery.lease_expires_at.is_not(None)).values(lease_expires_at=past)
    )
    session.commit()


def test_next_of_a_job_waits_for_the_one_before(session: Session, settings: Settings, webhook: Webhook) -> None:
    first, second = event(session, webhook), event(session, webhook)
    other = event(session, webhook, "job_2")
    claims = claim(session, settings)
    assert [one.delivery_id for one in claims] == [first, other]
    assert claim(session, settings) == []
    finish(session, settings, claims[0], BROKEN)
    assert claim(session, settings) == []  # the first one waits for its next try
    due(session)
    again = {one.delivery_id: one for one in claim(session, settings)}
    finish(session, settings, again[first], OK)
    assert [one.delivery_id for one in claim(session, settings)] == [second]


def test_given_up_delivery_lets_the_next_one_go(session: Session, settings: Settings, webhook: Webhook) -> None:
    first, second = event(session, webhook), event(session, webhook)
    for number in range(1, MOST_TRIES + 1):
        (claimed,) = claim(session, settings)
        assert (claimed.delivery_id, claimed.number) == (first, number)
        finish(session, settings, claimed, BROKEN)
        due(session)
    assert session.get_one(WebhookDelivery, first).status == DeliveryStatus.FAILED
    assert [one.delivery_id for one in claim(session, settings)] == [second]


def test_two_senders_claim_different_deliveries(session: Session, settings: Settings, webhook: Webhook) -> None:
    wanted = {event(session, webhook, f"job_{number}") for number in range(2)}
    with Session(engine_for(settings.database_url)) as other:
        first = deliveries.claim(session, settings, 1)
        second = deliveries.claim(other, settings, 10)
        assert {one.delivery_id for one in (*first, *second)} == wanted and len(first) == len(second) == 1
        session.rollback()


def test_slow_receiver_leaves_senders_to_others(session: Session, settings: Settings, webhook: Webhook) -> None:
    for number in range(AT_ONCE + 2):
        event(session, webhook, f"job_{number}")
    assert len(claim(session, settings)) == AT_ONCE
    assert claim(session, settings) == []


def test_lost_lease_makes_the_result_void(session: Session, settings: Settings, webhook: Webhook) -> None:
    event(session, webhook)
    (lost,) = claim(session, settings)
    due(session)
    (present,) = claim(session, settings)
    assert (present.delivery_id, present.number) == (lost.delivery_id, 2)
    finish(session, settings, lost, OK)
    assert session.get_one(WebhookDelivery, lost.delivery_id).status == DeliveryStatus.PENDING
    finish(session, settings, present, OK)
    tries = session.scalars(select(WebhookTry).order_by(WebhookTry.number)).all()
    assert [(one.response_status, one.duration_ms) for one in tries] == [(None, None), (200, 3)]


def test_pauses_grow_threefold_to_a_day() -> None:
    class Middle(random.Random):
        def uniform(self, a: float, b: float) -> float:
            assert (a, b) == (0.8, 1.2)
            return 1.0

    pauses = [pause_after(tries, None, Middle()) for tries in range(1, MOST_TRIES)]
    assert pauses == [10, 30, 90, 270, 810, 2430, 7290, 21870, 65610, 86400, 86400]
    assert sum(pauses) / 86400 == pytest.approx(3.14, abs=0.01)
    assert pause_after(1, 120, Middle()) == 120  # Retry-After
    assert pause_after(1, 10.0**9, Middle()) == 86400
    assert pause_after(5, 1, Middle()) == 810


def test_jitter_spreads_the_pauses() -> None:
    drawn = {pause_after(1, None, random.Random(seed)) for seed in range(50)}
    assert len(drawn) == 50 and min(drawn) >= 8 and max(drawn) <= 12


def test_gone_receiver_disables_the_webhook(session: Session, settings: Settings, webhook: Webhook) -> None:
    first = event(session, webhook)
    finish(session, settings, claim(session, settings)[0], Outcome("410", 3, 410))
    assert not webhook.enabled and "410 Gone" in webhook.disabled_reason
    assert session.get_one(WebhookDelivery, first).status == DeliveryStatus.FAILED


def test_days_of_failure_disable_the_webhook(session: Session, settings: Settings, webhook: Webhook) -> None:
    event(session, webhook)
    finish(session, settings, claim(session, settings)[0], BROKEN)
    assert webhook.enabled and webhook.failing_since is not None
    webhook.failing_since = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
    second = event(session, webhook, "job_2")
    finish(session, settings, claim(session, settings)[0], BROKEN)
    assert webhook.disabled_reason == (
        "Every try since 2026-03-01 12:00 UTC has failed. The last one: The receiver returned 500."
    )
    due(session)
    assert claim(session, settings) == []
    webhooks.change(session, webhook, {"enabled": True})
    session.commit()
    assert webhook.disabled_reason is None and webhook.failing_since is None
    assert second in {one.delivery_id for one in claim(session, settings)}


def test_success_ends_the_days_of_failure(session: Session, settings: Settings, webhook: Webhook) -> None:
    event(session, webhook)
    finish(session, settings, claim(session, settings)[0], BROKEN)
    due(session)
    finish(session, settings, claim(session, settings)[0], OK)
    assert webhook.failing_since is None


def test_replay_gives_all_tries_anew(session: Session, settings: Settings, webhook: Webhook) -> None:
    first = event(session, webhook)
    (claimed,) = claim(session, settings)
    finish(session, settings, claimed, OK)
    delivery = session.get_one(WebhookDelivery, first)
    deliveries.replay(session, delivery)
    session.commit()
    (again,) = claim(session, settings)
    assert (again.delivery_id, again.number, again.body) == (first, 2, claimed.body)
    finish(session, settings, again, BROKEN)
    assert delivery.status == DeliveryStatus.PENDING and (delivery.tries, delivery.tries_before) == (2, 1)


def test_rotation_signs_with_both_secrets_for_a_time(session: Session, settings: Settings, webhook: Webhook) -> None:
    before = webhook.secret
    webhooks.rotate_secret(session, webhook, 24)
    event(session, webhook)
    assert claim(session, settings)[0].secrets == [webhook.secret, before]
    webhook.previous_secret_until = datetime.now(UTC) - timedelta(seconds=1)
    event(session, webhook, "job_2")
    assert claim(session, settings)[0].secrets == [webhook.secret]


def test_old_deliveries_are_deleted(session: Session, settings: Settings, webhook: Webhook) -> None:
    old, held, new = (event(session, webhook, f"job_{number}") for number in range(3))
    claim(session, settings, 2)
    month = datetime.now(UTC) - timedelta(days=31)
    session.execute(update(WebhookDelivery).where(WebhookDelivery.id.in_([old, held])).values(created_at=month))
    session.execute(update(WebhookDelivery).filter_by(id=old).values(lease_expires_at=None))
    assert deliveries.delete_old(session, 30) == 1
    session.commit()
    assert set(session.scalars(select(WebhookDelivery.id))) == {held, new}
