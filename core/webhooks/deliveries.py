"""The queue of deliveries: claims with a lease, the schedule of further tries, replays, and the deletion of old ones.

Any number of senders may claim at once. A sender that is killed loses its lease, and another one tries again with the same
`webhook-id`: each delivery arrives at least once.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import delete, func, select, text, update
from sqlalchemy.orm import Session

from core.db import storable_message
from core.models import DeliveryStatus, Webhook, WebhookDelivery, WebhookTry
from core.settings import Settings
from core.webhooks.event_types import TEST
from data.parse import storable

MOST_TRIES = 12
"""Tries until a delivery is given up. Without `Retry-After`, they span about 3 days."""
AT_ONCE = 4
"""Most tries of one webhook at the same time, so that a slow receiver leaves senders to the others."""
LONGEST_BODY = 1024
"""Bytes that are stored of a response."""
_FIRST_PAUSE, _FACTOR, _LONGEST_PAUSE, _JITTER = 10.0, 3.0, 86400.0, 0.2
_GONE = 410
_MOST_DELETED = 1000


@dataclass(frozen=True)
class Claim:
    """A try that begins. The sender holds the delivery until the lease expires."""

    delivery_id: str
    webhook_id: str
    number: int
    """The number of the try."""
    url: str
    body: str
    secrets: Sequence[str]
    """The secrets that sign: the present one first, and the one before while a rotation overlaps."""


@dataclass(frozen=True)
class Outcome:
    """The end of a try."""

    error: str | None
    """Why it failed; None: the receiver accepted it."""
    duration_ms: int
    response_status: int | None = None
    response_body: str = ""
    retry_after: float | None = None
    """The seconds that the receiver asked for."""


# A delivery is ready if no earlier one of its subject is pending: sent, waiting for another try, or held by a sender.
_CLAIM = text("""
    WITH busy AS (
        SELECT webhook_id, count(*) AS tries FROM webhook_deliveries
        WHERE status = 'pending' AND lease_expires_at > clock_timestamp() GROUP BY webhook_id
    ), ready AS MATERIALIZED (
        SELECT delivery.id, coalesce(busy.tries, 0)
            + row_number() OVER (PARTITION BY webhook_id ORDER BY delivery.next_at, delivery.number) AS place
        FROM webhook_deliveries AS delivery JOIN webhooks ON webhooks.id = webhook_id LEFT JOIN busy USING (webhook_id)
        WHERE delivery.status = 'pending' AND next_at <= clock_timestamp()
            AND (lease_expires_at IS NULL OR lease_expires_at <= clock_timestamp()) AND (enabled OR event_type = :test)
            AND NOT EXISTS (
                SELECT FROM webhook_deliveries AS earlier
                WHERE earlier.status = 'pending' AND earlier.webhook_id = delivery.webhook_id
                    AND earlier.subject = delivery.subject AND earlier.number < delivery.number
            )
    ), chosen AS (
        SELECT delivery.id FROM webhook_deliveries AS delivery JOIN ready USING (id)
        WHERE place <= :at_once AND delivery.status = 'pending' AND next_at <= clock_timestamp()
            AND (lease_expires_at IS NULL OR lease_expires_at <= clock_timestamp())
        ORDER BY next_at, number LIMIT :most FOR UPDATE OF delivery SKIP LOCKED
    ), claimed AS (
        UPDATE webhook_deliveries AS delivery
        SET tries = tries + 1, lease_expires_at = clock_timestamp() + make_interval(secs => :lease)
        FROM chosen WHERE delivery.id = chosen.id
        RETURNING delivery.id, webhook_id, tries, body, number
    ), tried AS (
        INSERT INTO webhook_tries (delivery_id, number, started_at) SELECT id, tries, clock_timestamp() FROM claimed
    )
    SELECT claimed.id, webhook_id, tries, url, body, secret,
        CASE WHEN previous_secret_until > clock_timestamp() THEN previous_secret END AS previous
    FROM claimed JOIN webhooks ON webhooks.id = webhook_id ORDER BY number
