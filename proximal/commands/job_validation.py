"""`proximal jobs validate`: check a job without submitting it."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from proximal.commands.job_changes import Changes, FromTemplate, SpecFile, given_spec
from proximal.commands.templates import template_id
from proximal.errors import ApiError, ClientError
from proximal.sdk import Client
from proximal.sdk.nulls import merge_patch
from proximal.sdk.types import JobFinding, MemoryReport, RunTime, Validation, ValidationResult
from proximal.terminal import Printer, plain

_COLOURS = {"blocking": "red", "warning": "yellow", "info": "blue"}
_GIB = 2**30


class Blocked(ClientError):
    """The checked job would be refused, because it cannot train."""


def validate(
    context: typer.Context,
    spec: SpecFile = None,
    changes: Changes = None,
    template: FromTemplate = None,
    refresh: Annotated[bool, typer.Option(help="Check again, although this spec was checked before.")] = False,
) -> None:
    """Check a job without submitting it, from a file, a template or both: findings, steps, memory and expected time. Exit with 1 if a finding is blocking. Ctrl-C cancels the check."""
    printer: Printer = context.obj.printer
    with context.obj.client() as client:
        given = given_spec(client, spec, changes or (), template)
        if template is not None:
            given = merge_patch(client.get_template(template_id(client, template))["spec"], given)
        made = client.validate_job(given, refresh=refresh or None)
        try:
            made = _finished(client, made, printer)
        except KeyboardInterrupt:
            _cancel(client, made)
            raise
    printer.item(made, *_parts(made))
    blocking = sum(finding["severity"] == "blocking" for finding in made["result"]["findings"])
    if blocking:
        count = f"{blocking} blocking finding{'s' * (blocking != 1)}"
        raise Blocked(f"{count}: the platform refuses this job. `proximal jobs submit --force` submits it anyway.")


def _cancel(client: Client, made: Validation) -> None:
    """Cancel the check that the user no longer waits for. One that has ended meanwhile stays as it is."""
    try:
        client.cancel_validation(made["id"])
    except ApiError as error:
        if error.code != "task_ended":
            raise


def _finished(client: Client, made: Validation, printer: Printer) -> Any:
    """The finished validation. Raises ClientError if the check itself failed."""
    with printer.progress.status("waiting for a data worker") as line:

        def show(now: Validation) -> None:
            if now["progress"] is not None:
                line.update(plain(f"{now['progress']['note'] or 'waiting for a data worker'}"))

        made = client.finished_validation(made, show)
    if made["result"] is None:
        why = made["error"]["message"] if made["error"] else made["status"]
        raise ClientError(f"The job could not be checked: {why}")
    return made


def _parts(made: Any) -> Iterator[RenderableType]:
    """The validation for people: stages with their times, memory, findings."""
    result, time = made["result"], made["time"]
    if result["stages"]:
        yield _stages(result, time)
    yield plain(_time_in_words(time))
    if result["memory"] is not None:
        yield from _memory(result["memory"])
    for finding in result["findings"]:
        yield _finding(finding)
    if not result["findings"]:
        yield plain("No findings.")


def _stages(result: ValidationResult, time: RunTime) -> Table:
    table = Table("stage", "steps", "tokens", "sampled tokens", "seconds per step", "time")
    for stage, expected in zip(result["stages"], time["stages"], strict=True):
        per_step, seconds = expected["seconds_per_step"], expected["seconds"]
        figures = [f"{stage['steps']:,}", f"{stage['tokens']:,}", f"{stage.get('generated', 0):,}"]
        table.add_row(
            stage["stage"],
            *figures,
            "unknown" if per_step is None else f"{per_step:.3g}",
            "unknown" if seconds is None else _duration(seconds),
        )
    return table


def _time_in_words(time: RunTime) -> str:
    if time["seconds"] is None or time["gpu_hours"] is None:
        return f"Expected time: unknown. {time['reason']}"
    jobs = {job for stage in time["stages"] for job in stage["jobs"]}
    based = f"{len(jobs)} earlier run{'s' * (len(jobs) != 1)} on {time['device']}"
    return f"Expected time: {_duration(time['seconds'])}, {time['gpu_hours']:.3g} GPU-hours, by {based}."


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


def _memory(memory: MemoryReport) -> Iterator[RenderableType]:
    available = memory.get("available")
    have = "unknown" if available is None else f"{available / _GIB:.3g} GiB"
    yield plain(f"Memory of each process in GiB. Available on {memory['device']}: {have}.")
    table = Table("phase", "low", "expected", "high")
    for phase in memory["phases"]:
        sizes = (phase["low"], phase["expected"], phase["high"])
        table.add_row(phase["phase"], *(f"{size / _GIB:.3g}" for size in sizes))
    yield table


def _finding(finding: JobFinding) -> Text:
    line = Text.assemble((finding["severity"], _COLOURS[finding["severity"]]), "  ")
    line.append_text(plain(f"{finding['pointer']}: {finding['detail']}"))
    return line.append_text(plain(f" {finding['advice']}")) if finding["advice"] else line
