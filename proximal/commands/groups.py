"""`proximal groups …`"""

import json
from typing import Annotated, Any, Literal

import typer

from proximal.commands.group import CommandGroup
from proximal.sdk.types import Group
from proximal.terminal import Printer, age, plain

app = CommandGroup(help="Jobs that are compared and cancelled together.", no_args_is_help=True)
Goal = Literal["maximize", "minimize"]
GroupId = Annotated[str, typer.Argument(help="The group's id, grp_…", show_default=False)]
COLUMNS: dict[str, Any] = {
    "name": lambda group: group["name"],
    "metric": lambda group: group["metric"],
    "at once": lambda group: group["max_parallel"] or "",
    "created": lambda group: age(group["created_at"]),
}
JOB_COLUMNS: dict[str, Any] = {
    "objective": lambda job: "" if job["objective"] is None else f"{job['objective']:.4g}",
    "status": lambda job: job["status"],
    "values": lambda job: ", ".join(f"{path}={_shown(value)}" for path, value in job["values"].items()),
}


def _shown(value: object) -> str:
    """A value as a spec has it: `null`, not `None`."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@app.command("list")
def list_(context: typer.Context) -> None:
    """List groups and sweeps, newest first."""
    with context.obj.client() as client:
        context.obj.printer.items(client.list_groups(), COLUMNS)


@app.command()
def create(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="For people.", show_default=False)],
    metric: Annotated[str | None, typer.Option(help="The objective by which its jobs are compared.")] = None,
    max_parallel: Annotated[
        int | None, typer.Option(min=1, help="Most jobs that are queued or run at once. Default: no bound.")
    ] = None,
    goal: Annotated[Goal | None, typer.Option(help="Whether the highest objective is the best, or the lowest.")] = None,
) -> None:
    """Make a group without jobs, and print its id. `proximal jobs submit --group` adds jobs to it."""
    with context.obj.client() as client:
        made = client.create_group(name, metric, max_parallel, goal)
    context.obj.printer.item(made, plain(made["id"]))


@app.command()
def show(
    context: typer.Context,
    group_id: GroupId,
    metric: Annotated[str | None, typer.Option(help="Compare by this figure or metric.")] = None,
    goal: Annotated[Goal | None, typer.Option(help="Whether the highest or the lowest is the best.")] = None,
) -> None:
    """Show the jobs of a group or sweep, the best one first."""
    with context.obj.client() as client:
        print_jobs(client.get_group(group_id, metric=metric, goal=goal), context.obj.printer)


@app.command()
def cancel(context: typer.Context, group_id: GroupId) -> None:
    """Cancel all jobs of a group or sweep that have not ended."""
    with context.obj.client() as client:
        print_jobs(client.cancel_group(group_id), context.obj.printer)


def print_jobs(group: Group, printer: Printer) -> None:
    """Print the members of the group."""
    printer.items(group["jobs"], JOB_COLUMNS)
