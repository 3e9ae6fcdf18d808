"""The `proximal` command."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from client.commands import annotate, datasets, jobs, keys
from client.errors import ClientError
from client.target import Target
from client.terminal import plain

app = typer.Typer(
    name="proximal",
    help="Self-hosted RLHF: SFT → reward model → PPO → evaluation, watched live.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(jobs.app, name="jobs")
app.add_typer(datasets.app, name="datasets")
app.add_typer(annotate.app, name="annotate")
app.add_typer(keys.app, name="keys")

DataDir = Annotated[Path | None, typer.Option(help="Folder for the platform's data. Default: .proximal")]
Host = Annotated[str, typer.Option(help="Address to listen at.")]
Port = Annotated[int, typer.Option(min=1, max=65535, help="Port to listen at.")]


@app.callback()
def target(
    context: typer.Context,
    url: Annotated[str | None, typer.Option(envvar="PROXIMAL_URL", help="Address of the platform.")] = None,
    key: Annotated[str | None, typer.Option(envvar="PROXIMAL_API_KEY", help="API key.", show_default=False)] = None,
) -> None:
    """Without --url and --key: the platform that `proximal up` runs on this machine."""
    context.obj = Target(url, key)


@app.command()
def up(
    data_dir: DataDir = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    workers: Annotated[int, typer.Option(min=0, help="How many jobs run at a time.")] = 1,
) -> None:
    """Run the whole platform here: PostgreSQL, Redis, API, worker, data worker, sweeper. Ctrl-C stops it.

    DATABASE_URL and REDIS_URL, where set, replace the embedded servers. Jobs may read local models from the folder `models`
    beside the data folder, which this command makes, and from the folders that PROXIMAL_LOCAL_MODELS lists.
    """
    from client.local.options import Options
    from client.local.platform import up as run

    run(Options(data_dir, host, port, workers), lambda line: print(line, flush=True))


@app.command()
def demo(
    exit_: Annotated[bool, typer.Option("--exit", help="End after the run: status 0 only if it learnt.")] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the run's figures to this file.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seeds the data and the run.")] = 0,
    data_dir: DataDir = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
) -> None:
    """Start the platform, run the demo job on it over REST, and show what it learnt. Ctrl-C stops everything."""
    from client.demo.story import tell
    from client.local.options import Options

    raise typer.Exit(tell(Options(data_dir, host, port), seed, json_file, leave=exit_))


def main() -> None:
    """Expected trouble becomes a message; the rest stays a traceback."""
    try:
        app()
    except ClientError as error:
        told = Text.assemble(("error:", "red"), " ", plain(error))
        Console(stderr=True).print(told, soft_wrap=True)
        sys.exit(1)
