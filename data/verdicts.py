"""The values that people and programs write as a verdict on an answer: words, signs, truth values and small numbers."""

import re
import unicodedata
from collections.abc import Collection
from typing import Any

GOOD = frozenset(
    {"true", "t", "yes", "y", "good", "great", "excellent", "ok", "okay", "up", "like", "liked", "thumbs_up", "thumbsup",
     "thumb_up", "upvote", "upvoted", "positive", "pass", "passed", "correct", "right", "accept", "accepted", "approve",
     "approved", "better", "best", "win", "won", "winner", "chosen", "preferred", "desirable", "helpful", "useful",
     "harmless", "safe", "satisfied", "agree", "love", "acceptable", "success", "succeeded", "successful", "keep", "kept",
     "+", "+1", "👍", "👏", "👌", "💯", "✓", "✔", "✅", "☑", "😀", "😃", "😄", "😁", "🙂", "😊", "😍", "🥰", "🤩", "❤",
     "♥", "💚", "☺", "ja", "richtig", "wahr", "gut", "positiv", "sí", "si", "bueno", "buena", "correcto", "positivo", "verdadero",
     "oui", "bon", "bonne", "vrai", "positif", "sì", "buono", "vero", "giusto", "sim", "bom", "boa", "correto", "goed", "tak",
     "dobry", "evet", "iyi", "да", "хорошо", "верно", "правильно", "是", "好", "对", "赞", "正确", "满意", "喜欢", "はい", "良い", "正解",
     "예", "네", "좋음", "좋아요"}
)  # fmt: skip
"""Words and signs for a good answer, in the form of `plain_word`."""
BAD = frozenset(
    {"false", "f", "no", "n", "bad", "poor", "terrible", "awful", "down", "dislike", "disliked", "thumbs_down",
     "thumbsdown", "thumb_down", "downvote", "downvoted", "negative", "fail", "failed", "incorrect", "wrong", "reject",
     "rejected", "decline", "declined", "disapprove", "disapproved", "worse", "worst", "lose", "lost", "loss", "loser",
     "undesirable", "unhelpful", "useless", "harmful", "unsafe", "toxic", "unsatisfied", "dissatisfied", "disagree",
     "hate", "unacceptable", "failure", "unsuccessful", "discard", "discarded", "drop", "dropped",
     "-", "-1", "👎", "✗", "✘", "✖", "❌", "🚫", "😞", "🙁", "☹", "😡", "😠", "🤬", "😢", "😭", "😕", "🤮", "💩", "💔", "nein", "falsch", "schlecht",
     "negativ", "malo", "mala", "incorrecto", "negativo", "falso", "non", "mauvais", "mauvaise", "faux", "négatif", "cattivo",
     "sbagliato", "não", "nao", "ruim", "errado", "incorreto", "nee", "slecht", "nie", "zły", "hayır", "kötü", "нет", "плохо",
     "неверно", "неправильно", "否", "坏", "差", "错", "踩", "错误", "不满意", "不喜欢", "いいえ", "悪い", "不正解", "아니요", "나쁨", "싫어요"}
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
AFFIRMATIONS = frozenset(
    {"true", "false", "t", "f", "yes", "no", "y", "n", "ja", "nein", "sí", "si", "oui", "non", "sim", "não", "да", "нет", "是", "否",
     "はい", "いいえ", "예", "아니요"}
)  # fmt: skip
"""Words for yes and no, whose direction the column's name decides."""
_DEGREES = frozenset(
    {"very", "really", "strongly", "fully", "mostly", "largely", "somewhat", "slightly", "rather", "quite", "extremely",
     "completely", "totally", "clearly", "definitely", "probably", "much"}
)  # fmt: skip
"""Words before a verdict that leave its direction."""
_SHARE = 0.8
"""Least share of verdicts among the values of a column of verdicts. The others are typing errors."""
_LEAST, _MOST = -10, 10
"""Numbers within these bounds can be a verdict or a grade."""
_SKIN = re.compile("[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]")
"""Variants of emoji."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_OUT_OF = re.compile(r"(\d+(?:\.\d+)?) ?(?:/ ?\d+|stars?|out of \d+|%)|[★⭐☆]+", re.IGNORECASE)
_SCHOOL = re.compile(r"[A-F][+-]?")


def plain_word(value: str) -> str:
    """The word in lower case, without the variants of emoji, with `_` for spaces and hyphens inside it."""
    word = _SKIN.sub("", value.strip().strip("[]\"'.!").lower())
    return word if word == "-" else re.sub(r"[\s-]+", "_", word)


def polarity(value: Any) -> bool | None:
    """True for a good answer, False for a bad one, None if the value states neither. A number states it as 1 or 0."""
    if isinstance(value, str) and number_of(value) is None:
        return _polarity_of(plain_word(value))
    number = float(value) if isinstance(value, bool) else number_of(value)
    return bool(number) if number in (0, 1) else None


def _polarity_of(word: str) -> bool | None:
    """The polarity of a word, behind `not` or a degree: `not_helpful` is bad, `very_good` is good."""
    if word in GOOD or word in BAD:
        return word in GOOD
    first, _, rest = word.partition("_")
    found = _polarity_of(rest) if rest and (first == "not" or first in _DEGREES) else None
    return found if found is None or first != "not" else not found


def is_word(value: Any) -> bool:
    """Whether the value is a word, grade or sign that states a verdict. A sign is an emoji, whatever it shows."""
    if not isinstance(value, str) or len(value) > 40:
        return False
    word = plain_word(value)
    known = word in NEUTRAL or word in SIDES or _polarity_of(word) is not None
    return known or measure(value) is not None or _is_sign(value) or _SCHOOL.fullmatch(value.strip()) is not None


def _is_sign(value: str) -> bool:
    kinds = [unicodedata.category(sign) for sign in _SKIN.sub("", value.strip())]
    return "So" in kinds and all(kind in ("So", "Cf", "Zs") for kind in kinds)


def states_both(values: Collection[Any]) -> bool:
    """Whether some words state a good answer and others a bad one. Words of two letters may be codes of languages."""
    found = {polarity(value) for value in values if isinstance(value, str) and len(plain_word(value)) != 2}
    return {True, False} <= found and all(number_of(value) is None for value in values)


def measure(value: str) -> float | None:
    """The number in a text such as 4/5, 97 % or ★★★; None without one."""
    match = _OUT_OF.fullmatch(value.strip())
    if match is None:
        return None
    return float(match[1]) if match[1] is not None else float(value.count("★") + value.count("⭐"))


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
