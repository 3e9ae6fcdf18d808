"""Thumbs as rows of their own: how files with one verdict for each answer are read, stored and exported."""

import io
import json
from typing import Any

import orjson
import pyarrow.parquet as parquet
import pytest

from core.datasets import splits
from data import rows
from data.errors import InvalidOption
from data.export import ExportFormat, export
from data.rows import Thumb
from data.schema import DatasetKind, canonical
from tests.data.reading import errors, jsonl, read, rows_of, talk

Row = dict[str, Any]
OWN: list[Row] = [
    {"prompt": "p", "completion": "x", "thumb": "up", "annotator": "kim", "time": "2026-01-31T12:00:00Z"},
    {"prompt": talk("q"), "completion": "y", "thumb": "down", "source": "app"},
]


def test_rows_of_the_platform_are_thumbs_and_not_demonstrations() -> None:
    found = read(jsonl(*OWN))
    assert (found.plan.format, found.plan.kind) == ("rows", "thumbs")
    assert found.rows == [{name: row[name] for name in row} for row in OWN]
    assert [rows.thumb(row) for row in found.rows][1] == Thumb(talk("q"), "y", False, source="app")


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        ({"prompt": "p", "completion": "x", "label": True}, "trl_unpaired"),
        ({"instruction": "p", "output": "x", "kto_tag": "true"}, "llama_factory_kto"),
        ({"messages": talk("p", "x"), "label": 1}, "llama_factory_kto"),
    ],
)
def test_where_no_prompt_has_both_thumbs_the_file_is_thumbs(record: Row, kind: str) -> None:
    others = [{name: f"{value} {n}" if isinstance(value, str) and value not in ("true",) else value
               for name, value in record.items()} for n in range(3)]  # fmt: skip
    found = read(jsonl(record, *others))
    assert (found.plan.format, found.plan.kind) == (kind, "thumbs")
    assert found.rows[0]["completion"] == "x" and {row["thumb"] for row in found.rows} == {"up"}
    assert all(canonical(DatasetKind.THUMBS, row) == row for row in found.rows)


def test_thumbs_with_both_sides_are_preferences_unless_requested() -> None:
    both = [{"prompt": "p", "completion": "x", "label": True}, {"prompt": "p", "completion": "y", "label": False}]
    assert read(jsonl(*both)).plan.kind == "preferences"
    found = rows_of(*both, kind="thumbs")
    assert found == [
        {"prompt": "p", "completion": "x", "thumb": "up"},
        {"prompt": "p", "completion": "y", "thumb": "down"},
    ]


def test_single_thumbs_as_preferences_suggest_kind_thumbs() -> None:
    lonely = [{"prompt": f"p{n}", "completion": "x", "label": n % 2 == 0} for n in range(4)]
    assert all("as `thumbs` it can be used" in one["detail"] for one in errors(jsonl(*lonely), kind="preferences"))


def test_columns_of_any_name_can_be_mapped_to_a_thumb() -> None:
    mapping = {"fields": {"prompt": "q", "completion": "said", "thumb": "ok", "annotator": "who"}}
    records = [{"q": "p", "said": "x", "ok": "yes", "who": "kim"}, {"q": "p", "said": "y", "ok": 0, "who": None}]
    found = read(jsonl(*records), mapping=mapping)
    assert found.plan.kind == "thumbs"
    assert found.rows == [
        {"prompt": "p", "completion": "x", "thumb": "up", "annotator": "kim"},
        {"prompt": "p", "completion": "y", "thumb": "down"},
    ]
    assert errors(jsonl(records[0] | {"ok": "perhaps"}), mapping=mapping)[0]["detail"].startswith(
        "must be true or false"
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"thumb": "sideways"}, "must be up or down"),
        ({"thumb": True}, "must be up or down"),
        ({"completion": " "}, "empty"),
    ],
)
def test_thumb_row_with_other_label_is_refused(change: Row, said: str) -> None:
    assert said in errors(jsonl(OWN[0], OWN[0] | change), kind="thumbs", format="rows")[0]["detail"]


def exported(format: ExportFormat) -> bytes:
    content = b"".join(orjson.dumps(row) + b"\n" for row in read(jsonl(*OWN)).rows)  # as stored: without spaces
    return b"".join(export(lambda: io.BytesIO(content), DatasetKind.THUMBS, format).body)


def test_exports_are_read_back_as_the_same_rows() -> None:
    trl = [json.loads(line) for line in exported(ExportFormat.TRL).splitlines()]
    assert [row["label"] for row in trl] == [True, False] and "thumb" not in trl[0]
    back = read(exported(ExportFormat.TRL)).rows
    assert [(row["completion"], row["thumb"]) for row in back] == [("x", "up"), ("y", "down")]
    table = parquet.read_table(io.BytesIO(exported(ExportFormat.PARQUET)))
    assert table.column("thumb").to_pylist() == ["up", "down"]
    assert read(exported(ExportFormat.PARQUET), "file.parquet").plan.kind == "thumbs"
    with pytest.raises(InvalidOption, match="a verdict on one answer"):
        exported(ExportFormat.OPENAI)


def test_the_split_is_by_the_prompt_as_of_every_other_kind() -> None:
    pair = {"prompt": talk("q"), "a": "x", "b": "y", "label": "a"}
    assert splits.stored_hash("thumbs", OWN[1]) == splits.stored_hash("preferences", pair)
