"""`proximal workers …`"""

from typing import Any

import typer

from client.commands.group import CommandGroup
from client.terminal import moment

app = CommandGroup(help="The workers that run jobs.", no_args_is_help=True)
COLUMNS: dict[str, Any] = {
    "machine": lambda worker: worker["hostname"],
    "job": lambda worker: worker["job_id"],
    "started": lambda worker: moment(worker["started_at"]),
    "last seen": lambda worker: moment(worker["last_seen_at"]),
}


@app.command("list")
def list_(context: typer.Context) -> None:
    """List the workers that are online. A job of another key is not shown."""
    with context.obj.client() as client:
        context.obj.printer.items(client.list_workers(), COLUMNS)
