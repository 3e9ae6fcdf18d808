"""Two sides whose prompt, or part of it, stands beside them under a name of its own."""

from typing import Any

import pytest

from data.errors import UnclearFormat
from tests.data.reading import Row, jsonl, read, rows_of, talk

SIDES = {"chosen": "The capital of France is Paris.", "rejected": "The capital of France is Rome."}
SAYS_SO = {"role": "system", "content": "Be brief."}


@pytest.mark.parametrize(
    "beside",
    [
        {"query": "What is the capital of France?"},
        {"context": "What is the capital of France?"},
        {"trajectory": [{"from": "user", "value": "What is the capital of France?"}]},
        {"task": "What is the capital of the country that lies between Spain and Belgium?"},
    ],
)
def test_shared_beginning_beside_a_prompt_column_is_unclear(beside: Row) -> None:
    with pytest.raises(UnclearFormat):
        read(jsonl(SIDES | beside))


@pytest.mark.parametrize(
    "beside",
    [{"chosen_model": "one", "rejected_score": 2}, {"source": "s" * 80}, {"id": 1, "meta": {"a": 1}, "tags": ["t"]}],
)
def test_notes_beside_two_texts_are_no_prompt(beside: Row) -> None:
    assert read(jsonl(SIDES | beside)).plan.format == "trl_implicit"


@pytest.mark.parametrize("side", [lambda text: text, lambda text: talk("", text)[1:], lambda text: talk("", text)[1]])
@pytest.mark.parametrize("name", ["messages", "conversations", "conversation"])
def test_a_conversation_and_answers_in_any_spelling(name: str, side: Any) -> None:
    record = {name: talk("q"), "chosen": side("x"), "rejected": side("y")}
    assert rows_of(record) == [{"prompt": talk("q"), "a": "x", "b": "y", "label": "a"}]


def test_answers_of_one_message_have_no_prompt_in_them() -> None:
    with pytest.raises(UnclearFormat):
        read(jsonl({"query": "q", "chosen": talk("", "x")[1:], "rejected": talk("", "y")[1:]}))


@pytest.mark.parametrize(
    ("scores", "format"),
    [({}, "trl_conversational"), ({"chosen_score": 3, "rejected_score": 1}, "ultrafeedback_binarized")],
)
def test_whole_conversations_beside_their_instruction(scores: Row, format: str) -> None:
    found = read(jsonl({"instruction": "q", "chosen": talk("q", "x"), "rejected": talk("q", "y")} | scores))
    assert found.plan.format == format
    assert found.rows == [{"prompt": talk("q"), "a": "x", "b": "y", "label": "a"} | ({"margin": 2} if scores else {})]


def test_system_message_that_the_sides_omit_is_added_once() -> None:
    record = {"prompt": [SAYS_SO, *talk("q")], "chosen": talk("q", "x"), "rejected": talk("q", "y")}
    assert rows_of(record)[0]["prompt"] == [SAYS_SO, *talk("q")]


@pytest.mark.parametrize(
    ("format", "records"),
    [
        ("trl_explicit", [{"prompt": talk("q"), "chosen": "x", "rejected": "y"}]),
        ("trl_conversational", [{"chosen": talk("q", "x"), "rejected": talk("q", "y")}]),
        ("trl_unpaired", [{"prompt": "q", "completion": text, "label": text == "x"} for text in "xy"]),
        ("scored_answers", [{"prompt": "q", "response": text, "score": score} for text, score in (("x", 2), ("y", 1))]),
        ("rankings", [{"prompt": "q", "responses": ["x", "y"], "scores": [2, 1]}]),
        ("ranked_answers", [{"prompt": "q", "answers": [{"answer": "x", "rank": 1}, {"answer": "y", "rank": 2}]}]),
        ("unlabelled", [{"prompt": "q", "response_a": "x", "response_b": "y"}]),
        ("prompt_completion", [{"prompt": "q", "completion": "x"}]),
        ("prompts", [{"prompt": "q"}]),
    ],
)
def test_the_system_message_beside_a_prompt_goes_before_it(format: str, records: list[Row]) -> None:
    found = read(jsonl(*(record | {"system": "Be brief."} for record in records)))
    assert found.plan.format == format
    assert [row["prompt"] for row in found.rows] == [[SAYS_SO, *talk("q")]]


def test_input_of_unlabelled_answers_is_appended_to_the_prompt() -> None:
    record = {"prompt": "Shorten.", "input": "A long text.", "response_a": "x", "response_b": "y"}
    assert rows_of(record)[0]["prompt"] == "Shorten.\nA long text."


@pytest.mark.parametrize("name", ["annotator_id", "annotation", "sources", "prompt_1", "times", "prompts"])
def test_names_that_go_on_are_no_misspelling(name: str) -> None:
    assert len(rows_of({"prompt": "q", "chosen": "x", "rejected": "y", name: "s"}, format="trl_explicit")) == 1


@pytest.mark.parametrize("name", ["margn", "soruce", "anotator", "sourse"])
def test_one_slip_of_the_finger_is_one(name: str) -> None:
    bad = {"prompt": "q", "chosen": "x", "rejected": "y", name: 1}
    good = {"prompt": "q", "chosen": "x", "rejected": "y"}
    assert read(jsonl(good, bad), format="trl_explicit").found == {"unknown_field": [2]}


def test_notes_under_their_usual_names_are_kept() -> None:
    record = {"prompt": "q", "chosen": "x", "rejected": "y", "annotator_id": 7, "created_at": "2026-01-31T12:00:00Z"}
    record |= {"rating_chosen": 5, "rating_rejected": 3.5}
    (row,) = rows_of(record)
    assert (row["annotator"], row["time"], row["margin"]) == ("7", "2026-01-31T12:00:00Z", 1.5)
