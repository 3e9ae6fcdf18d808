"""`proximal up`, `proximal demo` and `proximal keys`: a platform on this machine."""

from pathlib import Path
from typing import Annotated

import typer

keys = typer.Typer(help="Make API keys for the local platform.", no_args_is_help=True)
DataDir = Annotated[Path | None, typer.Option(help="Folder for the platform's data. Default: .proximal")]
Host = Annotated[str, typer.Option(help="Address to listen at.")]
Port = Annotated[int, typer.Option(min=1, max=65535, help="Port to listen at.")]


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
    from client.local.options import Options
    from client.local.platform import up as run

    run(Options(data_dir, host, port, workers), lambda line: print(line, flush=True))


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
    from client.demo import run
    from client.local.options import Options

    raise typer.Exit(run(Options(data_dir, host, port), seed, json_file, leave=exit_))


@keys.command()
def create(
    name: Annotated[str, typer.Argument(help="Name of the key, such as its user.", show_default=False)],
    data_dir: Annotated[Path | None, typer.Option(help="The platform's data folder. Default: .proximal")] = None,
) -> None:
    """Create an API key in the database of the local platform, or of DATABASE_URL, and print it once."""
    from client.local.keys import create as create_key
    from client.local.options import Options

    print(create_key(Options(data_dir), name))
