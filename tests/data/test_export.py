"""Exports say the same as the rows do, as far as their format can; read again they are the same comparisons."""

import io
import json
from typing import Any

import orjson
import pyarrow.parquet as parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.errors import InvalidOption
from data.export import ExportFormat, export
from data.schema import DatasetKind, canonical
from data.splits import prompt_key
from data.stored_rows import messages
from tests.data.reading import Row, read, talk

P, S, Q, T = DatasetKind.PREFERENCES, DatasetKind.SFT, DatasetKind.PROMPTS, DatasetKind.PRETRAINING
PAIR = {"prompt": "p", "a": "x", "b": "y"}
RANKED = {"prompt": "q", "completions": ["x", "y", "z"], "ranks": [2, 1, 2]}


def stored(rows: list[Row]) -> bytes:
    return b"".join(orjson.dumps(row) + b"\n" for row in rows)


def exported(rows: list[Row], format: str, kind: DatasetKind = P) -> tuple[bytes, int]:
    content = stored(rows)
    made = export(lambda: io.BytesIO(content), kind, ExportFormat(format))
    return b"".join(made.body), made.left_out


def lines(content: bytes) -> list[Row]:
    return [json.loads(line) for line in content.splitlines()]


def test_trl_gets_pairs_with_their_notes_and_ties_are_counted() -> None:
    rows = [
        PAIR | {"label": "b", "margin": 1, "annotator": "kim"},
        PAIR | {"label": "tie"},
        PAIR | {"label": None},
        RANKED,
        RANKED | {"ranks": None},
        RANKED | {"ranks": [1, 1, 1]},
        {"prompt": 'say "label":"tie"', "a": '"label":"tie"', "b": '{"ranks":null}', "label": "a"},
    ]
    content, left_out = exported(rows, "trl")
    assert lines(content) == [
        {"prompt": "p", "chosen": "y", "rejected": "x", "annotator": "kim", "margin": 1},
        {"prompt": "q", "chosen": "y", "rejected": "x"},
        {"prompt": "q", "chosen": "y", "rejected": "z"},
        {"prompt": 'say "label":"tie"', "chosen": '"label":"tie"', "rejected": '{"ranks":null}'},
    ]
    assert left_out == 4


def test_trl_is_conversational_in_every_row_if_in_any() -> None:
    content, _ = exported([PAIR | {"label": "a"}, PAIR | {"prompt": talk("q"), "label": "a"}], "trl")
    assert [row["prompt"] for row in lines(content)] == [talk("p"), talk("q")]
    assert lines(content)[0]["chosen"] == [{"role": "assistant", "content": "x"}]


def test_export_openai_writes_only_the_validated_fields() -> None:
    content, left_out = exported([PAIR | {"label": "a", "source": "s"}, PAIR | {"label": "tie"}], "openai")
    assert (lines(content), left_out) == (
        [
            {
                "input": {"messages": talk("p"), "tools": [], "parallel_tool_calls": True},
                "preferred_output": [{"role": "assistant", "content": "x"}],
                "non_preferred_output": [{"role": "assistant", "content": "y"}],
            }
        ],
        1,
    )
    shown, _ = exported([{"prompt": "p", "completion": "c"}, {"messages": talk("q", "z")}], "openai", S)
    assert lines(shown) == [{"messages": talk("p", "c")}, {"messages": talk("q", "z")}]
    asked, _ = exported([{"prompt": "p", "answer": 7}], "openai", Q)
    assert lines(asked) == [{"messages": talk("p"), "answer": 7}]
    with pytest.raises(InvalidOption, match="no place for plain texts"):
        exported([{"text": "t"}], "openai", T)


def test_rows_are_the_stored_bytes() -> None:
    rows = [PAIR | {"label": "tie"}, RANKED]
    assert exported(rows, "rows") == (stored(rows), 0)


def test_export_parquet_converts_each_column_to_one_type() -> None:
    content, _ = exported(
        [{"prompt": "p", "answer": 7}, {"prompt": talk("q"), "answer": "x"}, {"prompt": "r"}], "parquet", Q
    )
    table = parquet.read_table(io.BytesIO(content))
    assert table.to_pylist() == [
        {"prompt": talk("p"), "answer": "7"},
        {"prompt": talk("q"), "answer": "x"},
        {"prompt": talk("r"), "answer": None},
    ]
    whole, _ = exported([{"prompt": "p", "answer": 7}, {"prompt": "r"}], "parquet", Q)
    assert str(parquet.read_schema(io.BytesIO(whole)).field("answer").type) == "int64"
    broken, _ = exported([{"prompt": "p", "answer": 7}, {"prompt": "r", "answer": 0.5}], "parquet", Q)
    assert parquet.read_table(io.BytesIO(broken)).to_pylist()[0]["answer"] in ("7", 7.0)


