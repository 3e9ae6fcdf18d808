"""Items from rows and from completions."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.annotation import items
from core.annotation.items import ItemDraft
from core.models.annotation import RoundKind

PAIR = {"prompt": "p", "a": "x", "b": "y", "label": "b", "source": "pilot"}
RANKING = {"prompt": "p", "completions": ["x", "y", "z"], "ranks": [2, 5, 2]}


@given(st.lists(st.floats(0, 1), max_size=40), st.integers(1, 10))
def test_draw_takes_the_rows_with_smallest_keys_in_their_order(keys: list[float], limit: int) -> None:
    rows = [(number, {"key": key}) for number, key in enumerate(keys)]
    found = items.draw(rows, lambda _, row: row["key"], limit)
    assert [keys[number] for number in found] == sorted(set(keys))[:limit]
    assert all(keys.index(keys[number]) == number for number in found), "of equal ones the first"


def test_rows_without_a_key_are_not_drawn() -> None:
    rows: list[tuple[int, dict[str, Any]]] = [(number, {}) for number in range(10)]
    assert items.draw(rows, lambda number, _: None if number % 2 else -number, 3) == [8, 6, 4]


@pytest.mark.parametrize(
    ("kind", "row", "labelled", "unlabelled"),
    [
        (RoundKind.PAIRS, PAIR, True, False),
        (RoundKind.PAIRS, PAIR | {"label": None}, False, True),
        (RoundKind.PAIRS, RANKING, False, False),
        (RoundKind.RANKING, RANKING, True, False),
        (RoundKind.RANKING, RANKING | {"ranks": None}, False, True),
        (RoundKind.RANKING, RANKING | {"completions": list("abcdefghij")}, False, False),
        (RoundKind.RANKING, PAIR, False, False),
    ],
)
def test_items_only_comparable_rows_become_items(
    kind: RoundKind, row: dict[str, Any], labelled: bool, unlabelled: bool
) -> None:
    assert items.fits_round(kind, row, labelled=True) is labelled
    assert items.fits_round(kind, row, labelled=False) is unlabelled
    assert items.fits_round(kind, row, labelled=None) is (labelled or unlabelled)


def test_item_of_row_has_its_answer_only_as_gold_question() -> None:
    assert items.item_from_row(7, 3, PAIR) == ItemDraft(3, "p", ["x", "y"], source="pilot", row=7)
    assert items.item_from_row(7, 3, PAIR, gold=True).gold == {"choice": "b"}
    assert items.item_from_row(7, 3, RANKING, gold=True).gold == {"ranks": [1, 2, 1]}
    assert items.item_from_row(7, 3, RANKING | {"ranks": None}).gold is None


def test_prompts_of_every_kind_of_row() -> None:
    user, assistant = {"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}
    assert items.prompt_of({"prompt": "p", "answer": "1"}) == "p"
    assert items.prompt_of({"messages": [user, assistant, user, assistant]}) == [user, assistant, user]
    assert items.prompt_of({"messages": [user, assistant, assistant]}) is None
    assert items.prompt_key(0, {"prompt": "p"}) == items.prompt_key(0, {"prompt": "p", "completion": "c"})
    assert items.prompt_key(0, {"prompt": "p"}) != items.prompt_key(1, {"prompt": "p"})


def test_item_leaves_out_equal_empty_or_unstorable_completions() -> None:
    texts, whole = ["x", " ", "x", "n\0l", "y"], [True, True, False, True, False]
    found = items.item_from_completions(1, "p", 9, texts, [0, 0, 1, 1, 2], whole)
    assert found == ItemDraft(1, "p", ["x", "y"], [0, 2], [True, False], row=9)
    assert items.item_from_completions(1, "p", 9, ["x", "x"], [0, 1], [True, True]) is None
    assert items.item_from_completions(1, "p", 9, [], [], []) is None


def test_gold_question_count_follows_the_share() -> None:
    # 30 others and 10 gold questions: a quarter.
    assert items.gold_needed(0.25, 30) == 10
    assert items.gold_needed(0.1, 1) == 1
    assert items.gold_needed(0.5, 10**6) == items.MOST_GOLD


def test_without_gaps_renumbers_items_consecutively() -> None:
    first, third = (
        items.item_from_completions(place, "p", place + 6, ["x", "y"], [0, 1], [True, True]) for place in (1, 3)
    )
    kept = items.without_gaps([third, None, first])
    assert [(draft.number, draft.row) for draft in kept] == [(1, 7), (2, 9)]
