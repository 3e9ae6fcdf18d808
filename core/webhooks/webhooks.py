"""The webhooks of a project: their making, changing and deletion, and the rotation of their secrets."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from core.access.users import acting_user
from core.errors import NotFound, QuotaExceeded
from core.models import Webhook, WebhookDelivery, WebhookFormat
from core.models.base import new_id
from core.settings import Settings
from core.webhooks.event_types import EventType
from core.webhooks.receivers import checked_receiver
from core.webhooks.signing import new_secret

MOST_WEBHOOKS = 50
"""Most webhooks of a project."""


def create(
    session: Session,
    settings: Settings,
    owner_id: str,
    url: str,
    event_types: Sequence[EventType],
    *,
    description: str = "",
    kind: WebhookFormat = WebhookFormat.STANDARD,
    enabled: bool = True,
) -> Webhook:
    """Store a webhook with a new secret. Raises WebhookRefused, and QuotaExceeded at MOST_WEBHOOKS."""
    checked_receiver(url, settings.webhook_networks)
    session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(f"webhooks {owner_id}", 0))))
    count = session.scalars(select(func.count()).select_from(Webhook).filter_by(owner_id=owner_id)).one()
    if count >= MOST_WEBHOOKS:
        detail = f"The project has {count} webhooks. This platform allows {MOST_WEBHOOKS}. Delete those that are no longer needed."
        raise QuotaExceeded(detail, limit=MOST_WEBHOOKS, value=count)
    made = Webhook(id=new_id("whk"), owner_id=owner_id, created_by=acting_user(session), secret=new_secret())
    made.url, made.description, made.format, made.enabled = url, description, kind, enabled
    made.event_types = sorted(set(event_types))
    session.add(made)
    session.flush()
    session.refresh(made)
    return made


def get(session: Session, owner_id: str, webhook_id: str) -> Webhook:
    """The project's webhook. Raises NotFound."""
    found = session.scalars(select(Webhook).filter_by(id=webhook_id, owner_id=owner_id)).one_or_none()
    if found is None:
        raise NotFound(f"There is no webhook {webhook_id!r}.")
    return found


def change(session: Session, webhook: Webhook, changes: Mapping[str, Any]) -> None:
    """Set `url`, which the caller has checked (`checked_receiver`), `description`, `event_types` or `enabled`.

    The check may wait for a name server. So it comes before the row is locked, which events of the project would wait for.
    An enabled webhook has no reason, and its days of failure begin anew. Deliveries that wait go to a new address.
    """
    if "url" in changes:
        webhook.url = changes["url"]
    if "description" in changes:
        webhook.description = changes["description"]
    if "event_types" in changes:
        webhook.event_types = sorted(set(changes["event_types"]))
    if "enabled" in changes:
        if changes["enabled"] and not webhook.enabled:
            webhook.failing_since = None
        webhook.enabled, webhook.disabled_reason = changes["enabled"], None
    session.flush()


def rotate_secret(session: Session, webhook: Webhook, overlap_hours: float) -> None:
    """Give the webhook a new secret. The present one signs as well for so many hours."""
    session.refresh(webhook, with_for_update=True)
    if overlap_hours:
        webhook.previous_secret = webhook.secret
        webhook.previous_secret_until = datetime.now(UTC) + timedelta(hours=overlap_hours)
    else:
        webhook.previous_secret = webhook.previous_secret_until = None
    webhook.secret = new_secret()
    session.flush()


def remove(session: Session, webhook: Webhook) -> None:
    """Delete the webhook with its deliveries."""
    session.refresh(webhook, with_for_update=True)
    session.delete(webhook)
    session.flush()


def delivery_of(session: Session, webhook: Webhook, delivery_id: str) -> WebhookDelivery:
    """A delivery of the webhook. Raises NotFound."""
    found = session.scalars(select(WebhookDelivery).filter_by(id=delivery_id, webhook_id=webhook.id)).one_or_none()
    if found is None:
        raise NotFound(f"There is no delivery {delivery_id!r} of this webhook.")
    return found
