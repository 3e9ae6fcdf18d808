"""What counts as the same: numbers that are equal for equal prompts, rows and verdicts."""

from data.report.items import Item
from data.report.words import normalised
from data.splits import text_hash

NAMES = ("prompt", "text", "text_normalised", "verdict", "verdict_normalised")
"""What `identity` answers, in this order."""


def identity(item: Item) -> tuple[int, int, int, int, int]:
    """64 bits of BLAKE2b each, of
    - the prompt (0 without one), as the trainer's split has it;
    - the prompt with its answers, in whatever order they stand;
    - the same, but for case and white space;
    - the same with what was said of the answers, and by whom: two of these say nothing twice;
    - that, but for case and white space.

    Of 10⁶ different texts two are taken for one with a probability of 3 · 10⁻⁸.
    """
    key = item.prompt_key
    plain = normalised(item.prompt_text)
    simple = [normalised(text) for text in item.answers]
    return (
        0 if key is None else text_hash(key),
        _hash(key or "", *sorted(item.answers)),
        _hash(plain, *sorted(simple)),
        _hash(key or "", item.annotator or "", *_ranked(item.answers, item.ranks)),
        _hash(plain, item.annotator or "", *_ranked(simple, item.ranks)),
    )


def _ranked(answers: list[str] | tuple[str, ...], ranks: tuple[int, ...]) -> list[str]:
    return sorted(f"{text}\0{rank}" for text, rank in zip(answers, ranks or ("",) * len(answers), strict=True))


def _hash(*parts: str) -> int:
    return text_hash("\0\0".join(parts))  # rows hold no NUL
