"""What was said in a round, as labels of pairs: a ranking says something about each of its pairs."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from typing import Any

from core.annotation.agreement import label_of_ranks

Unit = tuple[str, int, int]
"""An item and two of its completions, which somebody compared."""


@dataclass(frozen=True)
class Item:
    """What is known of an item beside its texts."""

    gold: dict[str, Any] | None = None
    policies: Sequence[int] | None = None
    scores: Sequence[float | None] | None = None


@dataclass(frozen=True)
class Answer:
    """An answer or a skip, in true positions."""

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
        """Of each pair; none of a skip."""
        for i, j, label in labels(self.choice, self.ranks):
            yield (self.item_id, i, j), label


def labels(choice: str | None, ranks: Sequence[int] | None) -> Iterator[tuple[int, int, str]]:
    """Two completions, and a, b or tie."""
    if ranks is not None:
        for i, j in combinations(range(len(ranks)), 2):
            yield i, j, label_of_ranks(ranks[i], ranks[j])
    elif choice is not None and choice != "skip":
        yield 0, 1, choice


def by_unit(answers: Sequence[Answer]) -> dict[Unit, dict[str, str]]:
    """What each annotator said of each pair."""
    found: dict[Unit, dict[str, str]] = defaultdict(dict)
    for answer in answers:
        for unit, label in answer.labels():
            found[unit][answer.annotator] = label
    return dict(found)


def gold_points(answers: Sequence[Answer], items: Mapping[str, Item]) -> tuple[int, int]:
    """How many pairs of gold questions were labelled as they should be, and how many there were."""
    right = total = 0
    for answer in answers:
        known = items[answer.item_id].gold or {}
        expected = {(i, j): label for i, j, label in labels(known.get("choice"), known.get("ranks"))}
        for (_, i, j), label in answer.labels():
            right += expected.get((i, j)) == label
            total += 1
    return right, total


def preferred_by_model(unit: Unit, items: Mapping[str, Item]) -> str | None:
    """Which of the two the reward model scores higher; None where it has not scored both, or alike."""
    item_id, i, j = unit
    scores = items[item_id].scores
    if scores is None or scores[i] is None or scores[j] is None or scores[i] == scores[j]:
        return None
    one, other = scores[i], scores[j]
    assert one is not None and other is not None
    return "a" if one > other else "b"
