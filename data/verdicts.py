"""The values that people and programs write as a verdict on an answer: words, signs, truth values and small numbers."""

import re
from collections.abc import Collection
from typing import Any

GOOD = frozenset(
    {"true", "t", "yes", "y", "good", "great", "excellent", "ok", "okay", "up", "like", "liked", "thumbs_up", "thumbsup",
     "thumb_up", "upvote", "upvoted", "positive", "pass", "passed", "correct", "right", "accept", "accepted", "approve",
     "approved", "better", "best", "win", "won", "winner", "chosen", "preferred", "desirable", "helpful", "useful",
     "harmless", "safe", "satisfied", "agree", "love", "+", "+1", "👍", "✓", "✔", "✅", "😀", "🙂", "😊", "❤", "♥", "ja", "sí",
     "si", "oui", "да", "gut", "bon", "bueno", "是", "好", "对", "赞"}
)  # fmt: skip
"""Words and signs for a good answer, in the form of `plain_word`."""
BAD = frozenset(
    {"false", "f", "no", "n", "bad", "poor", "terrible", "awful", "down", "dislike", "disliked", "thumbs_down",
     "thumbsdown", "thumb_down", "downvote", "downvoted", "negative", "fail", "failed", "incorrect", "wrong", "reject",
     "rejected", "decline", "declined", "disapprove", "disapproved", "worse", "worst", "lose", "lost", "loss", "loser",
     "undesirable", "unhelpful", "useless", "harmful", "unsafe", "toxic", "unsatisfied", "dissatisfied", "disagree",
     "hate", "not_ok", "-", "-1", "👎", "✗", "✘", "❌", "😞", "🙁", "😡", "💔", "nein", "non", "нет", "schlecht", "mauvais",
     "malo", "否", "坏", "错", "踩"}
)  # fmt: skip
"""Words and signs for a bad answer."""
NEUTRAL = frozenset(
    {"neutral", "none", "tie", "draw", "equal", "same", "average", "fair", "mediocre", "mixed", "unsure", "unclear",
     "partial", "partially_correct", "n/a", "na"}
)  # fmt: skip
"""Words that stand among verdicts and name neither side."""
SIDES = frozenset(
    {"a", "b", "c", "d", "model_a", "model_b", "response_a", "response_b", "answer_a", "answer_b", "output_a", "output_b",
     "assistant_a", "assistant_b", "left", "right", "first", "second", "chosen", "rejected", "tie", "both_bad",
     "both_good", "both", "neither", "a>b", "b>a", "a=b", "tie_(bothbad)", "bothbad", "1st", "2nd"}
)  # fmt: skip
"""Words that name one of several answers."""
_SHARE = 0.8
"""Least share of verdicts among the values of a column of verdicts. The others are typing errors."""
_LEAST, _MOST = -10, 10
"""Numbers within these bounds can be a verdict or a grade."""
_SKIN = re.compile("[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]")
"""Variants of emoji."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_OUT_OF = re.compile(r"(\d+(\.\d+)?) ?(/ ?\d+|stars?|out of \d+|%)|[★⭐☆]+", re.IGNORECASE)


def plain_word(value: str) -> str:
    """The word in lower case, without the variants of emoji, with `_` for spaces and hyphens inside it."""
    word = _SKIN.sub("", value.strip().strip("[]\"'.!").lower())
    return word if word == "-" else re.sub(r"[\s-]+", "_", word)


def polarity(value: Any) -> bool | None:
    """True for a good answer, False for a bad one, None if the value states neither. A number states it as 1 or 0."""
    if isinstance(value, str) and number_of(value) is None:
        word = plain_word(value)
        return True if word in GOOD else False if word in BAD else None
    number = float(value) if isinstance(value, bool) else number_of(value)
    return bool(number) if number in (0, 1) else None


def is_word(value: Any) -> bool:
    """Whether the value is a word or sign that states a verdict."""
    if not isinstance(value, str) or len(value) > 40:
        return False
    word = plain_word(value)
    return (
        word in GOOD or word in BAD or word in NEUTRAL or word in SIDES or _OUT_OF.fullmatch(value.strip()) is not None
    )


def number_of(value: Any) -> float | None:
    """The number of a value or of a text that holds one; None for anything else, and for true and false."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, str) and not _NUMBER.fullmatch(value.strip()):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def judge(values: Collection[Any]) -> bool:
    """Whether most of these values look like verdicts: truth values, numbers within -10 and 10, or words of a verdict.

    Words that are neutral by themselves (`none`, `n/a`) are verdicts beside others alone.
    """
    return sum(map(_judges, values)) >= _SHARE * len(values) > 0 and any(map(_tells, values))


def _judges(value: Any) -> bool:
    if isinstance(value, bool):
        return True
    number = number_of(value)
    return _LEAST <= number <= _MOST if number is not None else is_word(value)


def _tells(value: Any) -> bool:
    return not (isinstance(value, str) and plain_word(value) in NEUTRAL)
