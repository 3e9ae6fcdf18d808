"""`proximal jobs set`: live knobs of a running job, its name, tags, notes and metadata, and whether it may be preempted."""

from collections.abc import Sequence
from typing import Annotated, Any, get_args, get_type_hints

import typer

from proximal.commands.group import IfMatch
from proximal.commands.job_changes import JobId
from proximal.errors import ClientError
from proximal.sdk import Client
from proximal.sdk.types import JobKnob
from proximal.terminal import Printer, plain

KNOBS: tuple[str, ...] = get_args(get_type_hints(JobKnob)["name"])
"""The names of all knobs."""
KNOB_COLUMNS: dict[str, Any] = {
    "name": lambda knob: knob["name"],
    "value": lambda knob: "" if knob["value"] is None else f"{knob['value']:g}",
    "field": lambda knob: knob["field"],
    "unavailable because": lambda knob: knob["reason"] or "",
}
COMMAND_COLUMNS: dict[str, Any] = {
    "stage": lambda command: command["stage"],
    "name": lambda command: command["name"],
    "value": lambda command: "" if command["value"] is None else f"{command['value']:g}",
    "status": lambda command: command["status"],
}


def set_(  # noqa: PLR0913  # one for each option
    context: typer.Context,
    job_id: JobId,
    values: Annotated[
        list[str] | None, typer.Argument(help="New values of knobs, such as kl_coef=0.05 or learning_rate=1e-6.")
    ] = None,
    evaluate: Annotated[bool, typer.Option("--evaluate", help="Evaluate the policy after the next step.")] = False,
    checkpoint: Annotated[bool, typer.Option("--checkpoint", help="Save a checkpoint between two steps.")] = False,
    name: Annotated[str | None, typer.Option(help="The new name.", show_default=False)] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A tag to add; may be repeated.")] = None,
    untag: Annotated[list[str] | None, typer.Option(help="A tag to remove; may be repeated.")] = None,
    note: Annotated[str | None, typer.Option(help="The new notes.", show_default=False)] = None,
    metadata: Annotated[
        list[str] | None, typer.Option(help="A key and its value, as team=alignment; team= removes it.")
    ] = None,
    preemptible: Annotated[
        bool | None,
        typer.Option(
            "--preemptible/--no-preemptible",
            help="Let the platform pause it, saved, for a more urgent job, or not.",
            show_default=False,
        ),
    ] = None,
    if_match: IfMatch = None,
) -> None:
    """Change live knobs of a running job, or the name, tags, notes, metadata and preemptibility of any job.

    Without values and options, show the knobs that its stage has.
    """
    printer: Printer = context.obj.printer
    knobs: dict[str, Any] = dict(map(assignment, values or []))
    changes: dict[str, Any] = {"name": name, "notes": note, "metadata": pairs(metadata or ()) or None}
    changes["preemptible"] = preemptible
    changes = {field: value for field, value in changes.items() if value is not None}
    orders = bool(knobs or evaluate or checkpoint)
    with context.obj.client() as client:
        if if_match is not None and not (changes or tag or untag):
            raise ClientError("--if-match: knobs and requests have no ETag. Give a change of the job itself.")
        if tag or untag:
            changes["tags"] = _tags(client, job_id, tag or (), untag or ())
        if changes:
            job = client.change_job(job_id, **changes, if_match=if_match)
            if not orders:
                printer.item(job, plain(job["id"]))
        if orders:
            made = client.create_job_commands(job_id, **knobs, evaluate=evaluate or None, checkpoint=checkpoint or None)
            printer.items(made, COMMAND_COLUMNS)
        if not (changes or orders):
            printer.items(client.get_job_knobs(job_id)["knobs"], KNOB_COLUMNS, key=None)


def _tags(client: Client, job_id: str, added: Sequence[str], removed: Sequence[str]) -> list[str]:
    dropped = [" ".join(one.lower().split()) for one in removed]
    return [*(one for one in client.get_job(job_id)["tags"] if one not in dropped), *added]


def assignment(text: str) -> tuple[str, float]:
    """Raises BadParameter unless the text is NAME=NUMBER with the name of a knob."""
    name, _, value = text.partition("=")
    try:
        number = float(value)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not NAME=NUMBER, such as kl_coef=0.05.") from error
    if name not in KNOBS:
        raise typer.BadParameter(f"There is no knob {name!r}. The knobs are {', '.join(KNOBS)}.")
    return name, number


def pairs(given: Sequence[str]) -> dict[str, str | None]:
    """The metadata of `key=value` texts; None for an empty value. Raises ClientError for a text without `=`."""
    found: dict[str, str | None] = {}
    for text in given:
        key, separator, value = text.partition("=")
        if not separator:
            raise ClientError(f"--metadata {text}: give a key and its value, as team=alignment")
        found[key] = value or None
    return found
