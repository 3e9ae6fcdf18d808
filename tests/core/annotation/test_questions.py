"""Rows with the same question, and the verdicts of their labels."""

from core.annotation.items import row_question_hash, verdicts
from core.models.annotation import RoundKind

PAIR = {"prompt": "p", "a": "x", "b": "y", "label": "a"}
TURNED = {"prompt": "p", "a": "y", "b": "x", "label": "b"}
RANKING = {"prompt": "p", "completions": ["x", "z", "y"], "ranks": [1, 7, 3]}


def test_question_key_does_not_depend_on_completion_order() -> None:
    assert row_question_hash(PAIR) == row_question_hash(TURNED)
    assert row_question_hash(PAIR) != row_question_hash(PAIR | {"prompt": "q"})
    assert row_question_hash(PAIR) != row_question_hash(PAIR | {"b": "z"})
    turned = RANKING | {"completions": ["z", "y", "x"]}
    assert row_question_hash(RANKING) == row_question_hash(turned)


def test_labels_that_mean_the_same_completion_agree() -> None:
    (verdict,) = verdicts(RoundKind.PAIRS, [PAIR, TURNED]).values()
    assert verdict == (1, 2)
    ranked = [RANKING, {"prompt": "p", "completions": ["y", "x", "z"], "ranks": [2, 1, 3]}]
    assert list(verdicts(RoundKind.RANKING, ranked).values()) == [(1, 2, 3)]


def test_labels_that_contradict_each_other_are_no_verdict() -> None:
    rows = [PAIR, TURNED | {"label": "a"}, PAIR, PAIR | {"label": None}, PAIR | {"prompt": "q", "label": None}]
    assert verdicts(RoundKind.PAIRS, rows) == {row_question_hash(PAIR): None}
