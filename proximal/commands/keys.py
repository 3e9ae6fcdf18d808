"""`proximal keys …`"""

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from proximal.commands.group import CommandGroup, day_or_time
from proximal.sdk.types import Key
from proximal.terminal import age, moment, plain

app = CommandGroup(help="API keys: make, replace and revoke them.", no_args_is_help=True)
KeyId = Annotated[str, typer.Argument(help="The key's id, key_…", show_default=False)]
Scopes = Annotated[
    list[str] | None,
    typer.Option(
        "--scope",
        help="Limit the key to read, annotate, submit or manage. May be repeated. Default: no limit.",
        show_default=False,
    ),
]
ExpiresAt = Annotated[
    str | None,
    typer.Option(help="When it ends: 2027-01-31 or 2027-01-31T18:00. Default: never.", show_default=False),
]
_DAY = 24.0
COLUMNS: dict[str, Any] = {
    "name": lambda key: key["name"],
    "prefix": lambda key: key["prefix"],
    "scopes": lambda key: "all" if key["scopes"] is None else ", ".join(key["scopes"]),
    "state": lambda key: _state(key),
    "created": lambda key: age(key["created_at"]),
    "last used": lambda key: "never" if key["last_used_at"] is None else age(key["last_used_at"]),
}


@app.command("list")
def list_(context: typer.Context) -> None:
    """List the valid keys, and up to 100 that are revoked or have ended. An admin sees those of all members.

    The id of the key that made a key stands below its own id.
    """
    with context.obj.client() as client:
        context.obj.printer.items(client.list_keys(), COLUMNS, below="made_by")


@app.command()
def create(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Its purpose, such as the name of a machine.", show_default=False)],
    scope: Scopes = None,
    expires_at: ExpiresAt = None,
    member: Annotated[
        str | None, typer.Option(help="Make it for this member, usr_…. Only an admin may.", show_default=False)
    ] = None,
) -> None:
    """Create an API key in your project, and print it once."""
    options: dict[str, Any] = {"scopes": scope, "expires_at": expires_at and day_or_time("--expires-at", expires_at)}
    with context.obj.client() as client:
        made = (
            client.create_key(name, **options) if member is None else client.create_member_key(member, name, **options)
        )
    context.obj.printer.item(made, plain(made["text"]), key="text")


@app.command()
def rotate(
    context: typer.Context,
    key_id: KeyId,
    overlap_hours: Annotated[
        float, typer.Option(min=0, max=720, help="Hours for which the old key stays valid. 0: it is revoked at once.")
    ] = _DAY,
    expires_at: ExpiresAt = None,
) -> None:
    """Replace a key by a new one with the same name and rights, and print the new one once."""
    end = expires_at and day_or_time("--expires-at", expires_at)
    with context.obj.client() as client:
        made = client.rotate_key(key_id, round(overlap_hours * 3600), end)
    context.obj.printer.item(made, plain(made["text"]), key="text")
    old = made["replaces"]
    ends = "is revoked" if old["revoked_at"] else f"stays valid until {moment(old['expires_at'])} UTC"
    context.obj.printer.progress.print(plain(f"The old key {old['prefix']} {ends}."))


@app.command()
def revoke(
    context: typer.Context,
    key_id: KeyId,
    and_made: Annotated[bool, typer.Option("--and-made", help="Also revoke the keys that it made.")] = False,
) -> None:
    """Revoke a key, and end its browser sessions. Its jobs and datasets stay."""
    with context.obj.client() as client:
        revoked = client.revoke_key(key_id, and_made=and_made)
    context.obj.printer.item(revoked, plain(f"{key_id}  revoked"))
    if left := [key["name"] for key in revoked["valid_keys_made"]]:
        said = f"Keys that it made stay valid: {', '.join(left)}. `--and-made` revokes them too."
        context.obj.printer.progress.print(plain(said))


def _state(key: Key) -> str:
    if key["revoked_at"] is not None:
        return "revoked"
    rights = (["operator"] if key["operator"] else []) + (["this key"] if key["current"] else [])
    if key["expires_at"] is not None and datetime.fromisoformat(key["expires_at"]) <= datetime.now(UTC):
        return f"ended {moment(key['expires_at'])}"
    end = "active" if key["expires_at"] is None else f"until {moment(key['expires_at'])}"
    return ", ".join([end, *rights])
