"""Whether two rows are near duplicates, measured in their texts."""

from collections.abc import Sequence

from data.report.items import Item
from data.report.words import jaccard, shingles

SIMILAR = 0.8
"""Jaccard similarity of the shingles from which on two texts are near duplicates, as in Lee et al. 2022 and Rae et al. 2021."""
Sets = tuple[frozenset[str], tuple[frozenset[str], ...]]
"""Shingles of a row's prompt, and of each of its answers."""


def sets_of(item: Item) -> Sets:
    return frozenset(shingles(item.prompt_text)), tuple(frozenset(shingles(text)) for text in item.answers)


def similar_texts(one: frozenset[str], other: frozenset[str]) -> bool:
    return jaccard(one, other) >= SIMILAR


def similar(one: Sets, other: Sets) -> bool:
    """Whether the prompts are, and each answer of one row has its like in the other: two pairs that share only their
    longer answer are two different comparisons."""
    return similar_texts(one[0], other[0]) and _covered(one[1], other[1]) and _covered(other[1], one[1])


def _covered(answers: Sequence[frozenset[str]], by: Sequence[frozenset[str]]) -> bool:
    return all(any(similar_texts(answer, other) for other in by) for answer in answers)
