"""Terminal output: the format of results, and text from other sources without markup, emoji codes and control characters."""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

_GAP = 2
_FOLDED_WIDTH = 8
"""Least width of a column that is folded."""
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
        self,
        items: Iterable[Item],
        columns: Mapping[str, Callable[[Item], object]],
        key: str | None = "id",
        below: str | None = None,
    ) -> None:
        """Print a list: a table, a JSON array, or with `quiet` the `key` of each item on a line.

        `key` None: the items have no id, and `quiet` prints the cells of the table, separated by tabs. `below` is another
        id, which stands below the first one, so that both fit into a narrow terminal.
        """
        if self.as_json:
            self._json(list(items))
        elif self.quiet:
            for item in items:
                cells = [item[key]] if key else [cell(item) for cell in columns.values()]
                self._out.print(plain("\t".join(map(str, cells))), soft_wrap=True)
        else:
            names = [*(["id"] if key else []), *columns]
            rows: list[list[Text]] = []
            for item in items:
                rows.append([_shown(cell(item)) for cell in columns.values()])
                if key:
                    ids = [item[name] for name in (key, below) if name and item[name]]
                    rows[-1].insert(0, plain("\n  ".join(ids)))
            self._out.print(list_of(names, rows, self._width, ids=key is not None), crop=self._width is not None)

    @property
    def _width(self) -> int | None:
        """Characters of a line; None without a terminal, where lines are not folded."""
        return self._out.width if self._out.is_terminal or "COLUMNS" in os.environ else None

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


def list_of(names: Sequence[str], rows: Sequence[Sequence[Text]], width: int | None, *, ids: bool) -> Table:
    """A table without borders for lines of `width` characters. Its widest columns are folded if it is too wide.

    `ids`: the first column holds ids, which are never cut, because people copy them.
    """
    natural = [
        max(cell_len(line) for text in (name, *(row[at].plain for row in rows)) for line in text.split("\n"))
        for at, name in enumerate(names)
    ]
    least = list(natural)
    for at in sorted(range(int(ids), len(names)), key=lambda at: -natural[at]):
        if width is None or sum(least) + _GAP * (len(names) - 1) <= width:
            break
        least[at] = min(_FOLDED_WIDTH, natural[at])
    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False)
    for name, whole, size in zip(names, natural, least, strict=True):
        table.add_column(name, no_wrap=size == whole, min_width=size, overflow="fold")
    for row in rows:
        table.add_row(*row)
    table.width = sum(natural) + _GAP * (len(names) - 1) if width is None else None
    return table


def facts(rows: Sequence[tuple[str, object]]) -> Text:
    """Lines with a name and a value. Print them with `soft_wrap`, so that ids and checksums are not cut."""
    width = max(len(name) for name, _ in rows)
    return plain("\n".join(f"{name:<{width}}  {value}" for name, value in rows))


def moment(timestamp: str) -> str:
    """A timestamp to the second."""
    return timestamp[:19].replace("T", " ")


def age(timestamp: str, now: datetime | None = None) -> str:
    """The time since a timestamp, as in `5 min ago`. After 30 days, it is the date."""
    then = datetime.fromisoformat(timestamp)
    seconds = max(0, int(((now or datetime.now(UTC)) - then).total_seconds()))
    for unit, size, limit in (("s", 1, 60), ("min", 60, 3600), ("h", 3600, 86400), ("d", 86400, 30 * 86400)):
        if seconds < limit:
            return f"{seconds // size} {unit} ago"
    return timestamp[:10]


def with_sorted(
    columns: Mapping[str, Callable[[Any], object]], others: Mapping[str, Callable[[Any], object]], sort: str
) -> dict[str, Callable[[Any], object]]:
    """The columns, and the one of `others` that the list is sorted by, if it is one of them."""
    name = sort.removeprefix("-")
    return {**columns, name: others[name]} if name in others else dict(columns)


def _shown(value: object) -> Text:
    return plain("" if value is None else value)
