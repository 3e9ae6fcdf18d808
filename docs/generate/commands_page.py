"""`docs/reference/commands.md`: every command of `proximal` and of the packages, with its options."""

import argparse
from collections.abc import Iterator

import click
from schemas import one_line

INTRODUCTION = """\
# Commands

<!-- Written by docs/generate from proximal/, trainer/cli.py and core/: change it there, then run `make reference`. -->

`proximal` controls a platform over REST. `python -m trainer` runs a job without a platform. `python -m core` manages a platform's
database and keys. Every command prints this help with `--help`.
"""


def commands_page() -> str:
    # Imported here: other pages do not need the command line.
    import core.__main__
    import trainer.cli
    from proximal.cli import whole_command

    parts = [INTRODUCTION, "## `proximal`\n", *_click("proximal", whole_command())]
    for name, module in (("trainer", trainer.cli), ("core", core.__main__)):
        parts += [f"## `python -m {name}`\n", *_argparse(f"python -m {name}", module._parser())]
    return "\n".join(parts)


def _click(path: str, command: click.Command) -> Iterator[str]:
    """A command with its subcommands."""
    parameters = [one for one in command.params if one.name != "help"]
    rows = [_click_row(one) for one in parameters]
    yield _command(path, command.help or "", rows)
    for name, inner in getattr(command, "commands", {}).items():
        if not inner.hidden:
            yield from _click(f"{path} {name}", inner)


def _click_row(one: click.Parameter) -> str:
    names = ", ".join(f"`{name}`" for name in (*one.opts, *one.secondary_opts))
    if one.param_type_name == "argument":
        names = f"`{(one.name or '').upper()}`"
    default = one.default if not callable(one.default) and one.default not in (None, "", (), False) else None
    return _row(names, getattr(one, "help", None) or "", one.required, default)


def _argparse(path: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    rows, inner = [], {}
    texts: dict[str, str] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            inner = action.choices
            texts = {choice.dest: choice.help or "" for choice in action._choices_actions}
        elif not isinstance(action, argparse._HelpAction):
            rows.append(_argparse_row(action))
    yield _command(path, parser.description or "", rows)
    for name, sub in inner.items():
        sub.description = sub.description or texts.get(name)
        yield from _argparse(f"{path} {name}", sub)


def _argparse_row(action: argparse.Action) -> str:
    names = ", ".join(f"`{name}`" for name in action.option_strings) or f"`{action.dest.upper()}`"
    default = action.default if action.default not in (None, False, argparse.SUPPRESS) else None
    text = (
        (action.help or "") % {"default": action.default} if "%(default)" in (action.help or "") else action.help or ""
    )
    return _row(names, text, action.required and not action.option_strings, default)


def _command(path: str, text: str, rows: list[str]) -> str:
    lines = [f"### `{path}`", "", one_line(text), ""]
    if rows:
        lines += ["| argument | meaning |", "|---|---|", *rows, ""]
    return "\n".join(lines)


def _row(names: str, text: str, required: bool, default: object) -> str:
    more = (
        " **Required.**"
        if required
        else f" Default: `{default}`."
        if default is not None and "efault" not in text
        else ""
    )
    return f"| {names} | {one_line(text)}{more} |"
