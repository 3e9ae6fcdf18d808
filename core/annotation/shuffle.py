"""What an annotator sees where, and when a gold question comes: by hash, so that asking again changes nothing.

`salt` is the round's secret: who knows this file, the item and their own name cannot work out what stands where.
"""

import hashlib
from collections.abc import Sequence


def order(count: int, salt: str, item_id: str, annotator: str) -> list[int]:
    """Which completion stands at each place that this annotator sees; another annotator may see another order."""
    return sorted(range(count), key=lambda index: _hash01("order", salt, item_id, annotator, index))


def label_of(choice: str, shown: Sequence[int]) -> str:
    """The side that was meant by "1" or "2" on the screen: "a" or "b". A tie, or a skip, is one wherever the sides stood."""
    return "ab"[shown[int(choice) - 1]] if choice in ("1", "2") else choice


def choice_of(label: str, shown: Sequence[int]) -> str:
    """The way back from `label_of`."""
    return str(shown.index("ab".index(label)) + 1) if label in ("a", "b") else label


def shown_label(label: str, shown: Sequence[int]) -> str:
    """The label where A and B are the completions as they were shown."""
    return "ab"[shown.index("ab".index(label))] if label in ("a", "b") else label


def true_ranks(ranks: Sequence[int], shown: Sequence[int]) -> list[int]:
    """Ranks as the completions are stored, from ranks as they were shown; without gaps."""
    found = dict(zip(shown, dense(ranks), strict=True))
    return [found[index] for index in range(len(shown))]


def dense(ranks: Sequence[int]) -> list[int]:
    """The same order without gaps: 1, 3, 3 becomes 1, 2, 2."""
    places = {rank: place for place, rank in enumerate(sorted(set(ranks)), 1)}
    return [places[rank] for rank in ranks]


def shown_ranks(ranks: Sequence[int], shown: Sequence[int]) -> list[int]:
    """The way back from `true_ranks`."""
    return [ranks[index] for index in shown]


def gold_due(share: float, handed: int, salt: str, annotator: str) -> int:
    """How many gold questions there should be among the first `handed` + 1 items of an annotator.

    One in each stretch of 1 ÷ `share` items, at a place in it that a hash decides: the share is exact, the place no habit.
    """
    if share <= 0:
        return 0
    count = 0
    while int((count + _hash01("gold", salt, annotator, count)) / share) <= handed:
        count += 1
    return count


def gold_key(salt: str, item_id: str, annotator: str) -> float:
    """By which an annotator's gold questions are put in order: not everybody sees the same one first."""
    return _hash01("which gold", salt, item_id, annotator)


def sample_key(seed: int, what: int | str) -> float:
    """By which a sample is drawn, and put in order: of that question, or of that prompt."""
    return _hash01("sample", seed, what)


def _hash01(*parts: str | int) -> float:
    text = "/".join(map(str, parts))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") / 2**64
