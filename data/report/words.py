"""Splits texts into words and shingles, which define near duplicates."""

import re
from collections.abc import Sequence

SHINGLE = 3
"""Words of a shingle. With three, one changed word of thirty still leaves a similarity of 0.8."""
# Scripts without spaces: each of their characters is a word of its own (kana, Han, Thai to Burmese, Khmer).
_SPACELESS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_SPACELESS}]|[^\W{_SPACELESS}]+|[^\w\s]")


def normalised(text: str) -> str:
    """The text in lower case, with single spaces."""
    return " ".join(text.casefold().split())


def words(text: str) -> list[str]:
    """Words in lower case, and punctuation marks, which matter in code and sums."""
    return _WORD.findall(text.casefold())


def shingles(text: str, tie: str = " ") -> list[str]:
    """Every sequence of SHINGLE words, joined by `tie`. A shorter text gives one shingle."""
    found = words(text)
    if len(found) <= SHINGLE:
        return [tie.join(found)]
    return [tie.join(run) for run in zip(*(found[index:] for index in range(SHINGLE)), strict=False)]


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """|A ∩ B| / |A ∪ B|; 1 for two empty sets."""
    shared = len(one & other)
    total = len(one) + len(other) - shared
    return shared / total if total else 1.0


def shared_beginning(texts: Sequence[str]) -> int:
    """The number of characters that all texts share at the beginning."""
    first, last = min(texts), max(texts)  # in this order the two that differ soonest
    low, high = 0, min(len(first), len(last))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if first[:middle] == last[:middle] else (low, middle - 1)
    return low
