"""`proximal jobs edit`: change what describes a job."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from client.commands.job_changes import JobId
from client.errors import ClientError
from client.terminal import plain


def edit(
    context: typer.Context,
    job_id: JobId,
    name: Annotated[str | None, typer.Option(help="The new name.", show_default=False)] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A tag to add; may be repeated.")] = None,
    untag: Annotated[list[str] | None, typer.Option(help="A tag to remove; may be repeated.")] = None,
    notes: Annotated[str | None, typer.Option(help="The new notes.", show_default=False)] = None,
    metadata: Annotated[
        list[str] | None, typer.Option(help="A key and its value, as team=alignment; team= removes it.")
    ] = None,
) -> None:
    """Change the name, tags, notes or metadata of a job, in any state."""
    changes: dict[str, Any] = {"name": name, "notes": notes, "metadata": pairs(metadata or ()) or None}
    changes = {field: value for field, value in changes.items() if value is not None}
    with context.obj.client() as client:
        if tag or untag:
            removed = [" ".join(one.lower().split()) for one in untag or ()]
            kept = [one for one in client.get_job(job_id)["tags"] if one not in removed]
            changes["tags"] = [*kept, *(tag or ())]
        job = client.change_job(job_id, **changes)
    context.obj.printer.item(job, plain(job["id"]))


def pairs(given: Sequence[str]) -> dict[str, str | None]:
    """The metadata of `key=value` texts; None for an empty value. Raises ClientError for a text without `=`."""
    found: dict[str, str | None] = {}
    for text in given:
        key, separator, value = text.partition("=")
        if not separator:
            raise ClientError(f"--metadata {text}: give a key and its value, as team=alignment")
        found[key] = value or None
    return found
