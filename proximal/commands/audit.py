"""`proximal audit …`: lists, exports and verifies the audit log."""

from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from proximal.commands.group import CommandGroup
from proximal.errors import ClientError
from proximal.terminal import moment, plain

app = CommandGroup(help="The audit log: who changed or read what. For admins of the project.", no_args_is_help=True)
Actor = Annotated[str | None, typer.Option(help="Only rows of this user, usr_…, or key, key_….", show_default=False)]
ActionName = Annotated[
    str | None, typer.Option(help="Only rows of this operation, such as delete_dataset.", show_default=False)
]
ObjectId = Annotated[
    str | None, typer.Option("--object", help="Only rows about the object with this id.", show_default=False)
]
Since = Annotated[
    str | None, typer.Option(help="Only rows since then, such as 2026-11-01T00:00:00Z.", show_default=False)
]
Until = Annotated[str | None, typer.Option(help="Only rows from before then.", show_default=False)]
COLUMNS: dict[str, Any] = {
    "time": lambda row: moment(row["at"]),
    "actor": lambda row: row["actor"]["name"],
    "action": lambda row: row["action"] if row["status"] != 403 else f"{row['action']} (refused)",
    "object": lambda row: row["target"]["id"] or row["target"]["kind"],
    "changed": lambda row: ", ".join(_changed(row)),
}


@app.command("list")
def list_(  # one for each filter
    context: typer.Context,
    actor: Actor = None,
    action: ActionName = None,
    about: ObjectId = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of rows.")] = 20,
) -> None:
    """List the audit log, newest first. `--output json` includes the values before and after."""
    filters = {"actor": actor, "action": action, "object": about, "since": since, "until": until}
    with context.obj.client() as client:
        context.obj.printer.items(islice(client.list_audit_rows(**filters), limit), COLUMNS)


@app.command()
def export(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="The file to write.", dir_okay=False, show_default=False)],
    format: Annotated[str, typer.Option(help="jsonl or csv. Default: by the file's name.", show_default=False)] = "",
    actor: Actor = None,
    action: ActionName = None,
    about: ObjectId = None,
    since: Since = None,
    until: Until = None,
) -> None:
    """Write the audit log to a file, oldest row first."""
    filters = {"actor": actor, "action": action, "object": about, "since": since, "until": until}
    kind = format or ("csv" if file.suffix == ".csv" else "jsonl")
    with context.obj.client() as client:
        client.export_audit_log(file, kind, **filters)
    context.obj.printer.item({"file": str(file), "format": kind}, plain(file), key="file")


@app.command()
def verify(context: typer.Context) -> None:
    """Check the chain of the audit log. The exit status is 1 if a row was changed or removed."""
    with context.obj.client() as client:
        found = client.verify_audit_log()
    text = (
        f"{found['rows']} rows are as they were written. The newest is {found['last']}, with the hash {found['hash']}"
    )
    if found["valid"]:
        context.obj.printer.item(found, plain(text), key="hash")
        return
    if context.obj.printer.as_json:
        context.obj.printer.item(found, key=None)
    raise ClientError(f"The audit log is not whole. {found['fault']['reason']}")


def _changed(row: dict[str, Any]) -> list[str]:
    """The changed columns of the first change, or what became of its object."""
    if not row["changes"]:
        return []
    first = row["changes"][0]
    if first["before"] is None or first["after"] is None:
        return ["made" if first["before"] is None else "deleted"]
    return list(first["after"])
