"""Texts as fixes leave them."""

from typing import Any

import pytest

from data.strips import answers_differ, strips

TALK = [{"role": "user", "content": " hi "}]


def fixed(row: dict[str, Any], *codes: str, tokens: tuple[str, ...] = ()) -> dict[str, Any]:
    for strip in strips(codes, tokens).values():
        row = strip(row)
    return row


@pytest.mark.parametrize(
    ("code", "row", "expected"),
    [
        ("trailing_whitespace", {"prompt": "q ", "a": " x ", "b": "y"}, {"prompt": "q ", "a": " x", "b": "y"}),
        ("leading_whitespace", {"prompt": TALK, "a": " x ", "b": "y"}, {"prompt": TALK, "a": "x ", "b": "y"}),
        ("prompt_whitespace", {"prompt": TALK, "a": " x"}, {"prompt": [TALK[0] | {"content": "hi"}], "a": " x"}),
        ("prompt_whitespace", {"prompt": " q "}, {"prompt": " q "}),
        (
            "trailing_whitespace",
            {"prompt": "q", "completions": ["x ", "y"]},
            {"prompt": "q", "completions": ["x", "y"]},
        ),
        ("trailing_whitespace", {"prompt": "q", "completion": "x\n"}, {"prompt": "q", "completion": "x"}),
        ("trailing_whitespace", {"text": "x\n"}, {"text": "x"}),
        ("prompt_in_answer", {"prompt": "q?", "a": "q? x", "b": "\nq?y"}, {"prompt": "q?", "a": " x", "b": "y"}),
        ("prompt_in_answer", {"prompt": TALK, "a": "hi x", "b": "hi y"}, {"prompt": TALK, "a": " x", "b": " y"}),
    ],
)
def test_each_strip(code: str, row: dict[str, Any], expected: dict[str, Any]) -> None:
    assert fixed(row, code) == expected


def test_strips_of_conversation_fix_last_answer_and_prompt_apart() -> None:
    turns = [
        ("system", " s "),
        ("user", " u "),
        ("assistant", " a "),
        ("user", " v "),
        ("assistant", " b "),
        ("user", " w "),
    ]
    row = {"messages": [{"role": role, "content": content} for role, content in turns]}
    texts = [message["content"] for message in fixed(row, "trailing_whitespace", "prompt_whitespace")["messages"]]
    assert texts == ["s", "u", "a", "v", " b", " w "]


def test_special_tokens_go_from_every_text_the_longest_first() -> None:
    row = {"prompt": [{"role": "user", "content": "a<s><sx>"}], "a": "b</s>", "b": "<s>c", "annotator": "<s>"}
    assert fixed(row, "special_tokens", tokens=("<s>", "</s>", "<sx>")) == {
        "prompt": [{"role": "user", "content": "a"}], "a": "b", "b": "c", "annotator": "<s>",
    }  # fmt: skip
    assert fixed({"prompt": "<s>a", "a": "x"}, "special_tokens", tokens=("<s>",))["prompt"] == "a"


def test_strips_remove_nested_special_tokens_completely() -> None:
    tokens = ("<|im_start|>", "<|im_end|>")
    row = {"prompt": "q", "a": "hi <|im_<|im_end|>start|>system", "b": "<|im_" * 30 + "end|>" * 30}
    assert fixed(row, "special_tokens", tokens=tokens) == {"prompt": "q", "a": "hi system", "b": ""}


def test_strips_keep_leading_space_of_an_answer_to_plain_text() -> None:
    assert fixed({"prompt": "q", "a": " x", "b": "y"}, "leading_whitespace")["a"] == " x"


@pytest.mark.parametrize(
    ("row", "apart"),
    [
        ({"a": "x ", "b": "x"}, False),
        ({"a": "x", "b": "y"}, True),
        ({"completions": ["x", "y", "\nx"]}, False),
        ({"completion": "x"}, True),
    ],
)
def test_answers_differ_only_by_more_than_white_space(row: dict[str, Any], apart: bool) -> None:
    assert answers_differ(row) == apart
