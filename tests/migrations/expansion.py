"""Decides whether a statement of a migration leaves the code of the previous release working, and its requests unblocked."""

import re

_BREAKS = {
    r"^drop table\b": "drops a table",
    r"^alter table .*\bdrop column\b": "drops a column",
    r"^alter table .*\brename\b": "renames a table, a column or a constraint",
    r"^alter table .*\balter column \S+ set not null\b": "makes a column NOT NULL",
    r"^alter table .*\balter column \S+ drop default\b": "drops a default",
    r"^alter table .*\balter column \S+ (set data )?type\b": "changes the type of a column, which rewrites the table",
    r"^alter table .*\badd column (?=.*\bnot null\b)(?!.*\bdefault\b)": "adds a NOT NULL column without a default",
    r"^alter table .*\badd column .*\bgenerated always as\b": "adds a stored computed column, which rewrites the table",
    r"^alter table .*\badd (constraint|primary key|unique|foreign key|check)\b(?!.*\bnot valid\b)": (
        "adds a constraint without NOT VALID, which reads the table under a lock"
    ),
    r"^create (unique )?index (?!concurrently\b)": "builds an index without CONCURRENTLY, which blocks writes",
    r"^(update|delete from)\b": "changes stored rows, whose locks last until the end of the migration",
    r"^(truncate|lock)\b": "locks a whole table",
}
_TABLE = re.compile(
    r"^(?:alter table|drop table|update|delete from|truncate|lock|create (?:unique )?index .*? on)"
    r'(?: table| if exists| only)* "?(?P<table>\w+)"?'
)


def breaks(statement: str, made: frozenset[str]) -> list[str]:
    """The parts of the SQL that break or block the previous release, with the reason. `made`: tables that are newer than the release, which are free."""
    parts = [" ".join(part.split()).lower() for part in statement.split(";")]
    found = []
    for part in parts:
        table = _TABLE.match(part)
        if table and table["table"] not in made:
            found += [f"{what}: {part[:120]}" for pattern, what in _BREAKS.items() if re.search(pattern, part)]
    return found


def made_tables(statement: str) -> frozenset[str]:
    """The tables that the SQL creates."""
    return frozenset(re.findall(r'create table (?:if not exists )?"?(\w+)', " ".join(statement.split()).lower()))
