"""Which of several questions the preference is, in each way in which Argilla writes records."""

from typing import Any

import pytest

from tests.core.datasets.reading import Row, jsonl, read, rows_of

ASKED = {"prompt": "q", "response1": "x", "response2": "y"}


def said(*values: Any, user: str = "kim", status: str = "submitted") -> list[Row]:
    return [{"user_id": user, "value": value, "status": status} for value in values]


def labels(**questions: Any) -> list[Any]:
    return [row["label"] for row in rows_of(ASKED | questions)]


def test_a_rating_is_no_preference_though_it_comes_first() -> None:
    assert labels(**{"quality.responses": [2], "preference.responses": ["response1"]}) == ["a"]


def test_a_rating_before_a_ranking_of_the_first_version() -> None:
    ranking = [{"rank": 1, "value": "response1"}, {"rank": 2, "value": "response2"}]
    assert labels(**{"prompt-quality": said(2), "ranking": said(ranking)}) == ["a"]


@pytest.mark.parametrize("comment", ["the second is dull", "none", "both"])
def test_a_comment_before_the_preference_is_passed_over(comment: str) -> None:
    assert labels(**{"comment.responses": [comment], "preference.responses": ["response2"]}) == ["b"]


def test_ratings_of_each_answer_are_ranked_person_by_person() -> None:
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


def test_a_preference_that_nobody_gave_yet_waits() -> None:
    assert labels(**{"comment.responses": ["fine"], "preference.responses": None}) == [None]


def test_a_rating_of_the_whole_record_compares_nothing() -> None:
    found = read(jsonl(ASKED | {"quality.responses": [2]}))
    assert (found.plan.format, found.rows[0]["label"]) == ("unlabelled", None)


def test_records_as_json_have_fields_and_answers_apart() -> None:
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


def test_records_of_the_server_have_their_answers_by_person() -> None:
    def answered(user: str, value: str, status: str) -> Row:
        return {"user_id": user, "status": status, "values": {"preference": {"value": value}}}

    people = [answered("kim", "response2", "submitted"), answered("lee", "response1", "discarded")]
    (row,) = rows_of({"fields": ASKED, "responses": people})
    assert (row["label"], row["annotator"]) == ("b", "kim")


def test_questions_as_parquet_has_them_are_lists_beside_each_other() -> None:
    question = {"user_id": ["kim", "lee"], "value": ["response2", "response1"], "status": ["submitted", "draft"]}
    (row,) = rows_of(ASKED | {"preference": question})
    assert (row["label"], row["annotator"]) == ("b", "kim")
