"""Rows of every shape, and what they become."""

from typing import Any

import pytest

from data import rows
from data.errors import RowError
from data.rows import Comparison, Demonstration, Row, Thumb
from data.splits import prompt_key
from trainer import run_data

RANKED = {"prompt": "q", "completions": ["x", "y", "z"], "ranks": [2, 1, 2], "annotator": "kim", "source": "pilot"}


def test_a_ranking_becomes_all_its_pairs_in_one_group() -> None:
    notes: dict[str, Any] = {"annotator": "kim", "source": "pilot", "group": 7}
    assert rows.comparisons(RANKED, 7) == [
        Comparison("q", "x", "y", "b", **notes),
        Comparison("q", "x", "z", "tie", **notes),
        Comparison("q", "y", "z", "a", **notes),
    ]


def test_pair_keeps_annotator_margin_and_source() -> None:
    row = {"prompt": "q", "chosen": "x", "rejected": "y", "annotator": "kim", "margin": 2, "source": None}
    assert rows.comparisons(row, 3) == [Comparison("q", "x", "y", "a", annotator="kim", margin=2)]


def test_a_pair_keeps_when_it_was_compared() -> None:
    row = {"prompt": "q", "a": "x", "b": "y", "label": "tie", "time": "2026-01-31T12:00:00Z"}
    assert rows.comparisons(row, 1) == [Comparison("q", "x", "y", "tie", time="2026-01-31T12:00:00Z")]
    with pytest.raises(RowError, match="must be text"):
        rows.comparisons(row | {"time": 3}, 1)


def test_unlabelled_pair_gives_no_comparison_but_is_validated() -> None:
    pair = {"prompt": "q", "a": "x", "b": "y", "label": None}
    assert rows.comparisons(pair, 1) == rows.comparisons(RANKED | {"ranks": None}, 1) == []
    with pytest.raises(RowError, match="is empty"):
        rows.comparisons(pair | {"b": " "}, 1)
    with pytest.raises(RowError, match="must be a list of 2 to 100 completions"):
        rows.comparisons(RANKED | {"completions": "x", "ranks": None}, 1)


def test_ranking_gives_its_best_answer_once_to_sft() -> None:
    best_of_three = rows.comparisons(RANKED, 1)
    all_alike = rows.comparisons(RANKED | {"ranks": [1, 1, 1]}, 2)
    two_best = rows.comparisons(RANKED | {"ranks": [1, 1, 2]}, 3)
    found = run_data._preferred([*best_of_three, *all_alike, Comparison("p", "u", "v", "b"), *two_best])
    assert found == [Demonstration("p", "v"), *(Demonstration("q", best) for best in ("y", "x", "y"))]


def test_conversation_row_is_its_last_answer_after_the_turns() -> None:
    messages = [
        {"role": role, "content": role[0]} for role in ("system", "user", "assistant", "user", "assistant", "user")
    ]
    assert rows.demonstration({"messages": messages}) == Demonstration(messages[:4], "a")
    turns = list(rows.demonstration({"messages": messages}).turns())
    assert turns == [Demonstration(messages[:2], "a"), Demonstration(messages[:4], "a")]


def test_an_answer_that_is_an_object_or_a_list_becomes_its_json() -> None:
    answers = [rows.prompt_row({"prompt": "q", "answer": value}).answer for value in ({"größe": [1, "x"]}, [1, 2.5])]
    assert answers == ['{"größe": [1, "x"]}', "[1, 2.5]"]


def test_an_answer_is_a_text_or_a_number() -> None:
    answers = [rows.prompt_row({"prompt": "q", "answer": value}).answer for value in ("yes", 72, 0.5, None)]
    assert answers == ["yes", "72", "0.5", None]


def test_prompt_key_of_text_equals_that_of_one_user_message() -> None:
    message = {"role": "user", "content": "q"}
    assert prompt_key([message]) == prompt_key("q")
    assert prompt_key([message, message]) != prompt_key([message])
    assert prompt_key([message | {"role": "system"}]) != prompt_key("q")


def test_prompt_key_ignores_the_order_of_message_fields() -> None:
    turns = [("system", "s"), ("user", "q")]
    role_first = [{"role": role, "content": content} for role, content in turns]
    assert prompt_key(role_first) == prompt_key([{"content": content, "role": role} for role, content in turns])


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        (RANKED | {"ranks": [1, 2]}, "`ranks` must be a list with one rank for each completion"),
        (RANKED | {"ranks": [1, 2, 2.5]}, "`ranks/2` must be an integer"),
        (RANKED | {"ranks": [1, 2, True]}, "`ranks/2` must be an integer"),
        (RANKED | {"completions": ["x", "", "z"]}, "`completions/1` is empty"),
        (RANKED | {"margin": 1.0}, "Unknown field 'margin'"),
        ({"prompt": "q", "completions": ["x", "y"]}, "The field 'ranks' is missing"),
        ({"prompt": "q", "chosen": "x", "rejected": "y", "margin": float("nan")}, "`margin` is not a number"),
        ({"prompt": "q", "chosen": "x", "rejected": "y", "annotator": True}, "`annotator` must be text"),
        ({"prompt": "q", "chosen": "x", "rejected": "y", "time": "yesterday"}, "`time` must be a time with its zone"),
    ],
)
def test_preferences_that_make_no_sense_are_refused(row: dict[str, Any], complaint: str) -> None:
    with pytest.raises(RowError) as caught:
        rows.comparisons(row, 1)
    assert caught.value.sentence().startswith(complaint)


