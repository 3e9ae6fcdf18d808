"""Lists, objects and conversations that lie in texts: which are read as such, and which stay text."""

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest

from data.errors import RowError
from data.files.opened import opened
from data.files.streams import Limits
from tests.data.reading import Row, jsonl, read, talk

SAID = {"id": "1", "prompt": "p", "response_1": "x", "response_2": "y"}
BLUE = [{"role": "assistant", "content": "Blue."}]
GREEN = [{"role": "assistant", "content": "It's green."}]
PRINTED = "Lists in its cells are written as Python prints them, and were read as lists."


def table(rows: list[Row], write: Callable[[Any], str] = json.dumps) -> bytes:
    """A CSV whose lists and objects are written so."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(rows[0])
    for row in rows:
        writer.writerow(write(value) if isinstance(value, list | dict) else value for value in row.values())
    return out.getvalue().encode()


def packed(rows: list[Row]) -> bytes:
    out = io.BytesIO()
    parquet.write_table(arrow.Table.from_pylist(rows), out)
    return out.getvalue()


def values(content: bytes) -> list[Any]:
    """The contents of each record's cells."""
    with opened(lambda: io.BytesIO(content), "x.csv", Limits()) as found:
        return [str(one) if isinstance(one, RowError) else list(one.values()) for _, one, _ in found.records(None)]


@pytest.mark.parametrize("write", [json.dumps, repr])
@pytest.mark.parametrize(
    ("record", "format", "row"),
    [
        (
            SAID | {"preference.responses": ["response_2"], "preference.responses.users": ["u"]},
            "argilla_records",
            {"prompt": "p", "a": "x", "b": "y", "label": "b", "annotator": "u"},
        ),
        (
            {"instruction": "q", "input": "", "output": ["x", "y"]},
            "llama_factory_best_first",
            {"prompt": "q", "a": "x", "b": "y", "label": "a"},
        ),
        (
            {"instruction": "q", "input": "", "output": "x", "history": [["g", "h"]]},
            "alpaca",
            {"prompt": talk("g", "h", "q"), "completion": "x"},
        ),
        (
            {"input": {"messages": talk("q")}, "preferred_output": BLUE, "non_preferred_output": GREEN},
            "openai_preference",
            {"prompt": talk("q"), "a": "Blue.", "b": "It's green.", "label": "a"},
        ),
        (
            {"prompt": "p", "answers": [{"answer": "x", "rank": 2}, {"answer": "y", "rank": 1}]},
            "ranked_answers",
            {"prompt": "p", "completions": ["x", "y"], "ranks": [2, 1]},
        ),
        (
            {"prompt": "p", "responses": ["x", "y"], "scores": [1.0, 2.0]},
            "rankings",
            {"prompt": "p", "completions": ["x", "y"], "ranks": [2, 1]},
        ),
        (
            {"prompt": talk("q"), "chosen": BLUE, "rejected": GREEN},
            "trl_explicit",
            {"prompt": talk("q"), "a": "Blue.", "b": "It's green.", "label": "a"},
        ),
    ],
    ids=["argilla", "output", "history", "openai", "objects", "lists", "messages"],
)
def test_cell_with_json_or_python_repr_is_parsed(
    write: Callable[[Any], str], record: Row, format: str, row: Row
) -> None:
    named = {"format": format} if format == "llama_factory_best_first" else {}
    found = read(table([record], write), "x.csv", **named)
    (only,) = found.rows
    assert (found.plan.format, {name: only[name] for name in row}) == (format, row)
    assert (PRINTED in found.detection.notes) == (write is repr)


def test_answers_that_are_json_stay_text() -> None:
    rows = [
        {"prompt": "[1]", "chosen": '{"a": 1}', "rejected": '["x", "y"]', "margin": 1},
        {"prompt": "{}", "chosen": "[1, 2]", "rejected": "['x', 'y']", "margin": 1},
    ]
    found = read(table(rows), "x.csv")
    assert [(row["prompt"], row["a"], row["b"]) for row in found.rows] == [tuple(row.values())[:3] for row in rows]


