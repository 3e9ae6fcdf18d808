"""The same records give the same rows in every container, and a format reads only the columns that it declares."""

import contextlib
import csv
import gzip
import hashlib
import io
import json
from collections.abc import Callable
from typing import Any

import orjson
import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest
import zstandard

from data.errors import RowError, UnusableFile
from data.findings import Findings
from data.formats import FORMATS, custom
from data.formats.base import Reading
from data.names import NOTED
from data.plan import Plan
from data.preview import example_mapping
from data.schema import DatasetKind
from tests.data.reading import Row, errors, jsonl, read, rows_of
from tests.data.test_formats import UNSURE

BESIDE: dict[str, Any] = {
    **{name: "2026-01-31T12:00:00Z" if "time" in name or "created" in name else "kim" for name in sorted(NOTED)},
    "tstamp": 1682351591.5,
    "system": "You answer briefly.",
    "system_prompt": "You answer at length.",
    "history": [["Hello?", "Hello."]],
    "input": "Look up at noon.",
    "query": "Look up at dusk.",
    "context": "Look up at dawn.",
    "margin": 1.5,
    "score_chosen": 8.5,
    "score_rejected": 6.5,
    "judge": "lee",
    "judge_hash": "0f",
    "cmp_key": "one_two",
    "annotator12": 1,
    "reference_answer": "blue",
    "ground_truth": "blue",
    "images": [],
    "Source": "PILOT",
    "margn": 2,
}
"""Columns that some format reads, and two that are spelt in another way."""


def as_json(records: list[Row]) -> bytes:
    return json.dumps(records, indent=1).encode()


def as_csv(records: list[Row]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(name for record in records for name in record)))
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue().encode()


def as_parquet(records: list[Row]) -> bytes:
    names = dict.fromkeys(name for record in records for name in record)
    file = io.BytesIO()
    columns = {name: [record.get(name) for record in records] for name in names}
    parquet.write_table(arrow.table(columns), file, row_group_size=3)
    return file.getvalue()


PLAIN: dict[str, Callable[[list[Row]], bytes]] = {"json": as_json, "csv": as_csv, "parquet": as_parquet}
PACKED: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "zst": zstandard.ZstdCompressor().compress}
READINGS = [
    (known.id, kind.value)
    for known in FORMATS.values()
    for kind in (known.kinds[:1] if known is custom.FORMAT else known.kinds)
]


def files(name: str) -> list[list[Row]]:
    """Copies of the format's example, each with one column more: in one file, or in several where answers are gathered."""
    known = FORMATS[name]
    copies = [
        [record if column in record else record | {column: value} for record in known.example]
        for column, value in BESIDE.items()
    ]
    if known.grouped:
        return copies
    records = [record for copy in copies for record in copy]
    return [records] if has_types(records) else [[record] for record in records]


def has_types(records: list[Row]) -> bool:
    """Whether a table can hold them: each column has values of one type."""
    try:
        return bool(as_parquet(records))
    except (arrow.ArrowInvalid, arrow.ArrowTypeError):
        return False


def flat(records: list[Row]) -> list[Row]:
    """Records that a table of texts can hold: without lists, and with reference answers as text."""
    kept = [{name: value for name, value in record.items() if name not in ("history", "images")} for record in records]
    return [record | ({"answer": str(record["answer"])} if "answer" in record else {}) for record in kept]


def is_flat(records: list[Row]) -> bool:
    return not any(isinstance(value, list | dict) for record in records for value in record.values())


def outcome(content: bytes, file: str, name: str, kind: str) -> tuple[str, dict[str, int]]:
    """The hash of the rows as they are stored, and how many records are refused for what."""
    try:
        found = read(content, f"x.{file}", format=name, kind=kind, mapping=example_mapping(name))
    except UnusableFile as refused:
        return "", {str(refused.extras["errors"][0].get("code")): 1}
    bad = [finding for finding in found.converted.findings if finding["severity"] == "blocking"]
    stored = b"".join(orjson.dumps(row) + b"\n" for row in found.rows)
    return hashlib.sha256(stored).hexdigest(), {finding["code"]: finding["count"] for finding in bad}


