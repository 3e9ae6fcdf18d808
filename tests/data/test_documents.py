"""JSON documents whose records are a list under a key, or a table as pandas writes it."""

import gzip
import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from data.files.streams import Limits
from tests.data.reading import errors, jsonl, read, talk

PAIR = {"prompt": "q", "chosen": "x", "rejected": "y"}
OTHER = {"prompt": "r", "chosen": "v", "rejected": "w"}
ROWS = [{"prompt": "q", "a": "x", "b": "y", "label": "a"}, {"prompt": "r", "a": "v", "b": "w", "label": "a"}]
NAMES = list(PAIR)
VALUES = [list(PAIR.values()), list(OTHER.values())]
DOCUMENTS: dict[str, Any] = {
    "list": {"data": [PAIR, OTHER]},
    "list beside others": {"version": "1.0", "meta": {"by": ["kim"]}, "data": [PAIR, OTHER], "count": 2},
    "list under any key": {"my pairs": [PAIR, OTHER]},
    "one split": {"train": [PAIR, OTHER]},
    "columns": {name: {"0": PAIR[name], "1": OTHER[name]} for name in NAMES},
    "lists": {name: [PAIR[name], OTHER[name]] for name in NAMES},
    "index": {"0": PAIR, "1": OTHER},
    "split": {"columns": NAMES, "index": [0, 1], "data": VALUES},
    "table": {"schema": {"fields": [], "pandas_version": "1.4.0"}, "data": [{"index": 0} | PAIR, {"index": 1} | OTHER]},
}
PACKED: dict[str, Callable[[bytes], bytes]] = {"plain": bytes, "gzip": gzip.compress, "zstd": zstandard.compress}


@pytest.mark.parametrize("shape", DOCUMENTS)
@pytest.mark.parametrize("pack", PACKED)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_document_is_read_in_every_encoding_and_packing(shape: str, pack: str, encoding: str) -> None:
    for text, name in itertools.product(
        (json.dumps(DOCUMENTS[shape]), json.dumps(DOCUMENTS[shape], indent=1)), ("x.json", "x.jsonl")
    ):
        found = read(PACKED[pack](text.encode(encoding)), name)
        assert (found.rows, found.detection.container) == (ROWS, "json")
        assert any("The records are" in note or "Its records" in note for note in found.detection.notes)


def test_list_in_document_has_the_lines_of_the_file() -> None:
    content = json.dumps({"version": 1, "data": [PAIR, {}, OTHER]}, indent=1).encode()
    found = read(content, "x.json")
    assert (found.lines, found.found) == ([4, 10], {"missing_field": [9]})


def test_document_longer_than_a_record_is_read_as_a_stream() -> None:
    content = json.dumps({"version": 1, "data": [PAIR, OTHER] * 50, "count": 2}).encode()
    found = read(content, "x.json", limits=Limits(line_bytes=100))
    assert found.rows == ROWS * 50
    assert "Not used beside it: version, count." in found.finding("read_as")["detail"]


def test_two_lists_of_records_are_a_question() -> None:
    small, large = ({"train": [PAIR] * count, "test": [OTHER]} for count in (2, 90))
    for document in (small, large):
        (error,) = errors(json.dumps(document).encode(), "x.json", limits=Limits(line_bytes=200))
        assert error["code"] == "several_lists"
        assert "train" in error["detail"] and "test" in error["detail"] and "a file of its own" in error["detail"]


@pytest.mark.parametrize("shape", ["columns", "lists", "split"])
def test_table_longer_than_a_record_names_the_cure(shape: str) -> None:
    (error,) = errors(json.dumps(DOCUMENTS[shape]).encode(), "x.json", limits=Limits(line_bytes=60))
    assert error["code"] == "column_oriented" and "orient='records', lines=True" in error["detail"]


@pytest.mark.parametrize("end", [b"", b', "count": ', b', "more": [{"a": 1'])
def test_document_cut_off_behind_its_list_is_refused(end: bytes) -> None:
    content = b'{"data": ' + json.dumps([PAIR] * 9).encode() + end
    (error,) = errors(content, "x.json", limits=Limits(line_bytes=100))
    assert error["code"] in ("truncated", "several_lists")


@pytest.mark.parametrize(
    "record",
    [
        {"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "x"}]},
        {"chosen": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "x"}],
         "rejected": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "y"}]},
        PAIR | {"data": {"0": "x"}},
        {"prompt": "q", "completions": ["x", "y"], "ranks": [1, 2]},
    ],
)  # fmt: skip
def test_one_record_is_not_taken_for_a_document(record: dict[str, Any]) -> None:
    found = read(json.dumps(record).encode(), "x.json")
    assert len(found.rows) == 1 and not any("The records" in note for note in found.detection.notes)


def test_record_that_is_too_long_hides_no_other() -> None:
    long = {"prompt": "q", "completions": ["x" * 999], "notes": [{"by": "kim"}, {"by": "x" * 99_000}]}
    found = read(jsonl(long, PAIR), limits=Limits(line_bytes=1000))
    assert (found.lines, found.found) == ([2], {"line_too_long": [1]})


def test_table_reads_nan_and_conversations_in_cells() -> None:
    talk = json.dumps([{"role": "user", "content": "q"}])
    content = json.dumps({"prompt": {"0": talk}, "completion": {"0": "x"}, "source": {"0": float("nan")}}).encode()
    found = read(content, "x.json", kind="sft")
    assert found.rows == [{"prompt": json.loads(talk), "completion": "x"}]
    assert any("NaN" in note for note in found.detection.notes)


