"""`proximal jobs …`"""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from client.sdk.spec_files import read_spec, with_uploads
from client.sdk.types import JobEvent, JobSummary
from client.terminal import facts, list_of, moment, plain

app = typer.Typer(help="Submit, show and cancel jobs.", no_args_is_help=True)
JobId = Annotated[str, typer.Argument(help="The job's id, job_…", show_default=False)]
console = Console(highlight=False)


@app.command()
def submit(
    context: typer.Context,
    spec: Annotated[Path, typer.Argument(help="TOML or JSON file. Data files that it names are uploaded.")],
    follow: Annotated[bool, typer.Option(help="Show the job's log until it ends.")] = False,
) -> None:
    """Submit a job."""
    with context.obj.client() as client:
        job = client.create_job(with_uploads(client, read_spec(spec), spec.parent))
        console.print(job["id"])
        if follow:
            _print_events(client.stream_job_events(job["id"]))


@app.command("list")
def list_(
    context: typer.Context,
    status: Annotated[list[str] | None, typer.Option(help="Only jobs in this state; may be repeated.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of jobs.")] = 20,
) -> None:
    """List jobs, newest first."""
    table = list_of("name", "status", "progress", "created")
    with context.obj.client() as client:
        for job, _ in zip(client.list_jobs(status or ()), range(limit), strict=False):
            table.add_row(job["id"], plain(job["name"]), job["status"], _progress(job), moment(job["created_at"]))
    console.print(table)


@app.command()
def show(context: typer.Context, job_id: JobId) -> None:
    """Show one job: its status, its progress and its results."""
    with context.obj.client() as client:
        job = client.get_job(job_id)
    names = ("id", "name", "status", "status_reason", "queue_reason", "attempt", "created_at", "finished_at")
    rows = [(name, job[name]) for name in names if job[name] is not None]
    rows.append(("progress", _progress(job)))
    rows += [(key, f"{value:.4g}") for key, value in (job["summary"] or {}).items()]
    console.print(facts(rows), soft_wrap=True)
    if job["error"]:
        console.print(Text.assemble((job["error"]["code"], "red"), ": ", plain(job["error"]["message"])))


@app.command()
def cancel(context: typer.Context, job_id: JobId) -> None:
    """Cancel a job."""
    with context.obj.client() as client:
        console.print(client.cancel_job(job_id)["status"])


@app.command()
def logs(
    context: typer.Context,
    job_id: JobId,
    follow: Annotated[bool, typer.Option(help="Print new events until the job ends.")] = False,
) -> None:
    """Print the events of a job."""
    with context.obj.client() as client:
        _print_events(client.stream_job_events(job_id) if follow else client.list_job_events(job_id))


def _progress(job: JobSummary) -> str:
    progress = job["progress"]
    if progress is None:
        return job["queue_reason"] or ""
    return f"{progress['fraction']:.0%}, {progress['stage']} {progress['step']}/{progress['total_steps']}"


def _print_events(events: Iterable[JobEvent]) -> None:
    for event in events:
        where = " ".join(str(part) for part in (event["stage"], event["step"]) if part is not None)
        line = f"{event['created_at'][:19]} {event['type']:<16} {where:<16} {_in_words(event)}"
        console.print(plain(line), soft_wrap=True)


def _in_words(event: JobEvent) -> str:
    """A summary of an event in one line."""
    if event["type"] == "status_changed":
        return f"{event['data']['to']}: {event['data']['reason']}"
    if event["type"] == "metrics":
        return " ".join(f"{name}={value:.4g}" for name, value in event["data"]["values"].items())
    if event["type"] == "stage_finished" or event["type"] == "run_finished":
        figures = " ".join(f"{name}={value:.4g}" for name, value in event["data"].get("summary", {}).items())
        return f"{event['data']['seconds']:.1f} s {figures}"
    if event["type"] == "samples":
        return f"{len(event['data']['rows'])} completions"
    if event["type"] == "health":
        data = event["data"]
        return f"{data['rule']} ({data['action']}): {data['cause']} {data['suggestion']}"
    if event["type"] == "rolled_back":
        factor = event["data"]["learning_rate_factor"]
        return f"back to step {event['data']['to_step']}, learning rates × {factor:g}"
    if event["type"] == "seed_finished":
        seed = event["data"]
        return f"seed {seed['seed']} ({seed['number']} of {seed['of']}) {seed.get('why') or 'done'}"
    if event["type"] == "report_card":
        card = event["data"]["card"]
        unit = "thumbs" if card.get("loss") == "pointwise" else "pairs"
        return f"accuracy={card['overall']['accuracy']:.4g} on {card['overall']['pairs']} held-out {unit}"
    if event["type"] == "curve":
        return f"{len(event['data']['points'])} evaluations"
    names = ("text", "message", "path", "reason")
    return " ".join(str(value) for name, value in event["data"].items() if name in names and value)
