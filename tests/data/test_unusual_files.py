"""Files of any content: a preview and an import end with rows, a question or an error of the library."""

import gzip
import io
import json
from typing import Any

import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from data.errors import DatasetError, UnclearFormat
from data.files.streams import Limits
from data.preview import preview_file
from tests.data.reading import read

NAMES = st.sampled_from(["x.json", "x.jsonl", "x.csv", "x.parquet", "x"])
COLUMNS = st.sampled_from(
    ["", "prompt", "chosen", "rejected", "messages", "role", "content", "label", "data", "train", "test", "columns", "index", "0", "1"]
) | st.text(max_size=3)  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("\ud800")
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(COLUMNS, inner, max_size=3), max_leaves=8
)


def outcome(content: bytes, name: str) -> str:
    """How the file ends. Any exception that is not one of the library's passes through."""
    for kind in (None, "preferences", "sft", "prompts"):
        try:
            preview_file(lambda: io.BytesIO(content), name, Limits(), kind=kind)
            read(content, name, kind=kind)
        except DatasetError as error:
            assert error.detail
    try:
        return read(content, name).plan.format
    except UnclearFormat as error:
        return f"question: {error.detail}"
    except DatasetError as error:
        return f"error: {error.detail}"


@pytest.mark.parametrize(
    ("content", "name", "end"),
    [
        (b"{}", "x.json", "question: Line 1: has no fields. Write one record a line"),
        (b"{}\n{}\n", "x.jsonl", "question: Line 1: has no fields. Write one record a line"),
        (b"{}{}", "x.jsonl", "question: Line 1: has no fields. Write one record a line"),
        (b"[{}]", "x.json", "question: Line 1: has no fields. Write one record a line"),
        (b"[]", "x.json", "error: The file has no rows: it is empty."),
        (b"null", "x.json", "question: Line 1: must be a JSON object."),
        (b'"text"', "x.json", "question: Line 1: must be a JSON object."),
        (b"prompt,chosen,rejected\n", "x.csv", "error: The file has no rows, only the names of its columns"),
        (b'{"a":' * 9999 + b"1" + b"}" * 9999, "x.jsonl", "question: Line 1: is nested too deeply."),
        (b'{"prompt": "a", "answer": 1' + b"0" * 400 + b"}", "x.json", "error: Line 1: is too large a number."),
    ],
)
def test_unusual_file_ends_with_a_question_or_an_error(content: bytes, name: str, end: str) -> None:
    assert outcome(content, name).startswith(end)


@given(st.lists(VALUES, max_size=3), NAMES, st.sampled_from(["", "\n", " ", ","]), st.booleans())
def test_any_json_ends_without_another_exception(values: list[Any], name: str, between: str, array: bool) -> None:
    texts = [json.dumps(value) for value in values]
    text = f"[{','.join(texts)}]" if array else between.join(texts)
    outcome(text.encode(), name)


@given(st.binary(max_size=60) | st.text(alphabet='{}[]":,0aeE+-.\\u\n\t ', max_size=30).map(str.encode), NAMES)
def test_any_bytes_end_without_another_exception(content: bytes, name: str) -> None:
    outcome(content, name)
    outcome(b"prompt,completion\n" + content, name)
    outcome(b'{"prompt": "a", "completion": "b"}\n' + content, name)
    outcome(gzip.compress(content), name)
    outcome(zstandard.compress(content), name)


@given(st.dictionaries(COLUMNS.filter(lambda name: name.isascii()), st.sampled_from(
    [arrow.null(), arrow.int64(), arrow.float64(), arrow.string(), arrow.bool_(), arrow.list_(arrow.string()),
     arrow.timestamp("ns"), arrow.decimal128(9, 2), arrow.binary(), arrow.struct([("role", arrow.string())])]
), max_size=4), st.integers(0, 2))  # fmt: skip
def test_any_parquet_ends_without_another_exception(types: dict[str, Any], rows: int) -> None:
    out = io.BytesIO()
    parquet.write_table(arrow.table({name: arrow.nulls(rows, type) for name, type in types.items()}), out)
    outcome(out.getvalue(), "x.parquet")
