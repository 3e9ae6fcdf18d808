"""Options that commands share, and groups of commands: every command takes `--output` and `--quiet`, and a group is imported when it is used."""

import functools
import importlib
import inspect
import typing
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from proximal.errors import ClientError
from proximal.terminal import Output

Function = Callable[..., Any]
IfMatch = Annotated[
    str | None,
    typer.Option(
        help="The `etag` that you have read. The command changes nothing if the object has changed since.",
        show_default=False,
    ),
]
_OUTPUT_HELP = "How to print results: `table` for people, `json` for programs. Default: table."
_QUIET_HELP = "Print ids only, and no progress."


def day_or_time(option: str, text: str) -> str:
    """The time in ISO 8601. A time without a zone is in the zone of this machine. Raises ClientError with the option's name."""
    try:
        return datetime.fromisoformat(text).astimezone().isoformat()
    except ValueError as error:
        raise ClientError(f"{option} {text}: write 2027-01-31 or 2027-01-31T18:00.") from error


class CommandGroup(typer.Typer):
    """A Typer application whose commands have the options `--output` and `--quiet`.

    The first parameter of every command is the `typer.Context`; its `obj.printer` follows the options.
    """

    def command(self, name: str | None = None, **options: Any) -> Callable[[Function], Function]:  # type: ignore[override]
        register = super().command(name, **options)

        def decorate(function: Function) -> Function:
            register(with_output_options(function))
            return function

        return decorate


def with_output_options(function: Function) -> Function:
    """The function with the options `--output` and `--quiet`, which are applied before it runs."""

    @functools.wraps(function)
    def run(
        context: typer.Context, *arguments: Any, output: Output | None = None, quiet: bool = False, **options: Any
    ) -> Any:
        context.obj.choose_output(output, quiet=quiet)
        return function(context, *arguments, **options)

    extra = {
        "output": Annotated[Output | None, typer.Option(help=_OUTPUT_HELP, show_default=False)],
        "quiet": Annotated[bool, typer.Option("--quiet", "-q", help=_QUIET_HELP)],
    }
    defaults = {"output": None, "quiet": False}
    shown = inspect.signature(function, eval_str=True)
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name], annotation=kind)
        for name, kind in extra.items()
    ]
    run.__signature__ = shown.replace(parameters=[*shown.parameters.values(), *added])  # type: ignore[attr-defined]
    run.__annotations__ = typing.get_type_hints(function, include_extras=True) | extra
    return run


class LazyGroup(TyperGroup):
    """A group that imports a subcommand's module when the subcommand runs, so that `--help` needs none of them.

    The subcommands are registered as empty groups with their help texts. `modules` maps their names to the modules
    that hold the real groups, each as `app`.
    """

    modules: typing.ClassVar[dict[str, str]] = {}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        if name in self.modules:
            command = self.load(name)
        return name, command, rest

    def load(self, name: str) -> Any:
        """The real group of a subcommand."""
        group = typer.main.get_group(importlib.import_module(self.modules[name]).app)
        group.name = name
        return group
