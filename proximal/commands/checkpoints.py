"""`proximal jobs checkpoints|download`: list the stored models of a job, and download one."""

from pathlib import Path
from typing import Annotated, Any

import typer

from proximal.commands.job_changes import JobId
from proximal.errors import ClientError
from proximal.sdk import Client
from proximal.sdk.checkpoint_files import save_checkpoint
from proximal.sdk.types import Checkpoint
from proximal.terminal import Printer, plain

_POLICIES = ("ppo", "kto", "dpo", "sft")
_GIB = 2**30
COLUMNS: dict[str, Any] = {
    "stage": lambda one: one["stage"],
    "step": lambda one: one["step"],
    "seed": lambda one: "" if one["seed"] is None else one["seed"],
    "kind": lambda one: "result" if one["final"] else "best" if one["best"] else "state",
    "branch": lambda one: "yes" if one["can_branch"] else "no",
    "GiB": lambda one: f"{one['bytes'] / _GIB:.3g}",
    "damage": lambda one: one["damage"] or "",
}


def checkpoints(context: typer.Context, job_id: JobId) -> None:
    """List the stored models of a job, and say which a branch can start from and which are damaged."""
    with context.obj.client() as client:
        context.obj.printer.items(client.list_job_checkpoints(job_id), COLUMNS)


def download(
    context: typer.Context,
    job_id: JobId,
    checkpoint: Annotated[
        str | None,
        typer.Option(help="Id of the checkpoint. Left out: the result of the last stage that trains a policy."),
    ] = None,
    to: Annotated[
        Path | None, typer.Option(help="The folder to write. Left out: a new one, named by the job, stage and step.")
    ] = None,
) -> None:
    """Download a trained model: a folder that transformers loads. The SHA-256 of each file that arrives is verified.

    Files that are already in the folder, with the right SHA-256, are not downloaded again.
    """
    printer: Printer = context.obj.printer
    with context.obj.client() as client:
        chosen = _chosen(client, job_id, checkpoint)
        folder = to or Path(f"{job_id}-{chosen['stage']}-{chosen['step']:06d}")
        printer.note(f"{chosen['stage']} step {chosen['step']}, {chosen['bytes'] / _GIB:.3g} GiB, to {folder}")
        save_checkpoint(client, chosen, folder)
    printer.item({"checkpoint": chosen["id"], "folder": str(folder)}, plain(folder), key="folder")


def _chosen(client: Client, job_id: str, checkpoint_id: str | None) -> Checkpoint:
    """The checkpoint to download. Raises ClientError if the job has none that fits."""
    found = list(client.list_job_checkpoints(job_id))
    if checkpoint_id is not None:
        for one in found:
            if one["id"] == checkpoint_id:
                return one
        raise ClientError(
            f"{job_id} has no checkpoint {checkpoint_id}. `proximal jobs checkpoints {job_id}` lists them."
        )
    finals = [one for one in found if one["final"] and one["stage"] in _POLICIES]
    if not finals:
        raise ClientError(
            f"{job_id} has no result of a stage that trains a policy. `proximal jobs checkpoints {job_id}` lists what it has. "
            "Choose one with --checkpoint."
        )
    return min(finals, key=lambda one: (_POLICIES.index(one["stage"]), one["seed"] is not None, one["seed"] or 0))
