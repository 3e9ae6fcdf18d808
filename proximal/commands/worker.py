"""`proximal worker join` and `start`: this machine as a worker of a platform elsewhere."""

from pathlib import Path
from typing import Annotated

import typer

from proximal.commands.group import CommandGroup
from proximal.commands.local import DataDir, require_platform
from proximal.data_folder import DataFolder, default_folder

app = CommandGroup(help="This machine as a worker of a platform elsewhere.", no_args_is_help=True)
CheckOnly = Annotated[bool, typer.Option("--check", help="Only check this machine, and do not start the worker.")]


@app.command()
def join(
    context: typer.Context,
    url: Annotated[str, typer.Argument(help="Address of the platform.", show_default=False)],
    token: Annotated[
        str,
        typer.Option(envvar="PROXIMAL_WORKER_TOKEN", help="Token of `proximal workers token`.", show_default=False),
    ],
    name: Annotated[
        str, typer.Option(help="Name of this worker. Default: that of the machine.", show_default=False)
    ] = "",
    labels: Annotated[str, typer.Option(help="Labels of this worker, as `a100 zone=eu`.", show_default=False)] = "",
    data_dir: DataDir = None,
    check: CheckOnly = False,
) -> None:
    """Join a platform: get the worker's settings for a token, check this machine, and start the worker.

    The settings are kept in the data folder, with access for its owner only. `proximal worker start` uses them again.
    """
    require_platform("worker join")
    from proximal.local import joined

    own = {"PROXIMAL_WORKER_NAME": name, "PROXIMAL_LABELS": labels}
    folder = _folder(data_dir)
    joined.join(
        folder, url.rstrip("/"), token, {key: value for key, value in own.items() if value}, context.obj.printer.note
    )
    raise typer.Exit(joined.start(folder, context.obj.printer.note, check_only=check))


@app.command()
def start(context: typer.Context, data_dir: DataDir = None, check: CheckOnly = False) -> None:
    """Start the worker of a machine that has joined, after the same checks. Ctrl-C saves its job and stops it."""
    require_platform("worker start")
    from proximal.local import joined

    raise typer.Exit(joined.start(_folder(data_dir), context.obj.printer.note, check_only=check))


def _folder(path: Path | None) -> DataFolder:
    return default_folder() if path is None else DataFolder(path)
