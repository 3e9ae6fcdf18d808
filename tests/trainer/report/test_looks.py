import pytest

from trainer.report.items import Item
from trainer.report.looks import all_looks, excerpt
from trainer.report.special_tokens import pattern

LOOKS = all_looks(pattern(["<|mine|>"]))
TALK = [{"role": "user", "content": "Is it good?"}]


def seen(item: Item) -> dict[str, str]:
    return dict(found for look in LOOKS for found in look(item))


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (Item("Good?", (" yes", " no"), (0, 1)), set()),
        (Item(TALK, ("yes", "no"), (0, 1)), set()),
        (Item("Good?", (" yes ", " no"), (0, 1)), {"trailing_whitespace"}),
        (Item(TALK, ("yes", " no"), (0, 1)), {"leading_whitespace"}),
        (Item([{"role": "user", "content": "Good?\n"}], ("yes",), (0,)), {"prompt_whitespace"}),
        (Item(TALK, ("\u200b\u2060", "no"), (0, 1)), {"empty_answer"}),
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
        (Item("Good?</s>", ("yes", "no"), (0, 1)), {"special_tokens"}),
        (Item("Good?", ("yes<|mine|>", "no"), (0, 1)), {"special_tokens"}),
        (Item(None, ("Write to a@b.de or 8.8.8.8.",), (0,)), {"pii_email", "pii_ip"}),
    ],
)
def test_what_is_seen_in_a_row(item: Item, expected: set[str]) -> None:
    assert seen(item).keys() == expected


def test_an_excerpt_shows_where_it_is_and_no_line_breaks() -> None:
    text = "a" * 100 + "\n<s>\t" + "b" * 100
    assert excerpt(text, 101, 104) == "…" + "a" * 79 + "⏎<s>⇥" + "b" * 79 + "…"


def test_a_long_white_text_is_not_looked_at_sign_by_sign() -> None:
    assert seen(Item(TALK, ("x" + " " * 10**6 + "y", "no"), (0, 1))) == {}
