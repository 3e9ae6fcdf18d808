"""`proximal webhooks …`"""

from typing import Annotated, Any, Literal

import typer

from proximal.commands.group import CommandGroup, IfMatch
from proximal.errors import ClientError
from proximal.terminal import age, facts, plain

app = CommandGroup(help="Addresses that receive events of the project.", no_args_is_help=True)
Webhook = Annotated[str, typer.Argument(help="The webhook's id, whk_…", show_default=False)]
Events = Annotated[
    list[str] | None,
    typer.Option(
        "--event", help="An event that it receives, such as job.failed. Repeat it for several.", show_default=False
    ),
]
Description = Annotated[str | None, typer.Option(help="For people.", show_default=False)]
COLUMNS: dict[str, Any] = {
    "url": lambda webhook: webhook["url"],
    "events": lambda webhook: ", ".join(webhook["event_types"]),
    "state": lambda webhook: _state(webhook),
}
DELIVERY_COLUMNS: dict[str, Any] = {
    "event": lambda delivery: delivery["event_type"],
    "about": lambda delivery: delivery["subject"],
    "status": lambda delivery: delivery["status"],
    "tries": lambda delivery: len(delivery["tries"]),
    "last result": lambda delivery: _result(delivery),
    "created": lambda delivery: age(delivery["created_at"]),
}


@app.command("list")
def list_(context: typer.Context) -> None:
    """List webhooks, newest first."""
    with context.obj.client() as client:
        context.obj.printer.items(client.list_webhooks(), COLUMNS)


@app.command()
def show(context: typer.Context, webhook: Webhook) -> None:
    """Show one webhook, with the reason if the platform disabled it."""
    with context.obj.client() as client:
        found = client.get_webhook(webhook)
    rows: list[tuple[str, object]] = [("id", found["id"]), ("url", found["url"]), ("state", _state(found))]
    rows += [(name, found[name]) for name in ("description", "format", "failing_since") if found[name]]
    rows += [("events", ", ".join(found["event_types"]))]
    context.obj.printer.item(found, facts(rows))


@app.command()
def create(
    context: typer.Context,
    url: Annotated[str, typer.Argument(help="The https address that receives the events.", show_default=False)],
    events: Events = None,
    description: Description = None,
    format: Annotated[
        Literal["standard", "slack"],
        typer.Option(help="`slack`: a text for incoming webhooks of Slack and other chats."),
    ] = "standard",
) -> None:
    """Create a webhook, and print its id and its secret, which is shown once."""
    if not events:
        raise ClientError("Name the events: --event job.failed --event job.succeeded, for instance.")
    wanted: Any = events  # the platform refuses an unknown one, with those that it has
    with context.obj.client() as client:
        made = client.create_webhook(url, wanted, description=description or "", format=format)
    context.obj.printer.item(made, facts([("id", made["id"]), ("secret", made["secret"])]))


@app.command()
def change(
    context: typer.Context,
    webhook: Webhook,
    url: Annotated[str | None, typer.Option(help="New address.", show_default=False)] = None,
    events: Events = None,
    description: Description = None,
    enabled: Annotated[
        bool | None, typer.Option("--enable/--disable", help="Send events, or none.", show_default=False)
    ] = None,
    if_match: IfMatch = None,
) -> None:
    """Change a webhook: its address, its events, its description, or whether events are sent."""
    given: dict[str, Any] = {"url": url, "event_types": events or None}
    given |= {"description": description, "enabled": enabled}
    given = {field: value for field, value in given.items() if value is not None}
    if not given:
        raise ClientError("Name a change: --url, --event, --description, --enable or --disable.")
    with context.obj.client() as client:
        changed = client.change_webhook(webhook, **given, if_match=if_match)
    context.obj.printer.item(changed, plain(f"{changed['id']}  {_state(changed)}"))


@app.command()
def delete(context: typer.Context, webhook: Webhook, if_match: IfMatch = None) -> None:
    """Delete a webhook with its deliveries."""
    with context.obj.client() as client:
        client.delete_webhook(webhook, if_match=if_match)
    context.obj.printer.item({"id": webhook, "deleted": True}, plain(f"{webhook}  deleted"))


@app.command()
def rotate(
    context: typer.Context,
    webhook: Webhook,
    overlap_hours: Annotated[float, typer.Option(help="Hours for which the present secret signs as well.")] = 24,
) -> None:
    """Give a webhook a new secret, and print it. It is shown once."""
    with context.obj.client() as client:
        rotated = client.rotate_webhook_secret(webhook, overlap_hours)
    context.obj.printer.item(rotated, facts([("id", rotated["id"]), ("secret", rotated["secret"])]))


@app.command()
def test(context: typer.Context, webhook: Webhook) -> None:
    """Send a test event. `proximal webhooks deliveries` shows the result."""
    with context.obj.client() as client:
        sent = client.test_webhook(webhook)
    context.obj.printer.item(sent, plain(f"{sent['id']}  {sent['status']}"))


@app.command()
def deliveries(
    context: typer.Context,
    webhook: Webhook,
    status: Annotated[
        Literal["pending", "delivered", "failed"] | None,
        typer.Option(help="Only those in this state.", show_default=False),
    ] = None,
) -> None:
    """List the deliveries of a webhook, newest first, with the last result of each."""
    with context.obj.client() as client:
        context.obj.printer.items(client.list_webhook_deliveries(webhook, status=status), DELIVERY_COLUMNS)


@app.command()
def replay(
    context: typer.Context,
    webhook: Webhook,
    delivery: Annotated[str, typer.Argument(help="The delivery's id, msg_…", show_default=False)],
) -> None:
    """Send a delivery again, or one that waits at once."""
    with context.obj.client() as client:
        sent = client.replay_webhook_delivery(webhook, delivery)
    context.obj.printer.item(sent, plain(f"{sent['id']}  {sent['status']}"))


def _state(webhook: dict[str, Any]) -> str:
    if webhook["enabled"]:
        return "failing" if webhook["failing_since"] else "enabled"
    return f"disabled: {webhook['disabled_reason']}" if webhook["disabled_reason"] else "disabled"


def _result(delivery: dict[str, Any]) -> object:
    if not delivery["tries"]:
        return None
    last = delivery["tries"][-1]
    return last["error"] or last["response_status"]
