"""`proximal backup` and `proximal restore`. The bodies import what they need: the platform is a distribution of its own."""

import typing
from pathlib import Path
from typing import Annotated, Any

import typer

from proximal.commands.local import DataDir, require_platform

if typing.TYPE_CHECKING:
    from proximal.local.backups import Manifest

_GIB = 2**30
_COLUMNS: dict[str, Any] = {"part": lambda one: one["part"], "count": lambda one: one["count"]}


def backup(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="Folder of the backup: empty, or an earlier one.", show_default=False)],
    check: Annotated[
        bool, typer.Option("--check", help="Only verify the backup in the folder: read all its files.")
    ] = False,
    data_dir: DataDir = None,
) -> None:
    """Write the database and the blobs of the platform to a folder. The platform may run, and its jobs go on.

    A second backup to the same folder copies new blobs only. Exit with 1 if a blob is missing or damaged: the rest is backed up.
    """
    require_platform("backup")
    from proximal.local import backups
    from proximal.local.options import Options

    note = context.obj.printer.note
    made = backups.check(folder, note) if check else backups.backup(Options(data_dir), folder, note)
    _show(context, made)
    for fault in made.faults:
        note(fault)
    raise typer.Exit(1 if made.faults else 0)


def restore(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="Folder of the backup.", show_default=False)],
    data_dir: DataDir = None,
) -> None:
    """Make a platform from a backup, in an empty data folder, or in an empty DATABASE_URL and blob store.

    Everything is verified before anything is written. Jobs that ran or waited are paused: `proximal jobs resume` continues them.
    """
    require_platform("restore")
    from proximal.local import backups
    from proximal.local.options import Options

    made, paused = backups.restore(Options(data_dir), folder, context.obj.printer.note)
    _show(context, made, {"part": "jobs paused", "count": paused})


def _show(context: typer.Context, made: "Manifest", *more: dict[str, Any]) -> None:
    """Print the rows of each table, and the blobs with their size."""
    rows = [{"part": name, "count": table.rows} for name, table in made.tables.items()]
    blobs = {"part": f"blobs ({made.blob_bytes / _GIB:.3g} GiB)", "count": len(made.blobs), "bytes": made.blob_bytes}
    context.obj.printer.items([*rows, blobs, *more], _COLUMNS, key=None)
