"""Words from outside on the terminal, as they are: neither markup nor emoji codes nor control characters in them count."""

from collections.abc import Sequence
from enum import StrEnum

from rich.table import Table
from rich.text import Text

_ID_WIDTH = 28


class Output(StrEnum):
    """How a command prints what it has found."""

    TABLE = "table"
    JSON = "json"


def plain(value: object) -> Text:
    """Text from another source, such as a job's name or a trainer's message, without control characters."""
    return Text(
        "".join(sign if sign.isprintable() or sign in "\n\t" else "\N{REPLACEMENT CHARACTER}" for sign in str(value))
    )


def list_of(*columns: str) -> Table:
    """A table whose first column holds ids, which are whole however narrow the terminal is: people copy them."""
    table = Table()
    table.add_column("id", no_wrap=True, min_width=_ID_WIDTH)
    for name in columns:
        table.add_column(name, overflow="fold")
    return table


def facts(rows: Sequence[tuple[str, object]]) -> Text:
    """A name and a value a line, for a print with `soft_wrap`: in a pipe or a narrow terminal an id or a sum is still whole."""
    width = max(len(name) for name, _ in rows)
    return plain("\n".join(f"{name:<{width}}  {value}" for name, value in rows))


def moment(timestamp: str) -> str:
    """To the second, and where a narrow column can be broken."""
    return timestamp[:19].replace("T", " ")
