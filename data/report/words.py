"""Texts as words: what makes two of them nearly the same."""

import re
from collections.abc import Sequence

SHINGLE = 3
"""Words in a row that make a shingle. With three, one changed word of thirty still leaves a similarity of 0.8."""
# Scripts without spaces: each of their characters is a word of its own (kana, Han, Thai to Burmese, Khmer).
_SPACELESS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_SPACELESS}]|[^\W{_SPACELESS}]+|[^\w\s]")


def normalised(text: str) -> str:
    """Without the differences that nobody means: case, and how much white space there is."""
    return " ".join(text.casefold().split())


def words(text: str) -> list[str]:
    """Words in lower case, and punctuation marks: in code and sums they make all the difference."""
    return _WORD.findall(text.casefold())


def shingles(text: str, tie: str = " ") -> list[str]:
    """Every run of SHINGLE words, joined by `tie`; of a shorter text, the whole."""
    found = words(text)
    if len(found) <= SHINGLE:
        return [tie.join(found)]
    return [tie.join(run) for run in zip(*(found[at:] for at in range(SHINGLE)), strict=False)]


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """|A ∩ B| / |A ∪ B|; of two empty sets 1."""
    shared = len(one & other)
    total = len(one) + len(other) - shared
    return shared / total if total else 1.0


def shared_beginning(texts: Sequence[str]) -> int:
    """With how many characters all of them begin."""
    first, last = min(texts), max(texts)  # in this order the two that differ soonest
    low, high = 0, min(len(first), len(last))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if first[:middle] == last[:middle] else (low, middle - 1)
    return low
