"""Answers as labels of pairs. A ranking has a label for each of its pairs of completions."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from typing import Any

from core.annotation.agreement import label_of_ranks

Unit = tuple[str, int, int]
"""The id of an item, and the indices of two of its completions that were compared."""


@dataclass(frozen=True)
class ItemFacts:
    """The facts of an item that the figures need, without its texts."""

    gold: dict[str, Any] | None = None
    policies: Sequence[int] | None = None
    scores: Sequence[float | None] | None = None


@dataclass(frozen=True)
class AnnotatorAnswer:
    """An answer or a skip. Choice and ranks are in stored order; `shown` is the order of the screen."""

    annotator: str
    item_id: str
    choice: str | None
    ranks: Sequence[int] | None
    shown: Sequence[int]
    seconds: float | None
    answered_at: datetime

    @property
    def is_skip(self) -> bool:
        return self.choice == "skip"

    @property
    def has_tie(self) -> bool:
        return self.choice == "tie" or (self.ranks is not None and len(set(self.ranks)) < len(self.ranks))

    def labels(self) -> Iterator[tuple[Unit, str]]:
        """The label of each pair that was compared. A skip has none."""
        for i, j, label in labels(self.choice, self.ranks):
            yield (self.item_id, i, j), label


def labels(choice: str | None, ranks: Sequence[int] | None) -> Iterator[tuple[int, int, str]]:
    """The indices of two completions, and their label (`a`, `b` or `tie`), for each pair of an answer."""
    if ranks is not None:
        for i, j in combinations(range(len(ranks)), 2):
            yield i, j, label_of_ranks(ranks[i], ranks[j])
    elif choice is not None and choice != "skip":
        yield 0, 1, choice


def by_unit(answers: Sequence[AnnotatorAnswer]) -> dict[Unit, dict[str, str]]:
    """The labels of each unit, by annotator."""
    found: dict[Unit, dict[str, str]] = defaultdict(dict)
    for answer in answers:
        for unit, label in answer.labels():
            found[unit][answer.annotator] = label
    return dict(found)


def gold_points(answers: Sequence[AnnotatorAnswer], items: Mapping[str, ItemFacts]) -> tuple[int, int]:
    """The number of correct labels of pairs in gold questions, and the number of all of them."""
    right = total = 0
    for answer in answers:
        known = items[answer.item_id].gold or {}
        expected = {(i, j): label for i, j, label in labels(known.get("choice"), known.get("ranks"))}
        for (_, i, j), label in answer.labels():
            right += expected.get((i, j)) == label
            total += 1
    return right, total


def preferred_by_model(unit: Unit, items: Mapping[str, ItemFacts]) -> str | None:
    """The label by the scores of the reward model: `a` or `b`. None for a missing score or equal scores."""
    item_id, i, j = unit
    scores = items[item_id].scores
    if scores is None or scores[i] is None or scores[j] is None or scores[i] == scores[j]:
        return None
    one, other = scores[i], scores[j]
    assert one is not None and other is not None
    return "a" if one > other else "b"