@pytest.mark.parametrize(
    "messages",
    [[], "text", [{"role": "user", "content": "q"}], [{"role": "assistant", "content": "a"}], [{"role": "user"}]],
)
def test_conversations_without_an_answer_are_refused(messages: object) -> None:
    with pytest.raises(RowError, match=r"must|has the fields"):
        rows.demonstration({"messages": messages})


def test_an_answer_that_is_neither_text_nor_number_is_refused() -> None:
    for value, complaint in ((True, "must be text, a number"), (" ", "is empty"), (float("inf"), "is too large")):
        with pytest.raises(RowError, match=complaint):
            rows.prompt_row({"prompt": "q", "answer": value})


PAIR = {"prompt": "q", "chosen": "x", "rejected": "y"}
USER, ASSISTANT, SYSTEM = ({"role": role, "content": "c"} for role in ("user", "assistant", "system"))


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        (PAIR | {"anotator": "kim"}, "Unknown field 'anotator'; did you mean 'annotator'?"),
        (
            {"prompt": "q", "choosen": "x", "rejected": "y"},
            "The field 'chosen' is missing (needed: prompt, chosen, rejected); found 'prompt', 'choosen', 'rejected'",
        ),
        (PAIR | {"zzz": 1}, "Unknown field 'zzz'; known here: prompt, chosen, rejected, annotator, margin, source"),
        (RANKED | {"rank": 1}, "Unknown field 'rank'; did you mean 'ranks'?"),
        (PAIR | {"prompt": [USER, ASSISTANT]}, "The last message of a prompt must be the user's"),
        (PAIR | {"prompt": [USER | {"role": "tool"}]}, "`prompt/0/role` must be one of system, user, assistant"),
        (PAIR | {"prompt": [USER, SYSTEM, USER]}, "A system message can only be the first"),
        (PAIR | {"prompt": [USER | {"name": "kim"}]}, "A message has the fields role and content, and no others"),
        (PAIR | {"prompt": [USER | {"content": " "}]}, "`prompt/0/content` is empty"),
        (PAIR | {"chosen": " "}, "`chosen` is empty"),
        (PAIR | {"margin": 10**400}, "`margin` is too large a number"),
        (
            {"prompt": "q", "completions": ["x"] * 101, "ranks": [1] * 101},
            "`completions` must be a list of 2 to 100 completions",
        ),
    ],
)
def test_trainer_refuses_the_rows_that_an_upload_refuses(row: dict[str, Any], complaint: str) -> None:
    with pytest.raises(RowError) as caught:
        rows.comparisons(row, 1)
    assert complaint in caught.value.sentence()


def test_row_kinds_accept_source_and_refuse_unknown_fields() -> None:
    assert rows.demonstration({"prompt": "q", "completion": "x", "source": "s"}) == Demonstration("q", "x")
    assert rows.prompt_row({"prompt": [SYSTEM, USER], "source": "s"}).prompt == [SYSTEM, USER]
    assert rows.text({"text": "t", "source": "s"}) == "t"
    readers: list[tuple[Any, dict[str, Any]]] = [
        (rows.demonstration, {"prompt": "q", "completion": "x", "anser": 1}),
        (rows.demonstration, {"messages": [USER, ASSISTANT], "prompt": "q"}),
        (rows.prompt_row, {"prompt": "q", "anser": 1}),
        (rows.text, {"text": "t", "label": 1}),
    ]
    for reader, row in readers:
        with pytest.raises(RowError, match="unknown field"):
            reader(row)


@pytest.mark.parametrize("verdict", [{"thumb": "up"}, {"label": True}])
def test_thumb_keeps_annotator_and_source(verdict: Row) -> None:
    row = {"prompt": "q", "completion": [{"role": "assistant", "content": "x"}], "annotator": "kim", "source": None}
    assert rows.thumb(row | verdict) == Thumb("q", "x", True, annotator="kim")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"thumb": "sideways"}, "`thumb` must be up or down"),
        ({"thumb": None}, "`thumb` must be up or down"),
        ({"thumb": True}, "`thumb` must be up or down"),
        ({"label": 1}, "Unknown field 'thumb'"),
        ({"margin": 2}, "Unknown field 'margin'"),
        ({"tumb": "up"}, "Unknown field 'tumb'; did you mean 'thumb'?"),
        ({"completion": " "}, "`completion` is empty"),
    ],
)
def test_thumb_with_other_value_is_refused(change: Row, said: str) -> None:
    with pytest.raises(RowError) as caught:
        rows.thumb({"prompt": "q", "completion": "x", "thumb": "down"} | change)
    assert caught.value.sentence().startswith(said)


@pytest.mark.parametrize("label", [1, 0, "true", None, "up"])
def test_a_label_beside_a_completion_is_true_or_false(label: object) -> None:
    with pytest.raises(RowError, match="must be true or false"):
        rows.thumb({"prompt": "q", "completion": "x", "label": label})
