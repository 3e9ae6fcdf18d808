"""The order of completions on the screen, and the positions of gold questions.

Hashes decide both, so a repeated request has the same result. `salt` is the secret of the round: without it, an annotator
cannot compute the order from the source code and the name of the item.
"""

import hashlib
from collections.abc import Sequence


def order(count: int, salt: str, item_id: str, annotator: str) -> list[int]:
    """The index of the completion at each position on the annotator's screen."""
    return sorted(range(count), key=lambda index: _hash01("order", salt, item_id, annotator, index))


def label_of(choice: str, shown: Sequence[int]) -> str:
    """The stored side of position "1" or "2" on the screen: "a" or "b". A tie or a skip is returned unchanged."""
    return "ab"[shown[int(choice) - 1]] if choice in ("1", "2") else choice


def choice_of(label: str, shown: Sequence[int]) -> str:
    """The reverse of `label_of`."""
    return str(shown.index("ab".index(label)) + 1) if label in ("a", "b") else label


def shown_label(label: str, shown: Sequence[int]) -> str:
    """The label in the order of the screen, from the label in stored order."""
    return "ab"[shown.index("ab".index(label))] if label in ("a", "b") else label


def true_ranks(ranks: Sequence[int], shown: Sequence[int]) -> list[int]:
    """Ranks in stored order without gaps, from ranks in the order of the screen."""
    found = dict(zip(shown, dense(ranks), strict=True))
    return [found[index] for index in range(len(shown))]


def dense(ranks: Sequence[int]) -> list[int]:
    """The ranks without gaps: 1, 3, 3 becomes 1, 2, 2."""
    without_gaps = {rank: number for number, rank in enumerate(sorted(set(ranks)), 1)}
    return [without_gaps[rank] for rank in ranks]


def shown_ranks(ranks: Sequence[int], shown: Sequence[int]) -> list[int]:
    """Ranks in the order of the screen, from ranks in stored order."""
    return [ranks[index] for index in shown]


def gold_due(share: float, handed: int, salt: str, annotator: str) -> int:
    """The number of gold questions that are due among the first `handed` + 1 items of an annotator.

    Each stretch of 1 ÷ `share` items has one, at a position that a hash decides. So the share is exact, and annotators cannot
    predict the position.
    """
    if share <= 0:
        return 0
    count = 0
    while int((count + _hash01("gold", salt, annotator, count)) / share) <= handed:
        count += 1
    return count


def gold_key(salt: str, item_id: str, annotator: str) -> float:
    """The sort key of a gold question. Each annotator sees gold questions in another order."""
    return _hash01("which gold", salt, item_id, annotator)


def sample_key(seed: int, what: int | str) -> float:
    """The key by which `items.draw` samples and orders questions or prompts, from 0 to 1."""
    return _hash01("sample", seed, what)


def _hash01(*parts: str | int) -> float:
    text = "/".join(map(str, parts))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") / 2**64
