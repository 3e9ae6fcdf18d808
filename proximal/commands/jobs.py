"""`proximal jobs …`"""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from typing import Annotated, Any

import typer

from proximal.commands import (
    checkpoints,
    job_changes,
    job_metrics,
    job_set,
    job_telemetry,
    job_validation,
    sample_notes,
)
from proximal.commands.group import CommandGroup
from proximal.commands.job_changes import Changes, FromTemplate, JobId, Preemptible, Priority, SpecFile, given_spec
from proximal.commands.templates import template_id
from proximal.commands.watch import until_waiting, watch_job
from proximal.errors import JobNotSucceeded
from proximal.sdk import Client
from proximal.sdk.job_logs import LogFilter
from proximal.sdk.types import CriticCardEvent, Job, JobEvent, JobLogLine, JobSummary, ReportCardEvent
from proximal.terminal import Printer, age, facts, moment, plain, with_sorted

app = CommandGroup(help="Submit, follow and control jobs.", no_args_is_help=True)
for action in job_changes.action_commands():
    app.command()(action)
app.command()(job_validation.validate)
app.command("set")(job_set.set_)
app.command()(job_telemetry.telemetry)
app.command()(job_metrics.metrics)
app.command("checkpoints")(checkpoints.checkpoints)
app.command()(checkpoints.download)
app.add_typer(sample_notes.app, name="notes")
COLUMNS: dict[str, Any] = {
    "name": lambda job: job["name"],
    "status": lambda job: job["status"],
    "progress": lambda job: _progress(job),
    "created": lambda job: age(job["created_at"]),
}
SORTED_COLUMNS: dict[str, Any] = {
    "model": lambda job: job["model"],
    "reward": lambda job: _figure(next(iter(job["reward_sparkline"][-1:]), None)),
    "kl": lambda job: _result(job, "kl") or _figure(job["latest_metrics"].get("objective/kl")),
    "win_rate": lambda job: _result(job, "win_rate"),
    "judge": lambda job: _result(job, "judge_after"),
    "group": lambda job: job["group"] and f"{job['group']['group_id']} run {job['group']['number']}",
    "ended": lambda job: job["finished_at"] and age(job["finished_at"]),
    "duration": lambda job: job["started_at"] and _duration(job["started_at"], job["finished_at"]),
    "gpu_hours": lambda job: _figure(job["gpu_hours"]),
    "submitted_by": lambda job: job["submitted_by"],
    "health": lambda job: job["health"] and f"{job['health']['severity']}: {job['health']['title']}",
}
"""Columns that are printed where the list is sorted by them."""


@app.command()
def submit(  # noqa: PLR0913  # one for each option
    context: typer.Context,
    spec: SpecFile = None,
    changes: Changes = None,
    template: FromTemplate = None,
    group: Annotated[str | None, typer.Option(help="Id of the group that the job joins.", show_default=False)] = None,
    follow: Annotated[
        bool, typer.Option(help="Print the job's events until it ends. Exit with 4 if it fails, 5 if it is cancelled.")
    ] = False,
    force: Annotated[
        bool, typer.Option(help="Submit the job although `proximal jobs validate` has blocking findings.")
    ] = False,
    external_id: Annotated[
        str | None, typer.Option(help="An id of your choice. A second job with it is refused.", show_default=False)
    ] = None,
    priority: Priority = "normal",
    preemptible: Preemptible = False,
) -> None:
    """Submit a job from a file, from a template or from both, and print its id."""
    printer: Printer = context.obj.printer
    options: dict[str, Any] = {"group": group, "force": force or None, "external_id": external_id}
    options |= {"priority": priority, "preemptible": preemptible or None}
    with context.obj.client() as client:
        given = given_spec(client, spec, changes or (), template)
        if template is None:
            job = client.create_job(given, **options)
        else:
            job = client.create_job_from_template(template_id(client, template), patch=given, **options)
        if not follow:
            printer.item(job, plain(job["id"]))
            return
        printer.note(job["id"])
        _follow(client, job["id"], printer)


