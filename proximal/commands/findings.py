"""`proximal findings`: what the health rules and the warnings of runs found."""

from itertools import islice
from typing import Annotated, Any

import typer

from proximal.terminal import age

COLUMNS: dict[str, Any] = {
    "finding": lambda finding: f"{finding['severity']}: {finding['title']}",
    "job": lambda finding: finding["job_name"],
    "where": lambda finding: _where(finding),
    "reported": lambda finding: age(finding["last_at"]),
    "cause": lambda finding: finding["cause"],
}


def findings(  # one for each filter
    context: typer.Context,
    job: Annotated[str | None, typer.Option(help="Only findings of this job, job_….", show_default=False)] = None,
    severity: Annotated[list[str] | None, typer.Option(help="Only `warning` or `error`; may be repeated.")] = None,
    rule: Annotated[
        list[str] | None,
        typer.Option(help="Only this health rule, such as `clipfrac_zero`, or `message`; may be repeated."),
    ] = None,
    status: Annotated[list[str] | None, typer.Option(help="Only of jobs in this state; may be repeated.")] = None,
    archived: Annotated[bool, typer.Option(help="Findings of archived jobs instead of the others.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of findings.")] = 20,
) -> None:
    """List what the health rules and the warnings of all runs found, newest first."""
    wanted: dict[str, Any] = {"severity": severity, "rule": rule, "status": status}
    with context.obj.client() as client:
        found = client.list_findings(
            job=job, archived=archived, **{name: value or () for name, value in wanted.items()}
        )
        context.obj.printer.items(islice(found, limit), COLUMNS, below="job_id")


def _where(finding: Any) -> str:
    seed = "" if finding["seed"] is None else f"seed {finding['seed']} "
    place = "" if finding["step"] is None else f"{finding['stage']} step {finding['step']}"
    return (seed + place).strip()
