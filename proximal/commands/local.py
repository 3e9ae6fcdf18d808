"""`proximal up`, `open`, `demo` and `doctor`: a platform on this machine. The bodies import what they need.

The platform, with `proximal.local` and `proximal.demo`, is a distribution of its own, which the client does not need.
"""

import importlib.util
import typing
from pathlib import Path
from typing import Annotated

import typer

from proximal.errors import ClientError

if typing.TYPE_CHECKING:
    from proximal.commands.doctor import Check
    from proximal.sdk import Client

DataDir = Annotated[Path | None, typer.Option(help="Folder for the platform's data. Default: .proximal")]
Host = Annotated[str, typer.Option(help="Address to listen at.")]
Port = Annotated[int, typer.Option(min=1, max=65535, help="Port to listen at.")]


class NotInstalled(ClientError):
    """Only the client is installed, and the command needs the platform. The exit status is that of a wrong usage."""

    exit_status = 2

    def __init__(self, command: str) -> None:
        super().__init__(
            f"`proximal {command}` needs the platform on this machine, and only the client is installed here. Install the "
            "platform from its repository with `make setup`, or send commands to a platform elsewhere with --url and --key."
        )


def require_platform(command: str) -> None:
    """Raise NotInstalled without the platform."""
    if importlib.util.find_spec("proximal.local") is None:
        raise NotInstalled(command)


def up(
    data_dir: DataDir = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    workers: Annotated[int, typer.Option(min=0, help="Number of workers. Each runs one job at a time.")] = 1,
) -> None:
    """Run the whole platform on this machine: PostgreSQL, Redis, API, worker, data worker, sweeper. Ctrl-C stops it.

    DATABASE_URL and REDIS_URL, if set, replace the embedded servers. This command makes the folder `models` beside the data
    folder. Jobs may read local models from it, and from the folders that PROXIMAL_LOCAL_MODELS lists.
    """
    require_platform("up")
    from proximal.local.options import Options
    from proximal.local.platform import up as run

    run(Options(data_dir, host, port, workers), lambda line: print(line, flush=True))


def open_(
    context: typer.Context,
    path: Annotated[str, typer.Argument(help="Page of the dashboard, such as jobs/job_….")] = "",
    browser: Annotated[bool, typer.Option(help="Open the link in a browser, not only print it.")] = True,
    data_dir: Annotated[
        Path | None, typer.Option(help="Data folder of the local platform to open, whatever --url and --key are.")
    ] = None,
) -> None:
    """Print a link that signs in to the dashboard, and open it in a browser. The link works once, for a few minutes."""
    import webbrowser

    from proximal.sdk import sign_in_link

    with context.obj.client() if data_dir is None else _running_on(data_dir) as client:
        link = sign_in_link(client, path)
    print(link, flush=True)
    if browser:
        webbrowser.open(link)


def _running_on(data_dir: Path) -> "Client":
    """A connection to the platform that runs on a data folder. Raises ClientError without one."""
    from proximal.data_folder import DataFolder
    from proximal.sdk import Client

    folder = DataFolder(data_dir)
    running, key = folder.running(), folder.key()
    if running is None or key is None:
        raise ClientError(f"No platform runs on {folder.path}. Start one with `proximal up --data-dir {folder.path}`.")
    return Client(running.url, key)


def demo(
    exit_: Annotated[
        bool, typer.Option("--exit", help="Exit after the run, with status 0 only if the model improved.")
    ] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the run's figures to this file.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the data and of the run.")] = 0,
    data_dir: DataDir = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
) -> None:
    """Start the platform, run the demo job over REST, and show its results. Ctrl-C stops everything."""
    require_platform("demo")
    from proximal.demo import run
    from proximal.local.options import Options

    raise typer.Exit(run(Options(data_dir, host, port), seed, json_file, leave=exit_))


def doctor(
    context: typer.Context,
    blobs: Annotated[
        bool,
        typer.Option(
            "--blobs",
            help="Also read every stored file of this platform, and compare its SHA-256. Damaged ones are marked and listed with "
            "what refers to them, and marks of restored ones are cleared.",
        ),
    ] = False,
) -> None:
    """Check the connection, the key, the platform's parts, its workers and this machine. Exit with 1 if a check fails."""
    from proximal.commands.doctor import checks

    found = checks(context.obj) + _launcher_checks()
    if blobs:
        require_platform("doctor --blobs")
        from proximal.local.blob_check import check_blobs
        from proximal.local.options import Options

        found += [
            {"check": name, "ok": ok, "detail": detail}
            for name, ok, detail in check_blobs(Options(), context.obj.printer.note)
        ]
    context.obj.printer.items(
        found,
        {
            "check": lambda one: one["check"],
            "state": lambda one: "ok" if one["ok"] else "failed",
            "detail": lambda one: one["detail"],
        },
        key=None,
    )
    raise typer.Exit(0 if all(one["ok"] for one in found) else 1)


def _launcher_checks() -> "list[Check]":
    """The checks of Slurm and Kubernetes where this machine has a worker for them."""
    if importlib.util.find_spec("proximal.local") is None:
        return []
    from proximal.local.launcher_checks import check_kubernetes, check_slurm

    found = [*check_slurm(), *check_kubernetes()]
    return [{"check": name, "ok": ok, "detail": detail} for name, ok, detail in found]