def test_parquet_is_sent_in_row_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("data.export_parquet._GROUP_BYTES", 100)
    content, _ = exported([PAIR | {"label": "a"}] * 10, "parquet")
    found = parquet.ParquetFile(io.BytesIO(content))
    assert (found.metadata.num_rows, found.metadata.num_row_groups > 1) == (10, True)


TEXTS = st.text(st.sampled_from('ab "\\:{}[],\n\tä😀'), min_size=1, max_size=12).filter(str.strip)
PROMPTS = TEXTS | st.lists(TEXTS, min_size=1, max_size=3).map(
    lambda said: talk(*said, *(["u"] if len(said) % 2 == 0 else []))
)
NOTES = st.fixed_dictionaries(
    {},
    optional={
        "annotator": TEXTS,
        "source": TEXTS,
        "margin": st.integers(0, 9) | st.sampled_from([0.5, 2.25]),
        "time": st.just("2026-01-31T12:00:00Z"),
    },
)
SIDES = st.lists(TEXTS, min_size=2, max_size=2, unique=True)


@st.composite
def pairs(draw: st.DrawFn, labels: list[str | None]) -> Row:
    a, b = draw(SIDES)
    return {"prompt": draw(PROMPTS), "a": a, "b": b, "label": draw(st.sampled_from(labels))} | draw(NOTES)


@st.composite
def rankings(draw: st.DrawFn) -> Row:
    texts = draw(st.lists(TEXTS, min_size=2, max_size=4, unique=True))
    ranks: Any = draw(st.none() | st.lists(st.integers(1, 3), min_size=len(texts), max_size=len(texts)))
    notes = {name: value for name, value in draw(NOTES).items() if name != "margin"}
    return {"prompt": draw(PROMPTS), "completions": texts, "ranks": ranks} | notes


def preferred(row: Row) -> tuple[Any, ...]:
    """The meaning of a pair in either order of its sides. A text and one user message have the same meaning."""
    first, second = (row["a"], row["b"]) if row["label"] == "a" else (row["b"], row["a"])
    return prompt_key(row["prompt"]), first, second, row.get("margin"), row.get("annotator"), row.get("time")


@settings(max_examples=30)
@given(st.lists(pairs(["a", "b"]), min_size=1, max_size=4))
def test_export_trl_pairs_round_trip(rows: list[Row]) -> None:
    content, _ = exported([canonical(P, row) for row in rows], "trl")
    assert [preferred(row) for row in read(content).rows] == [preferred(row) for row in rows]


@settings(max_examples=30)
@given(st.lists(pairs(["a", "b"]), min_size=1, max_size=4))
def test_export_openai_pairs_round_trip_without_notes(rows: list[Row]) -> None:
    content, _ = exported(rows, "openai")
    assert [preferred(row)[:3] for row in read(content).rows] == [preferred(row)[:3] for row in rows]


def same_prompts(rows: list[Row]) -> list[Row]:
    return [row | {"prompt": messages(row["prompt"])} for row in rows]


@settings(max_examples=30)
@given(st.lists(pairs(["a", "b", "tie", None]) | rankings(), min_size=1, max_size=4))
def test_export_parquet_and_rows_round_trip_every_row(rows: list[Row]) -> None:
    rows = [*rows, PAIR | {"label": "a"}]  # nothing but ties would be refused
    assert same_prompts(read(exported(rows, "parquet")[0], "x.parquet", kind="preferences").rows) == same_prompts(rows)
    assert read(exported(rows, "rows")[0], format="rows", kind="preferences").rows == rows


@settings(max_examples=20)
@given(st.lists(st.fixed_dictionaries({"prompt": PROMPTS, "completion": TEXTS}) | TEXTS.map(lambda said: {"messages": talk(said, "z")}), min_size=1, max_size=4))  # fmt: skip
@pytest.mark.parametrize("format", ["trl", "parquet", "rows"])
def test_export_demonstrations_round_trip(format: str, rows: list[Row]) -> None:
    found = read(exported(rows, format, S)[0], "x", kind="sft").rows
    prompted = [row if "messages" in row else row | {"prompt": messages(row["prompt"])} for row in found]
    assert prompted == [row if "messages" in row else row | {"prompt": messages(row["prompt"])} for row in rows]
