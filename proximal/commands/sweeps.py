"""`proximal sweeps …`"""

from pathlib import Path
from typing import Annotated, Any

import typer

from proximal.commands.group import CommandGroup
from proximal.commands.groups import JOB_COLUMNS, print_jobs
from proximal.commands.job_changes import Force, Preemptible, Priority
from proximal.sdk.spec_files import read_spec, with_uploads
from proximal.terminal import Printer

app = CommandGroup(help="Jobs that differ in a few fields of the spec.", no_args_is_help=True)
SweepFile = Annotated[Path, typer.Argument(help="TOML or JSON file with `spec` and `parameters`.")]
PLAN_COLUMNS: dict[str, Any] = {
    "number": lambda job: job["number"],
    "name": lambda job: job["name"],
    "values": JOB_COLUMNS["values"],
}


@app.command()
def validate(context: typer.Context, sweep: SweepFile) -> None:
    """List the jobs that a sweep would make, and submit none. No dataset is looked up or uploaded."""
    with context.obj.client() as client:
        context.obj.printer.items(client.validate_sweep(**read_spec(sweep))["jobs"], PLAN_COLUMNS, key=None)


@app.command()
def submit(
    context: typer.Context,
    sweep: SweepFile,
    force: Force = False,
    priority: Priority = "normal",
    preemptible: Preemptible = False,
) -> None:
    """Submit the jobs of a sweep as a group, and print them. Data files that its spec names are uploaded.

    `proximal groups show` and `cancel` take the id of the group.
    """
    printer: Printer = context.obj.printer
    body = read_spec(sweep)
    with context.obj.client() as client:
        body["spec"] = with_uploads(client, body.get("spec", {}), sweep.parent)
        options: dict[str, Any] = {"priority": priority, "preemptible": preemptible or None}
        group = client.create_sweep(**body, force=force or None, **options)
    printer.note(group["id"])
    print_jobs(group, printer)
