"""Which of several questions the preference is, in each way in which Argilla writes records."""

from typing import Any

import pytest

from data.errors import UnclearFormat
from tests.data.reading import Row, jsonl, read, rows_of, talk

ASKED = {"prompt": "q", "response1": "x", "response2": "y"}


def said(*values: Any, user: str = "kim", status: str = "submitted") -> list[Row]:
    return [{"user_id": user, "value": value, "status": status} for value in values]


def labels(**questions: Any) -> list[Any]:
    return [row["label"] for row in rows_of(ASKED | questions)]


def test_argilla_rating_question_is_no_preference() -> None:
    assert labels(**{"quality.responses": [2], "preference.responses": ["response1"]}) == ["a"]


def test_a_rating_before_a_ranking_of_the_first_version() -> None:
    ranking = [{"rank": 1, "value": "response1"}, {"rank": 2, "value": "response2"}]
    assert labels(**{"prompt-quality": said(2), "ranking": said(ranking)}) == ["a"]


@pytest.mark.parametrize("comment", ["the second is dull", "none", "both"])
def test_a_comment_before_the_preference_is_passed_over(comment: str) -> None:
    assert labels(**{"comment.responses": [comment], "preference.responses": ["response2"]}) == ["b"]


def test_argilla_ratings_are_ranked_for_each_annotator() -> None:
    ratings = {
        "response1_rating.responses": [1, 4],
        "response1_rating.responses.users": ["kim", "lee"],
        "response2_rating.responses": [4, 5],
        "response2_rating.responses.users": ["lee", "kim"],
    }
    rows = rows_of(ASKED | ratings)
    assert [(row["annotator"], row["label"]) for row in rows] == [("kim", "b"), ("lee", "tie")]


def test_distilabels_ratings_of_three_generations() -> None:
    record: Row = {"input": "q", **{f"generations-{n}": text for n, text in ((1, "x"), (2, "y"), (3, "z"))}}
    record |= {f"generations-{n}-rating": said(rating) for n, rating in ((1, 2), (2, 5), (3, 2))}
    (row,) = rows_of(record | {"ratings-rationale": said("none")})
    assert (row["completions"], row["ranks"]) == (["x", "y", "z"], [2, 1, 2])


def test_argilla_preference_without_answer_is_unlabelled() -> None:
    assert labels(**{"comment.responses": ["fine"], "preference.responses": None}) == [None]


def test_a_rating_of_the_whole_record_compares_nothing() -> None:
    record = jsonl(ASKED | {"quality.responses": [2]})
    with pytest.raises(UnclearFormat, match=r"`quality\.responses` looks like a verdict"):
        read(record)
    found = read(record, ignore=["quality.responses"])
    assert (found.plan.format, found.rows[0]["label"]) == ("unlabelled", None)


def test_argilla_json_records_separate_fields_and_answers() -> None:
    record = {
        "id": "1",
        "status": "completed",
        "fields": ASKED,
        "responses": {
            "quality": [{"value": 2, "user_id": "kim"}],
            "preference": [{"value": "response1", "user_id": "kim"}, {"value": "response2", "user_id": "lee"}],
        },
        "suggestions": {},
    }
    found = read(jsonl(record))
    assert found.plan.format == "argilla_records"
    assert found.rows == [
        {"prompt": "q", "a": "x", "b": "y", "label": "a", "annotator": "kim"},
        {"prompt": "q", "a": "x", "b": "y", "label": "b", "annotator": "lee"},
    ]


def test_argilla_server_records_have_answers_by_user() -> None:
    def answered(user: str, value: str, status: str) -> Row:
        return {"user_id": user, "status": status, "values": {"preference": {"value": value}}}

    people = [answered("kim", "response2", "submitted"), answered("lee", "response1", "discarded")]
    (row,) = rows_of({"fields": ASKED, "responses": people})
    assert (row["label"], row["annotator"]) == ("b", "kim")


def test_argilla_parquet_question_of_parallel_lists_is_read() -> None:
    question = {"user_id": ["kim", "lee"], "value": ["response2", "response1"], "status": ["submitted", "draft"]}
    (row,) = rows_of(ASKED | {"preference": question})
    assert (row["label"], row["annotator"]) == ("b", "kim")


