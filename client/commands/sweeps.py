"""`proximal sweeps …`"""

from pathlib import Path
from typing import Annotated, Any

import typer

from client.commands.group import CommandGroup
from client.sdk.spec_files import read_spec, with_uploads
from client.sdk.types import Group
from client.terminal import Printer

app = CommandGroup(help="Jobs that differ in a few fields of the spec.", no_args_is_help=True)
GroupId = Annotated[str, typer.Argument(help="The group's id, grp_…", show_default=False)]
COLUMNS: dict[str, Any] = {
    "objective": lambda job: "" if job["objective"] is None else f"{job['objective']:.4g}",
    "status": lambda job: job["status"],
    "values": lambda job: ", ".join(f"{path}={value}" for path, value in job["values"].items()),
}
PLAN_COLUMNS: dict[str, Any] = {
    "number": lambda job: job["number"],
    "values": COLUMNS["values"],
}


@app.command()
def create(
    context: typer.Context,
    sweep: Annotated[Path, typer.Argument(help="TOML or JSON file with `spec` and `parameters`.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the jobs and submit none.")] = False,
) -> None:
    """Submit the jobs of a sweep. Data files that its spec names are uploaded."""
    printer: Printer = context.obj.printer
    body = read_spec(sweep)
    with context.obj.client() as client:
        if dry_run:
            printer.items(client.validate_sweep(**body)["jobs"], PLAN_COLUMNS, key=None)
            return
        body["spec"] = with_uploads(client, body.get("spec", {}), sweep.parent)
        group = client.create_sweep(**body)
        printer.note(group["id"])
        _print_jobs(group, printer)


@app.command()
def show(
    context: typer.Context,
    group_id: GroupId,
    metric: Annotated[str | None, typer.Option(help="Compare by this figure or metric.")] = None,
) -> None:
    """Show the jobs of a sweep or group, the best one first."""
    with context.obj.client() as client:
        _print_jobs(client.get_group(group_id, metric=metric), context.obj.printer)


@app.command()
def cancel(context: typer.Context, group_id: GroupId) -> None:
    """Cancel all jobs of a sweep or group that have not ended."""
    with context.obj.client() as client:
        _print_jobs(client.cancel_group(group_id), context.obj.printer)


def _print_jobs(group: Group, printer: Printer) -> None:
    printer.items(group["jobs"], COLUMNS)