""")


def claim(session: Session, settings: Settings, most: int) -> list[Claim]:
    """Begin tries of at most `most` deliveries that are due, in the order in which they became due."""
    lease = settings.lease_seconds + settings.webhook_seconds
    rows = session.execute(_CLAIM, {"test": TEST, "at_once": AT_ONCE, "most": most, "lease": lease})
    return [
        Claim(row.id, row.webhook_id, row.tries, row.url, row.body, [one for one in (row.secret, row.previous) if one])
        for row in rows
    ]


def finish(session: Session, settings: Settings, claimed: Claim, outcome: Outcome) -> None:
    """Store the outcome, and schedule another try or end the delivery. Ignored if the lease was lost or the webhook deleted."""
    webhook = session.get(Webhook, claimed.webhook_id, with_for_update={"key_share": True})
    if webhook is None:
        return
    held = select(WebhookDelivery).filter_by(
        id=claimed.delivery_id, tries=claimed.number, status=DeliveryStatus.PENDING
    )
    delivery = session.scalars(held.with_for_update().execution_options(populate_existing=True)).one_or_none()
    if delivery is None:
        return
    _log(session, claimed, outcome)
    delivery.lease_expires_at = None
    tries = delivery.tries - delivery.tries_before
    now = datetime.now(UTC)
    if outcome.error is None:
        delivery.status, delivery.finished_at = DeliveryStatus.DELIVERED, now
    elif tries >= MOST_TRIES or outcome.response_status == _GONE:
        delivery.status, delivery.finished_at = DeliveryStatus.FAILED, now
    else:
        delivery.next_at = now + timedelta(seconds=pause_after(tries, outcome.retry_after))
    if delivery.event_type != TEST:
        _judge(webhook, outcome, now, timedelta(days=settings.webhook_failing_days))
    session.flush()


def pause_after(tries: int, retry_after: float | None, rng: random.Random | None = None) -> float:
    """Seconds until the next try: 10 s, 30 s, 90 s, … with a factor of 3, at most a day, each with up to 20 % more or less.

    At least the seconds that the receiver asked for, up to a day.
    """
    pause = min(_FIRST_PAUSE * _FACTOR ** (tries - 1), _LONGEST_PAUSE)
    spread = (rng or random).uniform(1 - _JITTER, 1 + _JITTER)
    return max(pause * spread, min(retry_after or 0.0, _LONGEST_PAUSE))


def _log(session: Session, claimed: Claim, outcome: Outcome) -> None:
    values = {
        "duration_ms": outcome.duration_ms,
        "response_status": outcome.response_status,
        "response_body": None if outcome.response_status is None else storable(outcome.response_body),
        "error": None if outcome.error is None else storable_message(outcome.error),
    }
    session.execute(update(WebhookTry).filter_by(delivery_id=claimed.delivery_id, number=claimed.number).values(values))


def _judge(webhook: Webhook, outcome: Outcome, now: datetime, most: timedelta) -> None:
    """Disable a webhook whose receiver is gone, or has failed for too long."""
    if outcome.error is None:
        webhook.failing_since = None
        return
    if webhook.failing_since is None:
        webhook.failing_since = now
    if outcome.response_status == _GONE:
        reason = "The receiver returned 410 Gone: it wants no more events."
    elif now - webhook.failing_since >= most:
        reason = f"Every try since {webhook.failing_since:%Y-%m-%d %H:%M} UTC has failed. The last one: {outcome.error}"
    else:
        return
    if webhook.enabled:
        webhook.enabled, webhook.disabled_reason = False, storable_message(reason)


def replay(session: Session, delivery: WebhookDelivery) -> None:
    """Send a delivery again with the same id, or a waiting one now. One that a sender holds at present is left alone."""
    session.refresh(delivery, with_for_update=True)
    if delivery.status != DeliveryStatus.PENDING:
        delivery.status, delivery.finished_at, delivery.tries_before = DeliveryStatus.PENDING, None, delivery.tries
    delivery.next_at = func.clock_timestamp()
    session.flush()
    session.refresh(delivery)


def tries_of(session: Session, delivery_ids: Sequence[str]) -> dict[str, list[WebhookTry]]:
    """The tries of deliveries, the first one first."""
    found: dict[str, list[WebhookTry]] = {one: [] for one in delivery_ids}
    query = select(WebhookTry).where(WebhookTry.delivery_id.in_(delivery_ids))
    for row in session.scalars(query.order_by(WebhookTry.delivery_id, WebhookTry.number)):
        found[row.delivery_id].append(row)
    return found


def delete_old(session: Session, days: float) -> int:
    """Delete some of the deliveries that are older than `days`. Returns their number, which is 0 once none is left.

    One that a sender holds, or another transaction has locked, stays for the next time.
    """
    before = datetime.now(UTC) - timedelta(days=days)
    old = select(WebhookDelivery.id).where(
        WebhookDelivery.created_at < before, WebhookDelivery.lease_expires_at.is_(None)
    )
    ids = session.scalars(old.limit(_MOST_DELETED).with_for_update(skip_locked=True)).all()
    session.execute(delete(WebhookDelivery).where(WebhookDelivery.id.in_(ids)))
    return len(ids)