@pytest.mark.parametrize(("name", "kind"), READINGS)
def test_every_container_gives_the_same_rows(name: str, kind: str) -> None:
    for records in files(name):
        for file, write in PLAIN.items():
            told = flat(records) if file == "csv" else records
            if file != "csv" or is_flat(told):
                content, expected = write(told), outcome(jsonl(*told), "jsonl", name, kind)
                assert outcome(content, file, name, kind) == expected, (file, told)
        for ending, pack in PACKED.items():
            assert outcome(pack(content), f"{file}.{ending}", name, kind) == expected, ending


class Watched(dict[str, Any]):
    """A record that notes which of its columns a reader asks for."""

    def __init__(self, record: Row, seen: set[str]) -> None:
        super().__init__(record)
        self.seen = seen

    def __getitem__(self, name: str) -> Any:
        self.seen.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.seen.add(str(name))
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.seen.add(name)
        return super().get(name, default)

    def __or__(self, other: Any) -> Any:
        return Watched({**self, **other}, self.seen)


@pytest.mark.parametrize(("name", "kind"), [reading for reading in READINGS if reading[0] != custom.FORMAT.id])
def test_a_format_reads_no_column_that_it_does_not_declare(name: str, kind: str) -> None:
    known, seen = FORMATS[name], set[str]()
    for record in known.example:
        for column, value in BESIDE.items():
            with contextlib.suppress(RowError):
                list(known.rows(Watched({column: value} | record, seen), Reading(DatasetKind(kind), Findings())))
    declared = Plan("jsonl", "none", name, kind).columns
    assert [column for column in sorted(seen) if not declared.declares(column)] == []


def test_pandalms_system_message_is_not_lost_in_a_table() -> None:
    record = FORMATS["pandalm"].example[0] | {"system": "You answer briefly."}
    (row, *_) = read(as_parquet([record]), "x.parquet").rows
    assert row["prompt"][0] == {"role": "system", "content": "You answer briefly."}


@pytest.mark.parametrize("write", [as_csv, as_parquet])
def test_a_misspelt_note_is_refused_from_every_container(write: Callable[[list[Row]], bytes]) -> None:
    pair = {"prompt": "q", "chosen": "x", "rejected": "y"}
    for content in (jsonl(pair, pair | {"margn": 1}), write([pair, pair | {"margn": 1}])):
        assert [list(found) for found in [read(content, "x").found]] == [["unknown_field"]]


def test_table_without_columns_of_the_format_names_its_columns() -> None:
    (error,) = errors(as_parquet([{"question": "q"}]), "x.parquet", format="trl_explicit")
    assert "found 'question'" in error["detail"]


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in UNSURE])
def test_column_names_match_in_any_case(name: str) -> None:
    known = FORMATS[name]
    shouted = [{column.upper(): value for column, value in record.items()} for record in known.example]
    found = read(jsonl(*shouted))
    assert (found.plan.format, found.rows) == (name, rows_of(*known.example, format=name, kind=known.kinds[0].value))


def test_mapping_matches_columns_in_any_case() -> None:
    record = {"Question": "q", "Left": {"Text": "x"}, "RIGHT": {"text": "y"}, "VOTE": "left"}
    fields = {"prompt": "question", "a": "left.text", "b": "right.text", "label": "vote"}
    for content in (jsonl(record), as_parquet([record])):
        rows = read(content, format="custom", mapping={"fields": fields, "labels": {"left": "a"}}).rows
        assert rows == [{"prompt": "q", "a": "x", "b": "y", "label": "a"}]


def test_column_names_that_differ_in_case_prefer_the_exact_one() -> None:
    record = {"Prompt": "no", "prompt": "q", "PROMPT": "no", "chosen": "x", "rejected": "y"}
    assert rows_of(record)[0]["prompt"] == "q"
    assert rows_of(record | {"prompt": None}, format="trl_explicit")[0]["prompt"] == "no"
