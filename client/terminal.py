"""Terminal output. Text from other sources is printed without markup, emoji codes and control characters."""

from collections.abc import Sequence
from enum import StrEnum

from rich.table import Table
from rich.text import Text

_ID_WIDTH = 28


class Output(StrEnum):
    """Output format of a command."""

    TABLE = "table"
    JSON = "json"


def plain(value: object) -> Text:
    """Text from another source, such as a job's name or a trainer's message, without control characters."""
    return Text(
        "".join(sign if sign.isprintable() or sign in "\n\t" else "\N{REPLACEMENT CHARACTER}" for sign in str(value))
    )


def list_of(*columns: str) -> Table:
    """A table whose first column holds ids. Ids are never cut, because people copy them."""
    table = Table()
    table.add_column("id", no_wrap=True, min_width=_ID_WIDTH)
    for name in columns:
        table.add_column(name, overflow="fold")
    return table


def facts(rows: Sequence[tuple[str, object]]) -> Text:
    """Lines with a name and a value. Print them with `soft_wrap`, so that ids and checksums are not cut."""
    width = max(len(name) for name, _ in rows)
    return plain("\n".join(f"{name:<{width}}  {value}" for name, value in rows))


def moment(timestamp: str) -> str:
    """A timestamp to the second, with a space that a narrow column can break at."""
    return timestamp[:19].replace("T", " ")
