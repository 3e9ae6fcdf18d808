"""The `proximal` command."""

import sys
import typing
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from proximal.commands import backups, local
from proximal.commands.findings import findings
from proximal.commands.group import LazyGroup, with_output_options
from proximal.commands.usage import usage
from proximal.errors import ClientError
from proximal.terminal import Output, Printer

if typing.TYPE_CHECKING:
    from proximal.sdk import Client

DEFAULT_URL = "http://127.0.0.1:8000"
GROUPS = {
    "jobs": "Submit, follow and control jobs.",
    "datasets": "Upload, inspect, archive and delete datasets.",
    "annotate": "Annotation rounds: people compare completions, and a job continues from their answers.",
    "templates": "Partial specs under a name, from which jobs are submitted.",
    "sweeps": "Jobs that differ in a few fields of the spec.",
    "groups": "Jobs that are compared and cancelled together.",
    "webhooks": "Addresses that receive events of the project.",
    "audit": "The audit log: who changed or read what. For admins of the project.",
    "workers": "The workers that run jobs.",
    "keys": "API keys: make, replace and revoke them.",
    "members": "The members of the project, and their roles.",
    "admin": "All projects of the platform. Needs an operator's key.",
    "worker": "This machine as a worker of a platform elsewhere.",
}
"""The groups of commands over REST, with their help texts. The module `proximal.commands.<name>` has the commands."""
EXIT_STATUSES = (
    "Exit status 0: success. 1: the platform refused, or another error. 2: wrong usage. 3: the platform cannot be reached. "
    "4: the job that was followed failed. 5: it was cancelled or paused. 6: a file was not imported, because it is unclear "
    "how to read it. 7: a dataset is blocked by findings. 130: interrupted by Ctrl-C."
)


class Root(LazyGroup):
    """The command `proximal`."""

    modules: typing.ClassVar[dict[str, str]] = {name: f"proximal.commands.{name}" for name in GROUPS}


app = typer.Typer(
    name="proximal",
    cls=Root,
    help="Self-hosted RLHF: SFT → reward model → PPO → evaluation, with live metrics.",
    epilog=EXIT_STATUSES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for _name, _help in GROUPS.items():
    app.add_typer(typer.Typer(help=_help), name=_name)
app.command()(local.up)
app.command("open")(local.open_)
app.command()(local.demo)
app.command()(with_output_options(findings))
app.command()(with_output_options(usage))
app.command()(with_output_options(local.doctor))
app.command()(with_output_options(backups.backup))
app.command()(with_output_options(backups.restore))


@dataclass
class Target:
    """The platform that a command connects to, and the format of its results.

    Without `url` and `key`, it is the local platform of the data folder.
    """

    url: str | None = None
    key: str | None = None
    output: Output = Output.TABLE
    quiet: bool = False

    def choose_output(self, output: Output | None, *, quiet: bool) -> None:
        """Apply the options of a command. They take precedence over those before it."""
        self.output, self.quiet = output or self.output, quiet or self.quiet

    @property
    def printer(self) -> Printer:
        return Printer(self.output, quiet=self.quiet)

    def client(self) -> "Client":
        """A connection. Raises ClientError without a key."""
        from proximal.data_folder import default_folder
        from proximal.sdk import Client

        folder = default_folder()
        running = folder.running()
        local_url = running.url if running else DEFAULT_URL
        url = (self.url or local_url).rstrip("/")
        # The key in the data folder is only sent to the local platform.
        key = self.key or (folder.key() if url == local_url else None)
        if key is None:
            raise ClientError(
                f"No API key for {url}. Pass --key or set PROXIMAL_API_KEY. "
                "Only the platform that `proximal up` runs in this folder needs no key."
            )
        return Client(url, key)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib import metadata

        typer.echo(f"proximal {metadata.version('proximal-rlhf-client')}")
        raise typer.Exit


@app.callback()
def target(
    context: typer.Context,
    url: Annotated[str | None, typer.Option(envvar="PROXIMAL_URL", help="Address of the platform.")] = None,
    key: Annotated[str | None, typer.Option(envvar="PROXIMAL_API_KEY", help="API key.", show_default=False)] = None,
    output: Annotated[Output, typer.Option(envvar="PROXIMAL_OUTPUT", help="How to print results.")] = Output.TABLE,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print ids only, and no progress.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Without --url and --key, commands connect to the platform that `proximal up` runs on this machine."""
    context.obj = Target(url, key, output, quiet)


def whole_command() -> Any:
    """The command with every group imported, for the reference documentation and for tests."""
    command = typer.main.get_command(app)
    assert isinstance(command, Root)
    for name in GROUPS:
        command.add_command(command.load(name), name)
    return command


def main() -> None:
    """Run the command. A ClientError is printed as a message and sets the exit status of its kind."""
    try:
        app()
    except ClientError as error:
        from rich.console import Console
        from rich.text import Text

        from proximal.terminal import plain

        message = Text.assemble(("error:", "red"), " ", plain(error))
        Console(stderr=True).print(message, soft_wrap=True)
        sys.exit(error.exit_status)


if __name__ == "__main__":
    main()
