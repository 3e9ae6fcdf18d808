import pytest

from data.report.columns import NO_ANSWER
from data.report.items import Item
from data.report.row_checks import excerpt, row_checks, spelt_tokens, token_pattern

LOOKS = row_checks(token_pattern(["<|mine|>"]))
TALK = [{"role": "user", "content": "Is it good?"}]
SYSTEM, SAID = {"role": "system", "content": "Be kind."}, {"role": "assistant", "content": "It is."}


def seen(item: Item) -> dict[str, str]:
    return {hit.code: hit.text for look in LOOKS for hit in look(item)}


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (Item("Good?", (" yes", " no"), (0, 1)), set()),
        (Item(TALK, ("yes", "no"), (0, 1)), set()),
        (Item("Good?", (" yes ", " no"), (0, 1)), {"trailing_whitespace"}),
        (Item(TALK, ("yes", " no"), (0, 1)), {"leading_whitespace"}),
        (Item([{"role": "user", "content": "Good?\n"}], ("yes",), (0,)), {"prompt_whitespace"}),
        (Item(TALK, ("\u200b\u2060", "no"), (0, 1)), {"empty_answer"}),
        (Item(TALK, ("\u200b" * 1200, "no"), (0, 1)), {"empty_answer"}),
        (Item(TALK, ("…!" * 600, "no"), (0, 1)), {"wordless_answer"}),
        (Item(TALK, ("…!", "no"), (0, 1)), {"wordless_answer"}),
        (Item(TALK, ("👍", "no"), (0, 1)), {"wordless_answer"}),
        (Item("Good?", (" yes", "yes"), (0, 1)), {"same_after_trim"}),
        (
            Item("Is it any good at all?", ("Is it any good at all? Yes", "Is it any good at all? No")),
            {"prompt_in_answer"},
        ),
        (Item("Is it any good at all?", ("Is it any good at all? Yes", "No")), set()),
        (Item("Good?", ("It is. " * 9 + "Yes.", "It is. " * 9 + "No!"), (0, 1)), {"shared_beginning"}),
        (Item("Good?", ("Yes.\n\nHuman: why?", "no"), (0, 1)), {"role_in_answer"}),
        (Item("Good?", ("Yes, a human: so", "no"), (0, 1)), set()),
        (Item("\n\nHuman: Good?\n\nAssistant:", (" Yes", " no"), (0, 1)), set()),
        (Item([SYSTEM, *TALK, SAID, *TALK], ("yes", "no"), (0, 1)), set()),
        (Item([SAID, *TALK], ("yes", "no"), (0, 1)), {"turns_do_not_alternate"}),
        (Item([SYSTEM, *TALK, *TALK], ("yes", "no"), (0, 1)), {"turns_do_not_alternate"}),
        (Item([*TALK, SAID], ("yes",), (0,)), {"turns_do_not_alternate"}),
        (Item([*TALK, *TALK]), {"turns_do_not_alternate"}),
        (Item("Good?</s>", ("yes", "no"), (0, 1)), {"special_tokens"}),
        (Item("Good?", ("yes<|mine|>", "no"), (0, 1)), {"special_tokens"}),
        (Item(None, ("Write to a@b.de or 8.8.8.8.",), (0,)), {"pii_email", "pii_ip"}),
    ],
)
def test_row_checks_of_one_row_give_the_expected_codes(item: Item, expected: set[str]) -> None:
    assert seen(item).keys() == expected


@pytest.mark.parametrize(
    ("item", "code", "answer"),
    [
        (Item("Good?", ("yes", "no "), (0, 1)), "trailing_whitespace", 1),
        (Item(TALK, ("yes", " no"), (0, 1)), "leading_whitespace", 1),
        (Item(TALK, ("yes", "\u200b"), (0, 1)), "empty_answer", 1),
        (Item(TALK, ("yes", "…"), (0, 1)), "wordless_answer", 1),
        (Item("Good?", ("no", "yes", " no", "yes "), (0, 1, 2, 3)), "same_after_trim", 2),
        (Item("Good?", ("no", "Yes.\n\nHuman: why?"), (0, 1)), "role_in_answer", 1),
        (Item("Good?", ("no", "yes</s>"), (0, 1)), "special_tokens", 1),
        (Item("Good?</s>", ("no", "yes</s>"), (0, 1)), "special_tokens", NO_ANSWER),
        (Item("Good?", ("no", "Ask a@b.de"), (0, 1)), "pii_email", 1),
    ],
)
def test_row_checks_name_the_answer_with_the_finding(item: Item, code: str, answer: int) -> None:
    assert next(hit.answer for look in LOOKS for hit in look(item) if hit.code == code) == answer


def test_an_excerpt_shows_where_it_is_and_no_line_breaks() -> None:
    text = "a" * 100 + "\n<s>\t" + "b" * 100
    assert excerpt(text, 101, 104) == "…" + "a" * 79 + "⏎<s>⇥" + "b" * 79 + "…"


def test_the_first_turn_that_is_out_of_order_is_shown() -> None:
    told = seen(Item([SYSTEM, *TALK, *TALK], ("yes", "no"), (0, 1)))["turns_do_not_alternate"]
    assert told == "user, not assistant: Is it good?"


def test_a_long_white_text_between_signs_is_nothing() -> None:
    assert seen(Item(TALK, ("x" + " " * 10**6 + "y", "no"), (0, 1))) == {}


def test_spelt_tokens_include_those_left_after_removal_of_others() -> None:
    assert spelt_tokens("hi <|im_<|im_end|>start|>system", token_pattern()) == {"<|im_end|>", "<|im_start|>"}
    assert spelt_tokens("hi <|im_start system", token_pattern()) == set()
