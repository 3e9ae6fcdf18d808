"""Column names: equal up to case, and misspelt names that differ from a known one by one typing error."""

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from data.errors import RowError

_BETWEEN = re.compile(r"[\s-]+|(?<=[a-z])(?=[A-Z])")
_SHORTEST = 5
"""Least length of a name that may be misspelt: `test` is unlikely to mean `text`."""


class Names:
    """The columns that a format or mapping declares. Rows depend on these columns and on no others.

    `fields` are exact names, `pattern` matches further ones. `known` maps lower-case names to the spelling that
    readers use.
    """

    def __init__(
        self,
        fields: frozenset[str],
        pattern: re.Pattern[str] | None,
        known: Mapping[str, str],
        ignored: Collection[str] = (),
    ) -> None:
        """`ignored`: columns that the user left out of the rows."""
        self._fields, self._pattern, self._known, self._ignored = fields, pattern, known, frozenset(ignored)
        self._passed = lru_cache(maxsize=10_000)(self._find)

    def declares(self, name: str) -> bool:
        """Whether the rows may depend on a column of this name, whatever its case."""
        return name not in self._ignored and self._declares(self._spelt(name))

    def is_respelt(self, name: str) -> bool:
        """Whether the name differs in case from the one that readers use."""
        return self._spelt(name) != name

    def is_hidden(self, name: str, record: Mapping[str, Any]) -> bool:
        """Whether the value is lost because the column of the exact name holds one as well."""
        return self.is_respelt(name) and record[name] is not None and record.get(self._spelt(name)) is not None

    def passes(self, name: str) -> bool:
        """Whether a reader receives the column. It does if the column is declared, or if its name looks misspelt, so that the
        reader can refuse it."""
        return self._passed(name) is not None

    def select(self, record: dict[str, Any]) -> dict[str, Any]:
        """The record as a reader receives it. If two names differ only in case, the exact one is used."""
        if record.keys() <= self._fields and self._ignored.isdisjoint(record):
            return record
        found: dict[str, Any] = {}
        for name, value in record.items():
            spelt = self._passed(name)
            if spelt is not None:
                _put(found, spelt, value, exact=spelt == name)
        return found

    def _find(self, name: str) -> str | None:
        if name in self._ignored:
            return None
        spelt = self._spelt(name)
        return spelt if self._declares(spelt) or near(spelt[:100], self._fields) is not None else None

    def _declares(self, spelt: str) -> bool:
        return spelt in self._fields or (self._pattern is not None and self._pattern.fullmatch(spelt) is not None)

    def _spelt(self, name: str) -> str:
        return name if name in self._fields else self._known.get(plain(name), name)


@lru_cache(maxsize=10_000)
def plain(name: str) -> str:
    """The name in lower case with `_` between its words: `Response 1` and `response-1` are `response_1`."""
    return _BETWEEN.sub("_", name.strip()).lower()


def respelt(record: dict[str, Any], known: Mapping[str, str]) -> dict[str, Any]:
    """The record with the spelling of `known` for names that differ from it only in case."""
    spelt = {name: known.get(plain(name), name) for name in record}
    if all(name == other for name, other in spelt.items()):
        return record
    found: dict[str, Any] = {}
    for name, other in spelt.items():
        _put(found, other, record[name], exact=other == name)
    return found


def _put(row: dict[str, Any], name: str, value: Any, *, exact: bool) -> None:
    """Put a column under the name that readers use. An empty column does not hide a filled one: a table has all columns in each record."""
    if row.get(name) is None or (exact and value is not None):
        row[name] = value


def refuse_misspelt(record: Mapping[str, Any], known: frozenset[str]) -> None:
    """Raise RowError for a filled field whose name is nearly a known one, because its value would be lost."""
    if record.keys() <= known:
        return
    for name, value in record.items():
        if value is not None and name not in known and (meant := near(name[:100], known)) is not None:
            detail = f"unknown field {name!r}; did you mean {meant!r}?"
            raise RowError(detail, pointer=f"/{name}", code="unknown_field")


@lru_cache(maxsize=10_000)
def near(name: str, known: frozenset[str]) -> str | None:
    """The known name that differs from this one by one typing error, or None. Cached, because the same names occur in every record."""
    return next((one for one in sorted(known) if len(one) >= _SHORTEST and _slipped(name, one)), None)


def _slipped(name: str, known: str) -> bool:
    """Whether one letter is missing, added or replaced, or two are exchanged. A longer name that begins with the known one
    is a name of its own (`sources`)."""
    if name.startswith(known) or abs(len(name) - len(known)) > 1:
        return False
    at = next((index for index, pair in enumerate(zip(name, known, strict=False)) if pair[0] != pair[1]), len(name))
    rest, other = name[at:], known[at:]
    exchanged = rest[:2] == other[1::-1] and rest[2:] == other[2:]
    return exchanged or rest[1:] == other[1:] or rest[1:] == other or rest == other[1:]