@app.command("list")
def list_(  # noqa: PLR0913  # one for each filter
    context: typer.Context,
    status: Annotated[list[str] | None, typer.Option(help="Only jobs in this state; may be repeated.")] = None,
    health: Annotated[
        list[str] | None,
        typer.Option(
            help="Only jobs whose gravest finding is `warning` or `error`, or that have `none`; may be repeated."
        ),
    ] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only jobs with this tag; may be repeated.")] = None,
    text: Annotated[str | None, typer.Option(help="Only jobs with these words in name, notes, tags or id.")] = None,
    model: Annotated[str | None, typer.Option(help="Only jobs that start from this model.")] = None,
    dataset: Annotated[str | None, typer.Option(help="Only jobs that read this dataset or version.")] = None,
    external_id: Annotated[str | None, typer.Option(help="Only the job with this external id.")] = None,
    parent: Annotated[str | None, typer.Option(help="Only jobs made from this job.")] = None,
    created_after: Annotated[
        datetime | None, typer.Option(help="Only jobs submitted after this time, by the clock of this machine.")
    ] = None,
    group: Annotated[str | None, typer.Option(help="Only jobs of this group.")] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            help="Only jobs that fulfil this condition, such as `spec:ppo.kl.coef>=0.1` or `metric:win_rate>0.6`; may be repeated."
        ),
    ] = None,
    show_: Annotated[
        list[str] | None,
        typer.Option(
            "--show", help="Print this column, too: `spec:` and a field, or `metric:` and a metric; may be repeated."
        ),
    ] = None,
    sort: Annotated[
        str,
        typer.Option(help="Sort by this column, such as `win_rate` or `spec:seed`; with `-` in front, highest first."),
    ] = "-created",
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of jobs.")] = 20,
) -> None:
    """List jobs, newest first unless sorted otherwise. All conditions must hold."""
    since = created_after and created_after.astimezone().isoformat()
    with context.obj.client() as client:
        found = client.list_jobs(
            status=status or (),
            health=health or (),
            tag=tag,
            text=text,
            model=model,
            dataset=dataset,
            external_id=external_id,
            parent=parent,
            created_after=since,
            group=group,
            where=where,
            show=(columns := _columns(show_ or (), sort)),
            sort=sort,
        )
        own = {name: partial(_shown, name) for name in columns}
        context.obj.printer.items(islice(found, limit), with_sorted(COLUMNS | own, SORTED_COLUMNS, sort))


def _columns(asked: Sequence[str], sort: str) -> list[str]:
    """The columns to request: those of `--show`, and the one by which the list is sorted."""
    by = sort.removeprefix("-")
    return list(dict.fromkeys([*asked, *([by] if ":" in by else [])]))


def _shown(name: str, job: JobSummary) -> str:
    value = job["shown"][name]
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else value if isinstance(value, str) else json.dumps(value)


@app.command()
def show(context: typer.Context, job_id: JobId) -> None:
    """Show one job: its status, its progress and its results."""
    with context.obj.client() as client:
        job = client.get_job(job_id)
    names = (
        "id",
        "name",
        "external_id",
        "status",
        "status_reason",
        "queue_reason",
        "attempt",
        "created_at",
        "finished_at",
        "metrics_thinned_at",
    )
    rows: list[tuple[str, object]] = [(name, job[name]) for name in names if job[name] is not None]
    rows += _origin_rows(job)
    if job["queue"] is not None:
        rows.append(("queue_position", job["queue"]["position"]))
        start = job["queue"]["expected_start"]
        rows += [("expected_start", f"{moment(start)} UTC")] if start else []
    rows += [("tags", ", ".join(job["tags"]))] if job["tags"] else []
    rows += [(f"metadata {key}", value) for key, value in job["metadata"].items()]
    rows += [("notes", job["notes"])] if job["notes"] else []
    if (progress := job["progress"]) is not None:
        step = job_metrics.steps_done(progress)
        seed = "" if progress["seed"] is None else f"seed {progress['seed']}, "
        rows.append(("progress", f"{progress['fraction']:.0%}, {seed}{step}"))
    rows += [(f"seed {one['seed']}", job_metrics.seed_result(one)) for one in job["seeds"]]
    rows += job_metrics.summary_rows(job)
    failure = [plain(f"{job['error']['code']}: {job['error']['message']}")] if job["error"] else []
    context.obj.printer.item(job, facts(rows), *failure)


@app.command()
def watch(context: typer.Context, job_id: JobId) -> None:
    """Show a job's charts and messages in the terminal until it ends. Ctrl-C leaves the job running.

    Exit with 4 if the job fails, 5 if it is cancelled or paused. Without a terminal, the events are printed as lines.
    """
    printer: Printer = context.obj.printer
    with context.obj.client() as client:
        if printer.draws:
            watch_job(client, job_id)
            _raise_without_success(client, job_id)
        else:
            _follow(client, job_id, printer)


@app.command()
def logs(
    context: typer.Context,
    job_id: JobId,
    follow: Annotated[bool, typer.Option(help="Print new lines until the job ends.")] = False,
    tail: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="Only the last lines, and those that follow.")
    ] = None,
    grep: Annotated[str | None, typer.Option(help="Only lines with this text. Case is ignored.")] = None,
    attempt: Annotated[int | None, typer.Option(min=1, help="Only this attempt.")] = None,
    rank: Annotated[int | None, typer.Option(min=0, help="Only this process of several.")] = None,
) -> None:
    """Print the console output of a job: the lines of the trainer, and those of the worker about the job."""
    with context.obj.client() as client:
        for line in client.logs(job_id, LogFilter(attempt, None, rank, grep), tail=tail, follow=follow):
            dropped = f"[{line['dropped_bytes']} bytes of output are not stored]\n" if line["dropped_bytes"] else ""
            context.obj.printer.line(line, f"{dropped}{_origin(line)}{line['text']}")


