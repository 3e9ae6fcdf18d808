"""The meaning of label values: by the mapping, by a suggestion, and values without a meaning."""

import io
from typing import Any

import pytest

from data.columns import columns_of
from data.detect import detect
from data.files.streams import Limits
from data.formats.guess import guess
from tests.data.reading import Row, jsonl, read

SIDES = {"prompt": "q", "response_0": "x", "response_1": "y"}
FIELDS = {"prompt": "prompt", "a": "response_0", "b": "response_1", "label": "choice"}


def suggested(*values: Any, sides: Row = SIDES) -> dict[str, str]:
    content = jsonl(*(sides | {"choice": value} for value in values))
    mapping = detect(lambda: io.BytesIO(content), "x.jsonl", Limits()).suggested
    assert mapping is not None
    labels: dict[str, str] = mapping["labels"]
    return labels


def labels(values: list[Any], mapped: dict[str, str]) -> list[Any]:
    content = jsonl(*(SIDES | {"choice": value} for value in values))
    return [row["label"] for row in read(content, mapping={"fields": FIELDS, "labels": mapped}).rows]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((0, 1), {"0": "a", "1": "b"}),
        ((0.0, 1.0), {"0.0": "a", "1.0": "b"}),
        ((1, 1), {"1": "b"}),
        ((2, 1, 1), {}),
        ((0, 1, 2), {}),
        ((-1, 1), {}),
        (("model_a", "Tie", "who knows"), {"model_a": "a", "Tie": "tie"}),
        (("response_1", "response_0"), {"response_0": "a", "response_1": "b"}),
        ((True, False), {}),
    ],
)
def test_labels_are_suggested_where_the_columns_state_them(values: Any, expected: dict[str, str]) -> None:
    assert suggested(*values) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((1, 2), {"1": "a", "2": "b"}),
        ((0, 1, 2), {"1": "a", "2": "b"}),  # 0 may be a tie, or "neither"
        ((0, 1), {"1": "a"}),
        ((1, 2, 3, 4, 5), {}),
    ],
)
def test_numbers_are_suggested_for_the_columns_that_are_named_so(values: Any, expected: dict[str, str]) -> None:
    assert suggested(*values, sides={"prompt": "q", "response_1": "x", "response_2": "y"}) == expected


@pytest.mark.parametrize("values", [(0, 1), (1, 2), (0, 1, 2), (-1, 1)])
def test_labels_numeric_values_get_no_suggested_meaning(values: Any) -> None:
    assert suggested(*values, sides={"prompt": "q", "response_a": "x", "response_b": "y"}) == {}


def test_suggested_mapping_reads_the_file() -> None:
    assert labels([0, 1, 0], suggested(0, 1, 0)) == ["a", "b", "a"]


def test_labels_numbers_have_no_meaning_without_mapping() -> None:
    found = read(jsonl(*(SIDES | {"choice": value} for value in (0, 1, "left"))), mapping={"fields": FIELDS})
    assert found.found == {"bad_label": [1, 2]}
    assert "is a number: give the values" in found.finding("bad_label")["detail"]


def test_labels_common_value_mapped_to_null_is_a_bad_label() -> None:
    """The mapping marks the value as not usable."""
    content = jsonl(*(SIDES | {"choice": value} for value in ("tie", "left", "B")))
    found = read(content, mapping={"fields": FIELDS, "labels": {"tie": None, "left": "a"}})
    assert ([row["label"] for row in found.rows], found.found) == (["a", "b"], {"bad_label": [1]})
    assert "mapping marks the label 'tie' as not usable" in found.finding("bad_label")["detail"]


def test_true_and_spaces_are_looked_up_as_they_are_shown() -> None:
    assert labels([True, False], {"true": "a", "false": "b"}) == ["a", "b"]
    assert labels([" A ", "A", "B"], {" A ": "b", "B": "a"}) == ["b", "b", "a"]


def test_labels_values_outside_the_mapping_keep_their_meaning() -> None:
    assert labels(["model_a", "model_b", "tie"], {"model_a": "a"}) == ["a", "b", "tie"]


def test_labels_value_in_conflict_with_mapping_is_a_bad_label() -> None:
    content = jsonl(*(SIDES | {"choice": value} for value in ("model_a", "model_b")))
    found = read(content, mapping={"fields": FIELDS, "labels": {"model_a": "b"}})
    assert (found.lines, found.found) == ([1], {"bad_label": [2]})


def test_an_object_with_several_texts_is_no_prompt() -> None:
    record = {"post": {"dataset": "eli5", "body": "q"}, "left": {"text": "x"}, "right": {"text": "y"}, "vote": "left"}
    mapping = detect(lambda: io.BytesIO(jsonl(record)), "x.jsonl", Limits()).suggested
    assert mapping == {"fields": {"a": "left.text", "b": "right.text", "label": "vote"}, "labels": {"left": "a"}}


def fields(*records: Row) -> Any:
    mapping = guess(columns_of(list(records), None))
    return mapping and mapping["fields"]


def test_pandalms_training_records_have_a_label_and_an_input() -> None:
    record = {
        "inputs": {"instruction": "i", "input": "n", "response1": "x", "response2": "y"},
        "outputs": {"evaluation_result": "2", "evaluation_reason": "because"},
    }
    tie = record | {"outputs": {"evaluation_result": "Tie"}}
    first = record | {"outputs": {"evaluation_result": "1"}}
    mapping = detect(lambda: io.BytesIO(jsonl(record, tie, first)), "x.jsonl", Limits()).suggested
    assert mapping is not None and mapping["labels"] == {"1": "a", "2": "b", "Tie": "tie"}
    rows = read(jsonl(record, tie, first), mapping=mapping).rows
    assert [(row["prompt"], row["label"]) for row in rows] == [("i\nn", "b"), ("i\nn", "tie"), ("i\nn", "a")]


ASKED = {"task": "t", "query": "q", "generation": "x"}


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        ({}, {"prompt": "query", "completion": "generation"}),
        ({"analysis_score": 0.5}, {"prompt": "query", "completion": "generation", "score": "analysis_score"}),
        ({"quality_tag": False}, {"prompt": "query", "completion": "generation", "score": "quality_tag"}),
        ({"label": "toxic"}, None),
        ({"is_toxic": True}, None),
        ({"quality.responses": ["good"], "quality.responses.users": ["kim"]}, None),
    ],
)
def test_suggested_mapping_has_no_completion_beside_a_verdict(verdict: Row, expected: Row | None) -> None:
    assert fields(ASKED | verdict) == expected


def test_thumbs_under_a_mapping_rank_the_answers() -> None:
    records = [
        {"q": "q", "x": answer, "tag": tag} for answer, tag in (("bad", False), ("good", True), ("fine", "True"))
    ]
    mapping = {"fields": {"prompt": "q", "completion": "x", "score": "tag"}}
    assert read(jsonl(*records), mapping=mapping).rows == [
        {"prompt": "q", "completions": ["bad", "good", "fine"], "ranks": [2, 1, 1]}
    ]


@pytest.mark.parametrize(("a", "b"), [("edited_response", "original_response"), ("response_j", "response_k")])
def test_suggested_mapping_neutral_names_are_sides_a_and_b(a: str, b: str) -> None:
    assert fields({"context": "q", b: "x", a: "y"}) == {"prompt": "context", "a": a, "b": b}
