"""`proximal jobs notes …`: notes of people on the completions of a run."""

from itertools import islice
from typing import Annotated, Any

import typer

from proximal.commands.group import CommandGroup
from proximal.commands.job_changes import JobId
from proximal.commands.job_metrics import Stage
from proximal.sdk.types import SampleNote
from proximal.terminal import age, plain

app = CommandGroup(help="List, write and delete notes on the completions of a run.", no_args_is_help=True)
COLUMNS: dict[str, Any] = {
    "completion": lambda note: _place(note),
    "note": lambda note: note["text"],
    "author": lambda note: note["author"],
    "changed": lambda note: age(note["updated_at"]),
    "response": lambda note: note["completion"]["response"].strip()[:60],
}


@app.command("list")
def list_(
    context: typer.Context,
    job_id: JobId,
    stage: Annotated[Stage | None, typer.Option(help="Only this stage.", show_default=False)] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Only this seed.", show_default=False)] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of notes.")] = 20,
) -> None:
    """List the notes on completions of a job, newest first. `replaced`: the step ran again and has another completion there."""
    with context.obj.client() as client:
        found = client.list_sample_notes(job_id, stage=stage, seed=seed)
        context.obj.printer.items(islice(found, limit), COLUMNS)


@app.command()
def write(
    context: typer.Context,
    job_id: JobId,
    completion: Annotated[
        str, typer.Argument(help="Stage, step and index of the completion, as ppo.120.3.", show_default=False)
    ],
    text: Annotated[str, typer.Argument(help="The note: plain text of at most 2,000 characters.", show_default=False)],
    author: Annotated[str | None, typer.Option(help="Name of the author.", show_default=False)] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="The seed, in a job with several.", show_default=False)
    ] = None,
) -> None:
    """Write a note on a completion, in place of the one that it has, and print its id."""
    with context.obj.client() as client:
        note = client.write_sample_note(job_id, completion, text, author, seed=seed)
    context.obj.printer.item(note, plain(note["id"]))


@app.command()
def delete(
    context: typer.Context,
    job_id: JobId,
    note_id: Annotated[str, typer.Argument(help="The note's id, note_…", show_default=False)],
) -> None:
    """Delete a note. The completion stays."""
    with context.obj.client() as client:
        client.delete_sample_note(job_id, note_id)
    context.obj.printer.item({"id": note_id, "deleted": True}, plain(f"{note_id}  deleted"))


def _place(note: SampleNote) -> str:
    one = note["completion"]
    seed = "" if one["seed"] is None else f" seed {one['seed']}"
    return f"{one['stage']}.{one['step']}.{one['index']}{seed}{' (replaced)' if note['replaced'] else ''}"
