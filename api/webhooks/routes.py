"""Webhooks: where events of the project are sent, and the log of the deliveries."""

from collections.abc import Sequence
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, Query, Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from api.deps import After, Limit, OrderBy, PrincipalDep, SessionDep, SettingsDep
from api.etags import ETAG, IfMatch, etag_of, set_etag
from api.problems import BadRequest, documented
from api.validation import StrictRoute
from api.webhooks.schemas import (
    ChangeWebhook,
    NewWebhook,
    RotateSecret,
    Webhook,
    WebhookDelivery,
    WebhookDeliveryList,
    WebhookList,
    WebhookTry,
    WebhookWithSecret,
)
from core import models
from core.access.keys import Principal
from core.access.policy import Action
from core.errors import (
    CrossOrigin,
    InvalidRequest,
    NotFound,
    NotSignedIn,
    PreconditionFailed,
    QuotaExceeded,
    TooLarge,
    WebhookRefused,
    WrongMediaType,
)
from core.models import DeliveryStatus
from core.paging import page
from core.webhooks import deliveries, outbox, webhooks
from core.webhooks.receivers import checked_receiver

router = APIRouter(prefix="/webhooks", tags=["Webhooks"], route_class=StrictRoute)
_WRITES = (BadRequest, NotSignedIn, CrossOrigin, TooLarge, WrongMediaType, InvalidRequest)
_NOT_NULL = ("url", "event_types", "enabled")


def _webhook(webhook_id: str, principal: PrincipalDep, session: SessionDep) -> models.Webhook:
    return webhooks.get(session, principal.owner_id, webhook_id)


WebhookDep = Annotated[models.Webhook, Depends(_webhook)]


@router.post("", status_code=201, responses=documented(*_WRITES, WebhookRefused, QuotaExceeded))
def create_webhook(
    body: NewWebhook, principal: PrincipalDep, session: SessionDep, settings: SettingsDep
) -> WebhookWithSecret:
    """Send events of the project to an address from now on. The response is the only one that contains the secret."""
    made = webhooks.create(
        session,
        settings,
        principal.owner_id,
        body.url,
        body.event_types,
        description=body.description,
        kind=body.format,
        enabled=body.enabled,
    )
    return _with_secret(made)


@router.get("", responses=documented(NotSignedIn, InvalidRequest))
def list_webhooks(
    principal: PrincipalDep, session: SessionDep, limit: Limit = 20, after: After = None, order: OrderBy = "desc"
) -> WebhookList:
    """List the webhooks of the project."""
    query = select(models.Webhook).filter_by(owner_id=principal.owner_id)
    found = page(session, query, models.Webhook, after, limit, order)
    return WebhookList.from_items([_view(row, principal) for row in found.items], found.has_more)


@router.get("/{webhook_id}", responses=ETAG | documented(NotSignedIn, NotFound, InvalidRequest))
def get_webhook(webhook: WebhookDep, principal: PrincipalDep, response: Response) -> Webhook:
    """Return one webhook, with the reason if the platform disabled it."""
    return _tagged(response, _view(webhook, principal))


@router.patch("/{webhook_id}", responses=ETAG | documented(*_WRITES, NotFound, PreconditionFailed, WebhookRefused))
def change_webhook(
    webhook: WebhookDep,
    body: ChangeWebhook,
    principal: PrincipalDep,
    session: SessionDep,
    settings: SettingsDep,
    condition: IfMatch,
    response: Response,
) -> Webhook:
    """Change the address, the events, the description, or whether events are sent.

    Enabling a webhook that the platform disabled removes the reason, and sends the deliveries that wait.
    """
    changes = body.model_dump(exclude_unset=True)
    for name in _NOT_NULL:
        if changes.get(name, "") is None:
            detail = "must not be null"
            raise InvalidRequest(f"`{name}` {detail}.", param=name, errors=[{"pointer": f"#/{name}", "detail": detail}])
    if "description" in changes:
        changes["description"] = changes["description"] or ""
    if "url" in changes:
        checked_receiver(changes["url"], settings.webhook_networks)
    condition.check(session, webhook)
    webhooks.change(session, webhook, changes)
    return _tagged(response, _view(webhook, principal))


