"""Schemas of webhooks and their deliveries."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from api.schema import ListOf, Schema, Timestamp
from core.models import DeliveryStatus, WebhookFormat
from core.webhooks.event_types import EventType
from core.webhooks.receivers import LONGEST_URL

LONGEST_OVERLAP_HOURS = 168
Url = Annotated[str, Field(min_length=1, max_length=LONGEST_URL)]
EventTypes = Annotated[list[EventType], Field(min_length=1, max_length=100)]
Description = Annotated[str, Field(max_length=200, pattern=r"^[^\x00-\x1f]*$")]


class _Body(Schema):
    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=False)


class NewWebhook(_Body):
    """A webhook to create."""

    url: Url
    """The https address that receives the events. It must lead to the public internet, unless the operator allows other networks."""
    event_types: EventTypes
    """The events that it receives."""
    description: Description = ""
    """For people."""
    format: WebhookFormat = WebhookFormat.STANDARD
    """`standard`: the payload `{type, timestamp, data}` of Standard Webhooks. `slack`: `{text}`, for incoming webhooks of Slack and other chats."""
    enabled: bool = True
    """Whether events are sent."""


class ChangeWebhook(_Body):
    """The new values. Fields that are left out stay."""

    url: Url | None = None
    """The new address. Deliveries that wait go there, too. It cannot be null."""
    event_types: EventTypes | None = None
    """The events that it receives from now on. It cannot be null."""
    description: Description | None = None
    """The new description; null empties it."""
    enabled: bool | None = None
    """Whether events are sent. Events of the time without are not sent later. It cannot be null."""


class RotateSecret(_Body):
    """How long the present secret signs as well."""

    overlap_hours: Annotated[float, Field(ge=0, le=LONGEST_OVERLAP_HOURS)] = 24
    """Hours for which both secrets sign, so that receivers can change theirs in peace. 0: the present one ends at once."""


class Webhook(Schema):
    """An address that receives events of the project."""

    object: Literal["webhook"] = "webhook"
    """Always `webhook`."""
    id: str
    """Begins with `whk_`."""
    url: str
    """The address that receives the events. Its path is shown to admins only, because it may hold a secret."""
    description: str
    """For people."""
    event_types: list[EventType]
    """The events that it receives."""
    format: WebhookFormat
    """`standard` or `slack`: the form of its payloads."""
    enabled: bool
    """Whether events are sent."""
    disabled_reason: str | None
    """Why the platform disabled it; null if it is enabled, or if a person disabled it."""
    failing_since: Timestamp | None
    """The first failed try since the last success; null after a success."""
    previous_secret_until: Timestamp | None
    """Until when the secret before the last rotation signs as well; null if only one signs."""
    etag: str
    """Changes with what requests can change. Send it as `If-Match` to keep a request from overwriting another change."""
    created_at: Timestamp
    """When it was created."""


class WebhookWithSecret(Webhook):
    """A webhook with its new secret."""

    secret: str
    """The key of the signatures, `whsec_…`. It is shown once."""


class WebhookList(ListOf[Webhook]):
    """Webhooks of the project, newest first unless asked otherwise."""


class WebhookTry(Schema):
    """One request of a delivery."""

    number: int
    """From 1."""
    started_at: Timestamp
    """When it began."""
    duration_ms: int | None
    """Milliseconds until its end; null if no result was reported, since it still runs or its sender was lost."""
    response_status: int | None
    """HTTP status of the response; null without one."""
    response_body: str | None
    """The first 1024 bytes of the response; null without one."""
    error: str | None
    """Why it failed; null for a success, or without a result."""


class WebhookDelivery(Schema):
    """One event for one webhook, with its tries."""

    object: Literal["webhook.delivery"] = "webhook.delivery"
    """Always `webhook.delivery`."""
    id: str
    """Begins with `msg_`. It is the header `webhook-id` of every try."""
    webhook_id: str
    """The webhook that it goes to."""
    event_type: str
    """The event, or `webhook.test`."""
    subject: str
    """The job or dataset of the event. Its deliveries are sent one after the other."""
    status: DeliveryStatus
    """`pending`, `delivered`, or `failed` after the last try."""
    body: str
    """The payload, exactly as it is signed and sent."""
    next_try_at: Timestamp | None
    """When the next try is due, unless an earlier event of the same job waits; null if none follows."""
    tries: list[WebhookTry]
    """The requests so far."""
    created_at: Timestamp
    """When the event happened."""
    finished_at: Timestamp | None
    """When it was accepted or given up; null while it is pending."""


class WebhookDeliveryList(ListOf[WebhookDelivery]):
    """Deliveries of a webhook, newest first unless asked otherwise."""
