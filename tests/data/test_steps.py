"""Labelled steps: how files with a label for each step are read, refused, stored, reported on and exported."""

import io
import json
from typing import Any

import orjson
import pyarrow.parquet as parquet
import pytest

from data import rows
from data.errors import InvalidOption, RowError
from data.export import ExportFormat, export
from data.rows import Solution
from data.schema import DatasetKind
from tests.data.reading import errors, jsonl, read, rows_of, talk

Row = dict[str, Any]
OWN: list[Row] = [
    {"prompt": "p", "steps": ["x", "y"], "labels": ["good", "bad"], "annotator": "kim", "time": "2026-01-31T12:00:00Z"},
    {"prompt": talk("q"), "steps": ["z"], "labels": ["good"], "source": "app"},
]
TRL: Row = {"prompt": "p", "completions": ["x", "y", "z"], "labels": [True, True, False]}


def test_rows_of_the_platform_are_steps() -> None:
    found = read(jsonl(*OWN))
    assert (found.plan.format, found.plan.kind) == ("rows", "steps")
    assert found.rows == OWN
    assert rows.solution(found.rows[1]) == Solution(talk("q"), ["z"], ["good"], source="app")


@pytest.mark.parametrize(
    ("labels", "meant"),
    [
        ([True, True, False], ["good", "good", "bad"]),
        ([1, 0, -1], ["good", "neutral", "bad"]),
        ([1, 1, 1], ["good", "good", "good"]),
        (["1", "0", "-1"], ["good", "neutral", "bad"]),
        (["+", "+", "-"], ["good", "good", "bad"]),
        (["correct", "neutral", "incorrect"], ["good", "neutral", "bad"]),
    ],
)
def test_labels_of_trl_files_are_read(labels: list[Any], meant: list[str]) -> None:
    found = read(jsonl(TRL | {"labels": labels}))
    assert (found.plan.format, found.plan.kind) == ("trl_stepwise", "steps")
    assert found.rows == [{"prompt": "p", "steps": ["x", "y", "z"], "labels": meant}]


@pytest.mark.parametrize(
    ("change", "pointer", "said"),
    [
        ({"labels": [True, False]}, "/labels", "2 labels for 3 completions"),
        ({"labels": [True, "bad", False]}, "/labels", "mix true and false with words"),
        ({"labels": [1, True, -1]}, "/labels/1", "mix numbers with other labels"),
        ({"labels": [1, 0, 1]}, "/labels/1", "is 0, which is bad beside 1 and neutral beside -1"),
        ({"labels": [0.9, 0.2, 0.1]}, "/labels/0", "a score of another scale"),
        ({"labels": ["good", "blue", "bad"]}, "/labels/1", "must be true or false"),
        ({"labels": [True, None, False]}, "/labels/1", "must be true or false"),
        ({"completions": ["x", " ", "z"]}, "/completions/1", "is empty"),
        ({"completions": ["x", 3, "z"]}, "/completions/1", "must be text"),
    ],
)
def test_a_broken_trl_row_names_line_and_field(change: Row, pointer: str, said: str) -> None:
    (error,) = errors(jsonl(TRL, TRL | change), format="trl_stepwise", kind="steps")
    assert error["line"] == 2 and said in error["detail"] and error["pointer"] == pointer


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"labels": ["good"]}, "`labels` has 1 labels for 2 steps"),
        ({"labels": ["good", True]}, "`labels/1` must not mix true and false with words"),
        ({"labels": [True, "good"]}, "`labels/1` must not mix true and false with words"),
        ({"labels": ["good", "fine"]}, "`labels/1` must be one of good, neutral, bad"),
        ({"labels": [1, -1]}, "`labels/0` must be one of good, neutral, bad"),
        ({"steps": [], "labels": []}, "`steps` must be a list of 1 to 1000 texts"),
        ({"steps": ["x", ""]}, "`steps/1` is empty"),
        ({"completion": "x"}, "Unknown field 'completion'"),
    ],
)
def test_the_trainer_refuses_a_broken_row(change: Row, said: str) -> None:
    with pytest.raises(RowError) as error:
        rows.solution({"prompt": "p", "steps": ["x", "y"], "labels": ["good", "bad"]} | change)
    assert error.value.sentence().startswith(said)


def test_the_mapping_states_what_zero_means() -> None:
    mapping = {
        "fields": {"prompt": "q", "steps": "parts", "step_labels": "marks"},
        "labels": {"0": "bad", "1": "good"},
    }
    record = {"q": "p", "parts": ["x", "y"], "marks": [1, 0]}
    assert rows_of(record, mapping=mapping) == [{"prompt": "p", "steps": ["x", "y"], "labels": ["good", "bad"]}]


def test_sft_takes_solutions_without_a_wrong_step() -> None:
    good = TRL | {"labels": [True, True, True]}
    assert rows_of(good, kind="sft") == [{"prompt": "p", "completion": "x\ny\nz"}]
    assert "a wrong solution is nothing to imitate" in errors(jsonl(good, TRL), kind="sft")[0]["detail"]


def test_a_further_verdict_beside_the_steps_is_named() -> None:
    found = read(jsonl(*[TRL | {"prompt": f"p{n}", "is_correct": n % 2 == 0} for n in range(4)]))
    assert "is_correct" in found.finding("verdicts_ignored")["detail"]


def test_math_shepherd_without_its_signs_is_refused() -> None:
    record = {"input": "q? Step 1: a. ки\nStep 2: b ки", "label": "q? Step 1: a. +\nStep 2: c -"}
    (error,) = errors(jsonl(record), format="math_shepherd")
    assert "it differs at step 2" in error["detail"]


def test_an_unrated_step_of_prm800k_is_counted() -> None:
    steps = [
        {"completions": [{"text": "a", "rating": 1}, {"text": "b", "rating": None}], "chosen_completion": 0},
        {"completions": [{"text": "c", "rating": None}], "chosen_completion": 0},
    ]
    found = read(jsonl({"question": {"problem": "p"}, "label": {"steps": steps}}))
    assert found.rows == [{"prompt": "p", "steps": ["a"], "labels": ["good"]}]
    assert found.finding("unrated_steps")["count"] == 2


def exported(format: ExportFormat, *more: Row) -> bytes:
    content = b"".join(orjson.dumps(row) + b"\n" for row in (*read(jsonl(*OWN)).rows, *more))
    made = export(lambda: io.BytesIO(content), DatasetKind.STEPS, format)
    assert made.left_out == len(more)
    return b"".join(made.body)


def test_exports_are_read_back_as_the_same_rows() -> None:
    neutral = {"prompt": "r", "steps": ["x"], "labels": ["neutral"]}
    trl = [json.loads(line) for line in exported(ExportFormat.TRL, neutral).splitlines()]
    assert [row["labels"] for row in trl] == [[True, False], [True]] and "steps" not in trl[0]
    back = read(exported(ExportFormat.TRL)).rows
    assert [(row["steps"], row["labels"]) for row in back] == [(row["steps"], row["labels"]) for row in OWN]
    table = parquet.read_table(io.BytesIO(exported(ExportFormat.PARQUET)))
    assert table.column("labels").to_pylist() == [["good", "bad"], ["good"]]
    assert read(exported(ExportFormat.PARQUET), "file.parquet").plan.kind == "steps"
    with pytest.raises(InvalidOption, match="labels of steps"):
        exported(ExportFormat.LLAMA_FACTORY)