def test_empty_table_has_no_rows() -> None:
    for content in (
        b'{"prompt": {}, "chosen": {}}',
        b'{"columns": ["prompt"], "index": [], "data": []}',
        b'{"data": []}',
    ):
        (error,) = errors(content, "x.json")
        assert error["code"] == "no_rows"


def test_objects_on_one_line_are_records_of_that_line() -> None:
    content = jsonl(PAIR) + b'{"prompt": "r", "chosen": "v", "rejected": "w"} ' * 2 + b"\n" + jsonl(OTHER)
    found = read(content)
    assert (found.rows, found.lines) == ([ROWS[0], *[ROWS[1]] * 3], [1, 2, 2, 3])
    assert "Line 2 holds 2 objects" in found.finding("read_as")["detail"]


def test_error_behind_another_object_has_the_column_of_the_line() -> None:
    found = read(jsonl(PAIR) + json.dumps(PAIR).encode() + b'{"prompt" 1}' + jsonl(OTHER))
    assert found.lines == [1, 2, 2] and found.found == {"not_json": [2]}
    assert found.converted.errors[0]["column"] == len(json.dumps(PAIR)) + len('{"prompt" ') + 1


@pytest.mark.parametrize(
    "line", [b'{"prompt": "q"} and more', b'{"prompt": "q"}, {"prompt": "r"}', b'{"prompt": "q"}{"prom']
)
def test_a_line_with_anything_between_objects_is_refused(line: bytes) -> None:
    found = read(jsonl({"prompt": "p"}) + line + b"\n" + jsonl({"prompt": "s"}), kind="prompts")
    assert (found.lines, found.found) == ([1, 3], {"not_json": [2]})


def test_many_objects_on_one_long_line_are_read() -> None:
    found = read(json.dumps(PAIR).encode() * 2000, limits=Limits(line_bytes=1000))
    assert (len(found.rows), found.lines[:3]) == (2000, [1, 2, 3])


@given(st.lists(st.fixed_dictionaries({name: st.text("abc", min_size=1, max_size=3) for name in NAMES}), min_size=1), st.sampled_from(
    ["list", "columns", "lists", "index", "split"]
))  # fmt: skip
def test_every_shape_gives_the_rows_of_json_lines(records: list[dict[str, str]], shape: str) -> None:
    records = [
        record | {"prompt": f"{number}", "rejected": record["chosen"] + "!"} for number, record in enumerate(records)
    ]
    document: Any = {
        "list": {"data": records},
        "columns": {name: {str(n): record[name] for n, record in enumerate(records)} for name in NAMES},
        "lists": {name: [record[name] for record in records] for name in NAMES},
        "index": {str(n): record for n, record in enumerate(records)},
        "split": {"columns": NAMES, "data": [[record[name] for name in NAMES] for record in records]},
    }[shape]
    assert read(json.dumps(document).encode(), "x.json").rows == read(jsonl(*records)).rows


@pytest.mark.parametrize(
    ("document", "detail"),
    [
        ({"data": {"rows": [PAIR]}}, "The records are inside the object 'data'"),
        ({"train": {name: [PAIR[name], OTHER[name]] for name in NAMES}}, "The records are inside the object 'train'"),
        ({"first": PAIR, "second": OTHER}, "The JSON is a table with names for its rows"),
        ({name: {"first": PAIR[name], "second": OTHER[name]} for name in NAMES}, "The JSON is a table with names"),
        ({"prompt": ["q", "r"], "chosen": ["x"]}, "columns of different lengths: prompt (2), chosen (1)"),
    ],
)
def test_table_in_another_form_is_refused_with_the_cure(document: Any, detail: str) -> None:
    (error,) = errors(json.dumps(document).encode(), "x.json")
    assert detail in error["detail"] and "df.to_json(path, orient='records', lines=True)" in error["detail"]


@pytest.mark.parametrize(
    "record",
    [
        {"prompt": {"role": "user", "content": "q"}, "chosen": {"role": "assistant", "content": "x"}, "rejected": "y"},
        {"prompt": "q", "completions": ["x", "y"], "ranks": [1, 2]},
    ],
)
def test_a_record_of_objects_or_lists_is_no_table(record: Any) -> None:
    assert read(json.dumps(record).encode(), "x.json", kind="preferences").rows[0]["prompt"] in ("q", talk("q"))


def test_rows_of_the_dataset_viewer_are_read() -> None:
    rows = [{"row_idx": at, "row": row, "truncated_cells": []} for at, row in enumerate((PAIR, OTHER))]
    found = read(json.dumps({"features": [{"name": "prompt"}], "rows": rows, "num_rows_total": 2}).encode(), "x.json")
    assert (found.rows, found.found) == (ROWS, {})
    assert "dataset viewer" in found.finding("read_as")["detail"]


def test_cells_that_the_dataset_viewer_cut_off_are_refused() -> None:
    rows = [{"row_idx": at, "row": PAIR, "truncated_cells": ["chosen"] if at else []} for at in range(2)]
    found = read(json.dumps({"rows": rows}).encode(), "x.json")
    assert (found.lines, found.found) == ([1], {"truncated_cell": [2]})
