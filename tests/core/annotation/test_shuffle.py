"""The order of completions on the screen, and the positions of gold questions."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from core.annotation import shuffle

NAMES = st.text(min_size=1, max_size=8)


@given(st.integers(2, 9), NAMES, NAMES)
def test_shuffle_is_a_stable_permutation_for_each_annotator(count: int, item: str, annotator: str) -> None:
    shown = shuffle.order(count, "salt", item, annotator)
    assert sorted(shown) == list(range(count))
    assert shuffle.order(count, "salt", item, annotator) == shown


def test_shuffle_puts_each_side_first_equally_often() -> None:
    first = [shuffle.order(2, "salt", f"item_{number}", "kim")[0] for number in range(2000)]
    assert 900 < sum(first) < 1100
    others = [shuffle.order(2, "salt", f"item_{number}", "lee")[0] for number in range(2000)]
    assert 900 < sum(one == other for one, other in zip(first, others, strict=True)) < 1100


def test_shuffle_order_depends_on_the_salt() -> None:
    both = [[shuffle.order(2, salt, f"item_{number}", "kim")[0] for number in range(2000)] for salt in ("one", "two")]
    assert 900 < sum(one == other for one, other in zip(*both, strict=True)) < 1100


def test_labels_are_those_of_the_sides_not_of_the_places() -> None:
    assert [shuffle.label_of(choice, [1, 0]) for choice in ("1", "2", "tie", "skip")] == ["b", "a", "tie", "skip"]
    assert [shuffle.label_of(choice, [0, 1]) for choice in ("1", "2")] == ["a", "b"]
    assert [shuffle.choice_of(label, [1, 0]) for label in ("a", "b", "tie", "skip")] == ["2", "1", "tie", "skip"]


def test_shuffle_label_refers_to_the_shown_order() -> None:
    assert [shuffle.shown_label(label, [1, 0]) for label in ("a", "b", "tie")] == ["b", "a", "tie"]
    assert [shuffle.shown_label(label, [0, 1]) for label in ("a", "b", "tie")] == ["a", "b", "tie"]


def test_ranks_are_those_of_the_completions_without_gaps() -> None:
    # Positions 1, 2, 3 show the completions 2, 0, 1. The best is completion 0, and the other two share the next rank.
    assert shuffle.true_ranks([3, 1, 3], [2, 0, 1]) == [1, 2, 2]
    assert shuffle.shown_ranks([1, 2, 2], [2, 0, 1]) == [2, 1, 2]


@given(st.permutations(range(5)), st.lists(st.integers(1, 5), min_size=5, max_size=5))
def test_shuffle_ranks_are_mapped_back_to_their_completions(shown: list[int], ranks: list[int]) -> None:
    back = shuffle.shown_ranks(shuffle.true_ranks(ranks, shown), shown)
    assert [sorted(set(ranks)).index(rank) + 1 for rank in ranks] == back


@settings(max_examples=25)
@given(st.sampled_from([0.05, 0.1, 0.25, 0.3, 0.5]), NAMES)
def test_each_stretch_has_its_gold_question_somewhere(share: float, annotator: str) -> None:
    due = [shuffle.gold_due(share, handed, "salt", annotator) for handed in range(60)]
    assert all(later in (earlier, earlier + 1, earlier + 2) for earlier, later in pairwise(due))
    for handed, count in enumerate(due, 1):
        assert int(handed * share) <= count <= int(handed * share) + 1


def test_gold_question_position_depends_on_the_annotator() -> None:
    first = {
        next(handed for handed in range(20) if shuffle.gold_due(0.1, handed, "salt", f"annotator {number}"))
        for number in range(50)
    }
    assert len(first) > 5
    assert shuffle.gold_due(0.0, 1000, "salt", "kim") == 0