@router.delete(
    "/{webhook_id}", status_code=204, responses=documented(NotSignedIn, CrossOrigin, NotFound, PreconditionFailed)
)
def delete_webhook(webhook: WebhookDep, session: SessionDep, condition: IfMatch) -> None:
    """Delete a webhook with its deliveries. Those that wait are not sent."""
    condition.check(session, webhook)
    webhooks.remove(session, webhook)


@router.post("/{webhook_id}/rotate", responses=documented(*_WRITES, NotFound))
def rotate_webhook_secret(
    webhook: WebhookDep, session: SessionDep, body: RotateSecret | None = None
) -> WebhookWithSecret:
    """Give a webhook a new secret. The response is the only one that contains it. For some hours, the present one signs as well."""
    webhooks.rotate_secret(session, webhook, (body or RotateSecret()).overlap_hours)
    return _with_secret(webhook)


@router.post(
    "/{webhook_id}/test", status_code=201, responses=documented(NotSignedIn, CrossOrigin, NotFound, InvalidRequest)
)
def test_webhook(webhook: WebhookDep, session: SessionDep) -> WebhookDelivery:
    """Send the event `webhook.test`, even if the webhook is disabled. The list of deliveries then shows the result."""
    return _deliveries(session, [outbox.send_test(session, webhook)])[0]


@router.get("/{webhook_id}/deliveries", responses=documented(NotSignedIn, NotFound, InvalidRequest))
def list_webhook_deliveries(
    webhook: WebhookDep,
    session: SessionDep,
    status: Annotated[DeliveryStatus | None, Query(description="Only deliveries in this state.")] = None,
    limit: Limit = 20,
    after: After = None,
    order: OrderBy = "desc",
) -> WebhookDeliveryList:
    """List the deliveries of a webhook with their tries. `PROXIMAL_WEBHOOK_DAYS` after the event, they are deleted."""
    query = select(models.WebhookDelivery).filter_by(webhook_id=webhook.id)
    if status is not None:
        query = query.filter_by(status=status)
    found = page(session, query, models.WebhookDelivery, after, limit, order)
    return WebhookDeliveryList.from_items(_deliveries(session, found.items), found.has_more)


@router.post(
    "/{webhook_id}/deliveries/{delivery_id}/replay",
    responses=documented(NotSignedIn, CrossOrigin, NotFound, InvalidRequest),
)
def replay_webhook_delivery(webhook: WebhookDep, delivery_id: str, session: SessionDep) -> WebhookDelivery:
    """Send a delivery again with the same `webhook-id`, or one that waits at once. A disabled webhook sends it once it is enabled."""
    delivery = webhooks.delivery_of(session, webhook, delivery_id)
    deliveries.replay(session, delivery)
    return _deliveries(session, [delivery])[0]


def _view(row: models.Webhook, principal: Principal) -> Webhook:
    """The webhook. Its path and query may hold a secret, as those of chats do, so that only an admin sees them."""
    shown = _fields(row, Webhook) | {"etag": etag_of(row)}
    if not principal.may(Action.MANAGE):
        parts = urlsplit(row.url)
        shown["url"] = f"{parts.scheme}://{parts.hostname}/…"
    return Webhook.model_validate(shown)


def _with_secret(row: models.Webhook) -> WebhookWithSecret:
    return WebhookWithSecret.model_validate(_fields(row, WebhookWithSecret) | {"etag": etag_of(row)})


def _fields(row: object, schema: type[Webhook | WebhookTry]) -> dict[str, object]:
    return {name: getattr(row, name) for name in schema.model_fields if name not in ("object", "etag")}


def _tagged(response: Response, webhook: Webhook) -> Webhook:
    set_etag(response, webhook.etag)
    return webhook


def _deliveries(session: Session, rows: Sequence[models.WebhookDelivery]) -> list[WebhookDelivery]:
    tries = deliveries.tries_of(session, [row.id for row in rows])
    names = ("id", "webhook_id", "event_type", "subject", "status", "body", "created_at", "finished_at")
    return [
        WebhookDelivery(
            **{name: getattr(row, name) for name in names},
            next_try_at=row.next_at if row.status == DeliveryStatus.PENDING else None,
            tries=[WebhookTry(**_fields(one, WebhookTry)) for one in tries[row.id]],
        )
        for row in rows
    ]