def test_argilla_chat_field_is_the_prompt() -> None:
    record = {"chat": talk("hi", "hello", "q"), "response_1": "x", "response_2": "y"}
    found = read(jsonl(record | {"preference.responses": ["response_2"], "preference.responses.users": ["kim"]}))
    assert found.plan.format == "argilla_records"
    assert found.rows == [{"prompt": talk("hi", "hello", "q"), "a": "x", "b": "y", "label": "b", "annotator": "kim"}]


def test_argilla_is_detected_if_most_records_are_unanswered() -> None:
    record = {"prompt": "q", "response-1": "x", "response-2": "y"}
    answered = record | {"preference": said("response-2")}
    found = read(jsonl(*[record | {"preference": []}] * 9, answered))
    assert (found.plan.format, [row["label"] for row in found.rows]) == ("argilla_records", [None] * 9 + ["b"])
    assert found.found == {"unlabelled": [*range(1, 10)]}


@pytest.mark.parametrize(
    "question",
    [
        {"preference": said("response1", status="draft") + said("response2", status="discarded", user="lee")},
        {"preference": {"user_id": [], "value": [], "status": []}},
        {"best": [], "best-suggestion": "response1", "best-suggestion-metadata": {"agent": "m", "score": None}},
        {"best.responses": None, "best.suggestion": "response1", "best.suggestion.score": None},
    ],
)
def test_argilla_draft_answers_are_unlabelled(question: Row) -> None:
    found = read(jsonl(ASKED | question))
    assert (found.plan.format, found.rows) == (
        "argilla_records",
        [{"prompt": "q", "a": "x", "b": "y", "label": None}],
    )
    assert found.found == {"unlabelled": [1]}


def test_an_empty_list_does_not_hide_a_label() -> None:
    with pytest.raises(UnclearFormat):
        read(jsonl({"prompt": "q", "response-1": "x", "response-2": "y", "verdict_label": 1, "tags": []}))


@pytest.mark.parametrize(
    ("names", "answer", "label"),
    [
        (("response_a", "response_b"), "B", "b"),
        (("response_b", "response_a"), "B", "a"),
        (("generation_1", "generation_2"), "B", "b"),
        (("generation_0", "generation_1"), "A", "a"),
        (("response_1", "response_2"), "2", "b"),
        (("response_0", "response_1"), "1", "b"),
    ],
)
def test_answers_are_named_by_their_number_or_letter(names: tuple[str, str], answer: str, label: str) -> None:
    record = {"prompt": "q", names[0]: "x", names[1]: "y", "preference.responses": [answer]}
    assert rows_of(record)[0]["label"] == label


def test_ratings_may_be_numbered_as_the_answers_are() -> None:
    record = {"prompt": "q", "response_1": "x", "response_2": "y"}
    assert rows_of(record | {"rating_2.responses": [5], "rating_1.responses": [2]})[0]["label"] == "b"
    with pytest.raises(UnclearFormat, match=r"`criterion_1\.responses` looks like a verdict"):
        read(jsonl(record | {"criterion_1.responses": [2], "criterion_2.responses": [5]}))


def test_argilla_contradicting_questions_are_named_with_the_used() -> None:
    found = read(
        jsonl(
            ASKED | {"helpful.responses": ["response1"], "truth.responses": ["response2"]},
            ASKED | {"helpful.responses": ["response2"], "truth.responses": ["response2"]},
        )
    )
    assert [row["label"] for row in found.rows] == ["a", "b"]
    assert found.found == {"questions_disagree": [1]}
    assert (
        found.finding("questions_disagree")["detail"]
        == "`truth` prefers another answer than `helpful`, which was used."
    )


def test_argilla_answer_list_is_an_order_only_for_ranking() -> None:
    chosen = said(["response2", "response1"])
    assert labels(ranking=chosen) == ["b"]
    found = read(jsonl(ASKED | {"ranking": chosen}, ASKED | {"good_ones": chosen}), format="argilla_records")
    assert (found.lines, found.found) == ([1], {"bad_label": [2]})