def test_cell_column_type_follows_its_first_cell() -> None:
    rows: list[Row] = [
        {"output": "", "history": "", "tags": "[1]", "note": "so", "response_a": '["x"]'},
        {"output": '["x"]', "history": [], "tags": "none", "note": "[1]", "response_a": "y"},
        {"output": '["x", "y"]', "history": [["q", "a"]], "tags": "{}", "note": "{}", "response_a": '["z"]'},
    ]
    assert values(table(rows)) == [
        [None, None, [1], "so", '["x"]'],
        ['["x"]', [], "none", "[1]", "y"],
        ['["x", "y"]', [["q", "a"]], {}, "{}", '["z"]'],
    ]


@pytest.mark.parametrize(
    "cell",
    [
        "array([{'content': 'x', 'role': 'assistant'}], dtype=object)",
        "[{'content': 'q', 'role': 'user'}\n {'content': 'x', 'role': 'assistant'}]",
        "[{'role': 'user', 'content': 'q', 'score': nan}]",
        "[{'role': 'user', 'content': '" + "x" * 300_000 + "'}]",
    ],
    ids=["array", "no-commas", "nan", "long"],
)
def test_cell_with_python_repr_of_conversation_is_refused(cell: str) -> None:
    detail = "is a conversation as Python or numpy prints it, not JSON: write the column with json.dumps"
    rows = [{"prompt": "p", "chosen": cell, "rejected": "r"}, {"prompt": "p", "chosen": "c", "rejected": "r"}]
    assert values(table(rows)) == [detail, ["p", "c", "r"]]


def test_cell_with_numpy_list_is_not_one_text() -> None:
    rows = [{"prompt": "p", "completions": cell, "ranks": "[1, 2]"} for cell in ("['x' 'y']", '["x", "y"]')]
    found = read(table(rows), "x.csv")
    assert found.lines == [3] and found.found == {"wrong_type": [2]}
    assert "as Python or numpy prints it" in found.finding("wrong_type")["detail"]
    assert "The column 'completions' holds lists as numpy prints them" in found.finding("read_as")["detail"]


@pytest.mark.parametrize(
    "cell",
    [
        "[" * 40 + "1" + "]" * 40,
        '["\\u0000"]',
        "['\\x00']",
        '["\\ud800"]',
        "[b'x']",
        "[{1: 2}]",
        "[1, 2",
        "()",
        "[f'x']",
        "[1 - 2]",
    ],
)
def test_cell_with_malformed_list_stays_text(cell: str) -> None:
    assert values(table([{"prompt": "p", "tags": "[]"}, {"prompt": "p", "tags": cell}]))[1] == ["p", cell]


@pytest.mark.parametrize("write", [json.dumps, repr])
@pytest.mark.parametrize("pack", [packed, lambda rows: jsonl(*rows), lambda rows: json.dumps(rows).encode()])
def test_cell_json_conversations_are_read_in_files_with_lists(
    write: Callable[[Any], str], pack: Callable[[list[Row]], bytes]
) -> None:
    sides = {name: write(talk("q", said)) for name, said in (("conversation_a", "x"), ("conversation_b", "y"))}
    found = read(pack([{"model_a": "m", "model_b": "n", "winner": "model_b"} | sides]))
    assert (found.plan.format, found.rows) == ("lmarena", [{"prompt": talk("q"), "a": "x", "b": "y", "label": "b"}])


def test_other_lists_in_texts_stay_text_in_files_that_have_lists() -> None:
    row = {"prompt": "p", "chosen": '[{"a": 1}]', "rejected": '["x"]'}
    for content in (jsonl(row), packed([row])):
        assert read(content).rows == [{"prompt": "p", "a": '[{"a": 1}]', "b": '["x"]', "label": "a"}]