def _figure(value: float | None) -> str | None:
    return None if value is None else f"{value:.4g}"


def _result(job: JobSummary, name: str) -> str | None:
    """A figure of the result; with several seeds, their mean with their number."""
    summary = job["summary"] or {}
    figure = _figure(summary.get(name))
    if figure is None or "seeds" not in summary:
        return figure
    return f"{figure} (mean of {summary['seeds'] - summary.get('failed_seeds', 0):.0f} seeds)"


def _duration(start: str, end: str | None) -> str:
    """In hours, minutes and seconds; until now without an end."""
    until = datetime.fromisoformat(end) if end else datetime.now(UTC)
    return str(timedelta(seconds=int((until - datetime.fromisoformat(start)).total_seconds())))


def _origin_rows(job: Job) -> list[tuple[str, object]]:
    """The job that it was made from, the jobs made from it, and the names of what its spec names by id."""
    parent = job["parent"]
    rows: list[tuple[str, object]] = []
    if parent is not None:
        rows.append(("origin", f"{parent['text']} ({parent['job']})"))
    if job["children"]:
        counts = (f"{number} by {relation}" for relation, number in sorted(job["children"].items()))
        rows.append(("made from it", ", ".join(counts)))
    return rows + [(one["field"], f"{one['name'] or 'deleted'} ({one['id']})") for one in job["inputs"]]


def _origin(line: JobLogLine) -> str:
    if line["source"] == "worker":
        return "[worker] "
    return f"[rank {line['rank']}] " if line["rank"] else ""


@app.command()
def events(
    context: typer.Context,
    job_id: JobId,
    follow: Annotated[bool, typer.Option(help="Print new events until the job ends.")] = False,
) -> None:
    """Print the events of a job, one per line."""
    with context.obj.client() as client:
        if follow:
            _follow(client, job_id, context.obj.printer)
        else:
            _print_events(client.list_job_events(job_id), context.obj.printer)


def _progress(job: JobSummary) -> str:
    progress = job["progress"]
    if progress is None:
        return job["queue_reason"] or ""
    return "100%" if job["status"] == "succeeded" else f"{progress['fraction']:.0%}, {progress['stage']}"


def _follow(client: Client, job_id: str, printer: Printer) -> None:
    """Print events until the job has ended. Raises JobNotSucceeded."""
    _print_events(until_waiting(client, job_id), printer)
    _raise_without_success(client, job_id)


def _raise_without_success(client: Client, job_id: str) -> None:
    job = client.get_job(job_id)
    if job["status"] != "succeeded":
        raise JobNotSucceeded(job)


def _print_events(events: Iterable[JobEvent], printer: Printer) -> None:
    for event in events:
        seed = None if event["seed"] is None else f"seed {event['seed']}"
        where = " ".join(str(part) for part in (seed, event["stage"], event["step"]) if part is not None)
        printer.line(event, f"{event['created_at'][:19]} {event['type']:<16} {where:<16} {_in_words(event)}")


def _card_in_words(event: ReportCardEvent | CriticCardEvent) -> str:
    if event["type"] == "critic_card":
        critic = event["data"]["card"]
        figures = {"skill": critic.get("skill"), "explained_variance": critic.get("explained_variance")}
        shown = [f"{name}={value:.4g}" for name, value in figures.items() if value is not None]
        return " ".join([*shown, f"on {critic['tokens']} tokens"])
    card = event["data"]["card"]
    unit = {"pointwise": "thumbs", "stepwise": "steps"}.get(card.get("loss", ""), "pairs")
    return f"accuracy={card['overall']['accuracy']:.4g} on {card['overall']['pairs']} held-out {unit}"


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
        title = data.get("title") or data["rule"]  # events of older versions have no title
        return f"{title} ({data['action']}): {data['cause']} {data['suggestion']}"
    if event["type"] == "rolled_back":
        factor = event["data"]["learning_rate_factor"]
        return f"back to step {event['data']['to_step']}, learning rates × {factor:g}"
    if event["type"] == "seed_finished":
        seed = event["data"]
        return f"seed {seed['seed']} ({seed['number']} of {seed['of']}) {seed.get('why') or 'done'}"
    if event["type"] == "report_card" or event["type"] == "critic_card":
        return _card_in_words(event)
    if event["type"] == "curve":
        return f"{len(event['data']['points'])} evaluations"
    names = ("text", "message", "name", "to", "path", "reason")
    return " ".join(str(value) for name, value in event["data"].items() if name in names and value)
