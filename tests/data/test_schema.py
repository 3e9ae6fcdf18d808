"""The canonical form of rows. The trainer reads the same rows."""

import json
from typing import Any

import pytest

from data import rows
from data.errors import RowError
from data.schema import DatasetKind, canonical
from tests.data.reading import jsonl, read, talk

P, S, Q, T = DatasetKind.PREFERENCES, DatasetKind.SFT, DatasetKind.PROMPTS, DatasetKind.PRETRAINING
TALK = [*talk("u", "a"), {"role": "user", "content": "v"}]
TURN = [{"role": "assistant", "content": "a"}]
GOOD = {"prompt": "p", "chosen": "c", "rejected": "r"}
STORED = {"prompt": "p", "a": "c", "b": "r", "label": "a"}
PAIR = {"prompt": "p", "a": "x", "b": "y"}
NOTES = {"annotator": "me", "margin": 0.5, "source": "s", "time": "2026-01-31T12:00:00+01:00"}


@pytest.mark.parametrize(
    ("kind", "record", "stored"),
    [
        (P, GOOD, STORED),
        (P, PAIR | {"label": "b"} | NOTES, PAIR | {"label": "b"} | NOTES),
        (P, GOOD | {"margin": None, "source": None}, STORED),
        (
            P,
            GOOD | {"prompt": talk("u", system="s"), "chosen": TURN},
            STORED | {"prompt": talk("u", system="s"), "a": "a"},
        ),
        (P, PAIR | {"label": None}, PAIR | {"label": None}),
        (P, {"prompt": "p", "completions": ["x", "y"]}, {"prompt": "p", "completions": ["x", "y"], "ranks": None}),
        (
            P,
            {"prompt": "p", "completions": ["x", TURN, "z"], "ranks": [2, 1, 2], "annotator": "me"},
            {"prompt": "p", "completions": ["x", "a", "z"], "ranks": [2, 1, 2], "annotator": "me"},
        ),
        (S, {"prompt": "p", "completion": TURN}, {"prompt": "p", "completion": "a"}),
        (S, {"messages": TALK}, {"messages": TALK}),
        (S, {"messages": TALK, "prompt": "p"}, {"messages": TALK}),
        (Q, {"prompt": "ä ä"}, {"prompt": "ä ä"}),
        (Q, {"prompt": "p", "answer": "42"}, {"prompt": "p", "answer": "42"}),
        (Q, {"prompt": "p", "answer": 4.5}, {"prompt": "p", "answer": 4.5}),
        (Q, {"prompt": "p", "answer": 0}, {"prompt": "p", "answer": 0}),
        (Q, {"prompt": "p", "answer": None}, {"prompt": "p"}),
        (Q, {"prompt": "p", "answer": {"é": [1, "x"]}}, {"prompt": "p", "answer": '{"é": [1, "x"]}'}),
        (Q, {"prompt": "p", "answer": [1, 2.5]}, {"prompt": "p", "answer": "[1, 2.5]"}),
        (T, {"text": " a\nb", "source": "s"}, {"text": " a\nb", "source": "s"}),
    ],
)
def test_rows_are_stored_in_canonical_form(kind: DatasetKind, record: dict[str, Any], stored: dict[str, Any]) -> None:
    assert read(jsonl(record), kind=kind.value).rows == [stored]


def test_forms_may_be_mixed_in_one_file() -> None:
    ranking = {"prompt": "p", "completions": ["x", "y"], "ranks": [1, 2]}
    found = read(jsonl(GOOD, PAIR | {"label": "tie"}, ranking))
    assert (found.plan.format, found.rows) == ("rows", [STORED, PAIR | {"label": "tie"}, ranking])


def test_trainer_reads_every_stored_row() -> None:
    """Each form, through the trainer's own reader: the two packages know the same rows."""
    ranked = {"prompt": "r", "completions": ["x", "y", "z"], "ranks": [1, 2, 2]}
    pairs = [
        pair for row in read(jsonl(PAIR | {"label": "tie"} | NOTES, ranked)).rows for pair in rows.comparisons(row, 9)
    ]
    assert pairs[0] == rows.Comparison("p", "x", "y", "tie", **NOTES)  # type: ignore[arg-type]
    assert [(pair.a, pair.b, pair.label) for pair in pairs[1:]] == [("x", "y", "a"), ("x", "z", "a"), ("y", "z", "tie")]
    (shown,) = read(jsonl({"messages": TALK})).rows
    assert rows.demonstration(shown) == rows.Demonstration([{"role": "user", "content": "u"}], "a")
    (asked,) = read(jsonl({"prompt": "q", "answer": 7})).rows
    assert rows.prompt_row(asked) == rows.PromptRow("q", "7")
    (written,) = read(jsonl({"text": "more", "source": "s"})).rows
    assert rows.text(written) == "more"


@pytest.mark.parametrize("row", [PAIR | {"label": None}, {"prompt": "p", "completions": ["x", "y"], "ranks": None}])
def test_trainer_skips_unlabelled_rows(row: dict[str, Any]) -> None:
    assert canonical(P, row) == row
    assert rows.comparisons(row, 1) == []


def test_schema_unlabelled_pair_requires_a_null_label() -> None:
    with pytest.raises(RowError, match="'label' is missing"):
        canonical(P, dict(PAIR))


def test_a_canonical_row_is_its_own_canonical_form() -> None:
    stored = canonical(P, json.loads(json.dumps(PAIR | {"label": "a"} | NOTES)))
    assert canonical(P, stored) == stored


@pytest.mark.parametrize(
    ("value", "text"), [(7, "7"), (7.0, "7"), (-1, "-1"), (10**20, "100000000000000000000"), ("7.0", "7.0")]
)
def test_annotator_that_is_a_number_becomes_text(value: object, text: str) -> None:
    row = canonical(
        DatasetKind.PREFERENCES, {"prompt": "p", "chosen": "x", "rejected": "y", "annotator": value, "source": value}
    )
    assert (row["annotator"], row["source"]) == (text, text)


@pytest.mark.parametrize("value", [True, 7.5, float("nan"), float("inf"), 1e300, [7]])
def test_annotator_that_is_no_id_is_refused(value: object) -> None:
    with pytest.raises(RowError, match="must be text"):
        canonical(DatasetKind.PREFERENCES, {"prompt": "p", "chosen": "x", "rejected": "y", "annotator": value})


@pytest.mark.parametrize("name", ["feedback", "liked", "is_good", "score"])
def test_verdict_beside_a_demonstration_names_data_thumbs(name: str) -> None:
    with pytest.raises(RowError, match=rf"unknown field '{name}'.*`data\.thumbs` of a run"):
        canonical(DatasetKind.SFT, {"prompt": "q", "completion": "x", name: "bad"})
    with pytest.raises(RowError) as bad:
        canonical(DatasetKind.SFT, {"prompt": "q", "completion": "x", "lang": "en"})
    assert "thumbs" not in bad.value.detail
