"""The `proximal` command."""

import sys
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from client.commands import annotate, datasets, jobs, local
from client.errors import ClientError
from client.local.options import Options
from client.sdk import Client
from client.terminal import plain

app = typer.Typer(
    name="proximal",
    help="Self-hosted RLHF: SFT → reward model → PPO → evaluation, with live metrics.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(jobs.app, name="jobs")
app.add_typer(datasets.app, name="datasets")
app.add_typer(annotate.app, name="annotate")
app.add_typer(local.keys, name="keys")
app.command()(local.up)
app.command()(local.demo)

DEFAULT_URL = "http://127.0.0.1:8000"


@dataclass(frozen=True)
class Target:
    """The platform that a command connects to. Without options, it is the local platform of the data folder."""

    url: str | None = None
    key: str | None = None

    def client(self) -> Client:
        folder = Options().folder
        running = folder.running()
        local = running.url if running else DEFAULT_URL
        url = (self.url or local).rstrip("/")
        # The key in the data folder is only sent to the local platform.
        key = self.key or (folder.key() if url == local else None)
        if key is None:
            raise ClientError(
                f"No API key for {url}. Pass --key or set PROXIMAL_API_KEY. "
                "Only the platform that `proximal up` runs in this folder needs no key."
            )
        return Client(url, key)


@app.callback()
def target(
    context: typer.Context,
    url: Annotated[str | None, typer.Option(envvar="PROXIMAL_URL", help="Address of the platform.")] = None,
    key: Annotated[str | None, typer.Option(envvar="PROXIMAL_API_KEY", help="API key.", show_default=False)] = None,
) -> None:
    """Without --url and --key, commands connect to the platform that `proximal up` runs on this machine."""
    context.obj = Target(url, key)


def main() -> None:
    """Run the command. A ClientError is printed as a message and sets exit status 1."""
    try:
        app()
    except ClientError as error:
        message = Text.assemble(("error:", "red"), " ", plain(error))
        Console(stderr=True).print(message, soft_wrap=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
