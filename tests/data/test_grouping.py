"""Answers that are records of their own: thumbs, scores and ratings become rankings of each prompt."""

import resource
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.errors import OutOfSpace
from data.formats.values import ranks
from data.schema import MOST_RANKED
from tests.data.reading import Row, jsonl, read


def thumb(prompt: str, completion: str, label: object, **more: object) -> Row:
    return {"prompt": prompt, "completion": completion, "label": label} | more


def test_grouping_thumbs_of_one_prompt_become_one_ranking(tmp_path: Path) -> None:
    content = jsonl(thumb("p", "good", True), thumb("q", "fine", 1), thumb("p", "bad", False), thumb("q", "poor", "0"))
    found = read(content, scratch=tmp_path)
    assert found.rows == [
        {"prompt": "p", "completions": ["good", "bad"], "ranks": [1, 2]},
        {"prompt": "q", "completions": ["fine", "poor"], "ranks": [1, 2]},
    ]
    assert (found.lines, found.converted.records, found.converted.left_out) == ([1, 2], 4, 0)
    assert found.answer_lines == [1, 3, 2, 4]
    assert list(tmp_path.iterdir()) == []


def test_grouping_reports_one_sided_prompts_and_torn_answers() -> None:
    found = read(
        jsonl(
            thumb("p", "good", True),
            thumb("only good", "x", True),
            thumb("p", "bad", False),
            thumb("only bad", "x", False),
            thumb("only bad", "y", False),
            thumb("torn", "same", True),
            thumb("torn", "same", False),
            thumb("p", "", False),
            thumb("p", "what", "perhaps"),
        )
    )
    assert found.lines == [1]
    assert found.found == {
        "one_side_only": [2, 4, 5],
        "contradictory_ratings": [6, 7],
        "empty_text": [8],
        "bad_label": [9],
    }
    assert found.converted.left_out == 7


def test_grouping_answer_with_equal_thumbs_counts_once() -> None:
    found = read(jsonl(thumb("p", "good", True), thumb("p", "good", True), thumb("p", "bad", False)))
    assert found.rows == [{"prompt": "p", "completions": ["good", "bad"], "ranks": [1, 2]}]
    assert (found.found, found.answer_lines) == ({"rated_twice": [2]}, [1, 3])


def test_grouping_answer_repeated_in_a_record_counts_once() -> None:
    answers = [{"text": text, "score": score} for text, score in (("x", 2), ("y", 1), ("x", 2))]
    found = read(jsonl({"prompt": "p", "answers": answers}))
    assert (found.rows[0]["completions"], found.found) == (["x", "y"], {"rated_twice": [1]})


def test_grouping_keeps_annotators_apart() -> None:
    said = [thumb("p", "x", True, annotator="kim"), thumb("p", "y", False, annotator="kim")]
    other = [thumb("p", "x", False, annotator="lee"), thumb("p", "y", True, annotator="lee")]
    assert read(jsonl(*said, *other)).rows == [
        {"prompt": "p", "completions": ["x", "y"], "ranks": ranks, "annotator": who}
        for ranks, who in (([1, 2], "kim"), ([2, 1], "lee"))
    ]


def test_grouping_large_ranking_is_split_with_both_sides() -> None:
    rated = [thumb("p", f"good {n}", True) for n in range(150)] + [thumb("p", f"bad {n}", False) for n in range(50)]
    first, second = read(jsonl(*rated)).rows
    assert len(first["completions"]) == MOST_RANKED and len(second["completions"]) == MOST_RANKED
    assert {1, 2} == set(first["ranks"])


def test_the_answers_of_dealt_rankings_keep_their_lines() -> None:
    rated = [thumb("p", f"answer {n}", n > 150) for n in range(1, 201)]
    found = read(jsonl(*rated))
    said = [answer for row in found.rows for answer in row["completions"]]
    assert said == [f"answer {line}" for line in found.answer_lines]


def steer(prompt: str, response: str, helpfulness: object) -> Row:
    return {"prompt": prompt, "response": response, "helpfulness": helpfulness}


def test_helpsteer_adjacent_answers_form_a_ranking() -> None:
    found = read(
        jsonl(
            steer("p", "x", 3), steer("p", "y", 4), steer("p", "z", 3),
            steer("q", "alone", 4),
            steer("r", "u", 2), steer("r", "v", 2),
            steer("p", "x", 1), steer("p", "y", 0),
        )
    )  # fmt: skip
    assert found.plan.format == "helpsteer"
    assert [(row["prompt"], row["ranks"]) for row in found.rows] == [("p", [2, 1, 2]), ("r", [1, 1]), ("p", [1, 2])]
    assert (found.lines, found.found) == ([1, 5, 7], {"single_answer": [4]})


def test_helpsteers_earlier_turns_lie_in_the_prompt() -> None:
    said = "hi\n<extra_id_1>Assistant\nhello\n<extra_id_1>User\nwhy?"
    (row,) = read(jsonl(steer(said, "x", [4, 3]), steer(said, "y", [2, 3]))).rows
    roles = [(message["role"], message["content"]) for message in row["prompt"]]
    assert roles == [("user", "hi"), ("assistant", "hello"), ("user", "why?")]
    assert row["ranks"] == [1, 2]


def test_scores_in_columns_of_text_are_numbers() -> None:
    table = b"prompt,response,score\np,x,0.5\nq,y,1\np,z,0.75\nq,w,-2\n"
    found = read(table, "scores.csv")
    assert [row["ranks"] for row in found.rows] == [[2, 1], [1, 2]]
    assert found.lines == [2, 3]
    assert "numbers_as_text" in found.found


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=12))
def test_ranks_are_in_the_order_of_scores(scores: list[int]) -> None:
    found = ranks(scores)
    assert min(found) == 1 and set(found) == set(range(1, max(found) + 1))
    for first, rank in zip(scores, found, strict=True):
        for second, other in zip(scores, found, strict=True):
            assert (first > second) == (rank < other)


@pytest.mark.parametrize("count", [1000])
def test_many_prompts_wait_in_a_file(count: int, tmp_path: Path) -> None:
    half = [thumb(f"p{n}", "good", True) for n in range(count)]
    other = [thumb(f"p{n}", "bad", False) for n in reversed(range(count))]
    found = read(jsonl(*half, *other), scratch=tmp_path, kind="preferences")
    assert [row["prompt"] for row in found.rows] == [f"p{n}" for n in range(count)]
    assert found.lines == list(range(1, count + 1))


def test_grouping_full_disk_is_reported_and_leaves_no_file(tmp_path: Path) -> None:
    """A limit on the size of files simulates a full disk: both raise the same error."""
    content = jsonl(*(thumb(f"p{n}", "x" * 9000, True) for n in range(500)))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(OutOfSpace):
            read(content, scratch=tmp_path, kind="preferences")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []
