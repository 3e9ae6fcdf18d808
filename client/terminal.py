"""Terminal output: the format of results, and text from other sources without markup, emoji codes and control characters."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

_ID_WIDTH = 28
Item = TypeVar("Item", bound=Mapping[str, Any])


class Output(StrEnum):
    """Output format of a command."""

    TABLE = "table"
    JSON = "json"


class Printer:
    """Prints the results of a command on standard output, as tables for people or as JSON for programs.

    `quiet` leaves out what a program does not need: lists print their ids only, and single results their id.
    """

    def __init__(self, output: Output = Output.TABLE, *, quiet: bool = False) -> None:
        self.output, self.quiet = output, quiet
        self._out = Console(highlight=False)
        self._err = Console(highlight=False, stderr=True)

    @property
    def as_json(self) -> bool:
        return self.output is Output.JSON

    @property
    def draws(self) -> bool:
        """Whether charts can be drawn: results are for people, on a terminal."""
        return self._out.is_terminal and not self.quiet and not self.as_json

    @property
    def progress(self) -> Console:
        """Standard error, for progress. With `quiet` or JSON, nothing is shown."""
        return Console(highlight=False, stderr=True, quiet=self.quiet or self.as_json)

    def items(
        self, items: Iterable[Item], columns: Mapping[str, Callable[[Item], object]], key: str | None = "id"
    ) -> None:
        """Print a list: a table, a JSON array, or with `quiet` the `key` of each item on a line.

        `key` None: the items have no id, and `quiet` prints the cells of the table, separated by tabs.
        """
        if self.as_json:
            self._json(list(items))
        elif self.quiet:
            for item in items:
                cells = [item[key]] if key else [cell(item) for cell in columns.values()]
                self._out.print(plain("\t".join(map(str, cells))), soft_wrap=True)
        else:
            table = list_of(*columns) if key else Table(*columns)
            for item in items:
                row = [_shown(cell(item)) for cell in columns.values()]
                table.add_row(*([plain(item[key])] if key else []), *row)
            self._out.print(table)

    def item(self, item: Mapping[str, Any], *parts: RenderableType, key: str | None = "id") -> None:
        """Print one result: `parts` for people, the item as JSON, or with `quiet` its `key`.

        `key` None: the item has no id, and `quiet` prints `parts` too.
        """
        if self.as_json:
            self._json(item)
        elif self.quiet and key:
            self._out.print(plain(item[key]), soft_wrap=True)
        else:
            for part in parts:
                self._out.print(part, soft_wrap=not isinstance(part, Table))

    def line(self, item: Mapping[str, Any], text: str) -> None:
        """Print one item of a stream: `text` for people, or the item as JSON on a line."""
        if self.as_json:
            self._out.out(json.dumps(item, ensure_ascii=False), highlight=False)
        else:
            self._out.print(plain(text), soft_wrap=True)

    def note(self, text: str) -> None:
        """Print a remark for people on standard error."""
        if not self.quiet and not self.as_json:
            self._err.print(plain(text), soft_wrap=True)

    def _json(self, value: object) -> None:
        self._out.out(json.dumps(value, ensure_ascii=False, indent=2), highlight=False)


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


def _shown(value: object) -> Text:
    return plain("" if value is None else value)
