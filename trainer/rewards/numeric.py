"""The numeric answer, by GSM8K's conventions (Cobbe et al. 2021): "#### 1,234", else the last number of the text."""

import re
from collections.abc import Sequence
from fractions import Fraction

from trainer.rewards.answer import Answer
from trainer.rewards.exact import reference_of
from trainer.spec import NumericMatchReward

_CURRENCY = r"[$€£¥₹]"
# Digits with or without commas between thousands (or lakhs), a decimal part or not, or a decimal part alone.
_DIGITS = r"(?:\d{1,3}(?:,\d{2,3})*,\d{3}(?!\d)|\d+)(?:\.\d+)?|(?<![\d.])\.\d+"
# A sign is one only where no word or number ends before it: "10-3" and "COVID-19" hold no negative number.
_NUMBER = re.compile(
    rf"(?:(?<![\w.)])(?P<sign>[-+−]))?(?:{_CURRENCY} ?)?(?P<inner>(?<={_CURRENCY})[-−])?"
    rf"(?P<digits>{_DIGITS})(?P<exponent>[eE][-+]?\d{{1,3}}(?!\w))?(?:/(?P<divisor>\d+(?:,\d{{3}})*(?:\.\d+)?))?"
)
_MARKED = re.compile(r"####[\s:*]*")
_LONGEST = 400
"""Digits beyond which a number is not read: no answer has as many, and Python refuses to convert thousands of them."""


class NumericMatch:
    """1 where the response's final number equals the prompt's `answer`, `format_credit` where it only stands after ####."""

    def __init__(self, spec: NumericMatchReward) -> None:
        self._spec = spec

    def score(self, answers: Sequence[Answer]) -> list[float]:
        return [self._one(answer) for answer in answers]

    def _one(self, answer: Answer) -> float:
        expected, _ = final_number(reference_of(answer))
        found, marked = final_number(answer.text)
        if found is not None and expected is not None and abs(found - expected) <= Fraction(self._spec.tolerance):
            return 1.0
        return self._spec.format_credit if marked else 0.0


def final_number(text: str) -> tuple[Fraction | None, bool]:
    """The number that a text ends on, exactly, and whether it follows ####; (None, False) for a text without one.

    The last #### that a number follows counts; without one the last number of the text.
    """
    for mark in reversed(list(_MARKED.finditer(text))):
        if number := _NUMBER.match(text, mark.end()):
            return _value(number), True
    numbers = list(_NUMBER.finditer(text))
    return (_value(numbers[-1]), False) if numbers else (None, False)


def _value(number: re.Match[str]) -> Fraction | None:
    """None for one that cannot be read: thousands of digits, or a division by 0."""
    digits = number["digits"].replace(",", "") + (number["exponent"] or "")
    if len(digits) + len(number["divisor"] or "") > _LONGEST:
        return None
    value = Fraction(digits) * (-1 if (number["sign"] or number["inner"] or "+") in "-−" else 1)
    divisor = Fraction((number["divisor"] or "1").replace(",", ""))
    return value / divisor if divisor else None
