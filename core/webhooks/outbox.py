"""The outbox: the transaction of a change inserts a delivery for each webhook that receives the event.

So an event is sent if, and only if, its change is committed.
"""

from collections.abc import Callable

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from core.models import DeliveryStatus, Webhook, WebhookDelivery, WebhookFormat
from core.models.base import new_id
from core.webhooks.event_types import TEST, Data, EventType, payload, test_data


def record(session: Session, owner_id: str, event_type: EventType, subject: str, data: Callable[[], Data]) -> None:
    """Insert the deliveries of an event. `subject`: the id of its job or dataset, whose row the caller has locked.

    `data` is called only if a webhook receives the event. The lock keeps the webhooks from being deleted before the commit, which
    would fail the change itself.
    """
    wanted = select(Webhook.id, Webhook.format).where(
        Webhook.owner_id == owner_id, Webhook.enabled, Webhook.event_types.contains([event_type.value])
    )
    found = session.execute(wanted.order_by(Webhook.id).with_for_update(read=True, key_share=True)).all()
    if found:
        content = data()
        for webhook_id, kind in found:
            session.add(_delivery(webhook_id, event_type, subject, payload(WebhookFormat(kind), event_type, content)))
        session.flush()


def send_test(session: Session, webhook: Webhook) -> WebhookDelivery:
    """Insert a test event. No other delivery waits for it, and it is sent to a disabled webhook too."""
    body = payload(WebhookFormat(webhook.format), TEST, test_data(webhook.id))
    made = _delivery(webhook.id, TEST, new_id("test"), body)
    session.add(made)
    session.flush()
    session.refresh(made)
    return made


def _delivery(webhook_id: str, event_type: str, subject: str, body: str) -> WebhookDelivery:
    return WebhookDelivery(
        id=new_id("msg"),
        webhook_id=webhook_id,
        event_type=event_type,
        subject=subject,
        body=body,
        status=DeliveryStatus.PENDING,
        tries=0,
        tries_before=0,
        next_at=func.clock_timestamp(),
    )
