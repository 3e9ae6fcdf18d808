"""The numeric answer, by GSM8K's conventions (Cobbe et al. 2021): "#### 1,234", else the last number of the text."""

import re
from collections.abc import Sequence
from fractions import Fraction

from trainer.rewards.base import RewardInput
from trainer.rewards.rules import expected_answer
from trainer.spec import NumericMatchReward

_MINUS = str.maketrans("\N{MINUS SIGN}\N{EN DASH}", "--")
"""The minus sign (U+2212) and the en dash, which many texts use instead of a hyphen."""
_CURRENCY = r"[$€£¥₹]"
# Digits with or without commas between thousands (or lakhs), a decimal part or not, or a decimal part alone.
_DIGITS = r"(?:\d{1,3}(?:,\d{2,3})*,\d{3}(?!\d)|\d+)(?:\.\d+)?|(?<![\d.])\.\d+"
_PLAIN = r"\d+(?:,\d{3})*(?:\.\d+)?"
_FRAC = rf"\\[dt]?frac\s*{{\s*(?P<top>[-+]?{_PLAIN})\s*}}\s*{{\s*(?P<bottom>{_PLAIN})\s*}}"
# A sign is one only where no word or number ends before it: "10-3" and "COVID-19" hold no negative number.
_NUMBER = re.compile(
    rf"(?:(?<![\w.)])(?P<sign>[-+]))?(?:{_CURRENCY} ?)?(?P<inner>(?<={_CURRENCY})-)?"
    rf"(?:{_FRAC}|(?P<digits>{_DIGITS})(?P<exponent>[eE][-+]?\d{{1,3}}(?!\w))?(?:/(?P<divisor>{_PLAIN}))?)"
)
_SPACES = ("", " ", "\N{NO-BREAK SPACE}", "\N{NARROW NO-BREAK SPACE}")
"""The text between the whole number and the fraction of a mixed number."""
_MARKED = re.compile(r"####[\s:*]*")
_LONGEST = 400
"""The most characters of a number. No answer is longer, and Python refuses to convert thousands of digits."""


class NumericMatch:
    """1 if the response's final number equals the prompt's `answer`, `format_credit` if another number follows ####, else 0."""

    def __init__(self, spec: NumericMatchReward) -> None:
        self._spec = spec

    def score(self, answers: Sequence[RewardInput]) -> list[float]:
        return [self._one(answer) for answer in answers]

    def _one(self, answer: RewardInput) -> float:
        expected, _ = final_number(expected_answer(answer))
        found, marked = final_number(answer.text)
        if found is not None and expected is not None and abs(found - expected) <= Fraction(self._spec.tolerance):
            return 1.0
        return self._spec.format_credit if marked else 0.0


def final_number(text: str) -> tuple[Fraction | None, bool]:
    """The final number of a text, exactly, and whether it follows ####; (None, False) for a text without a number.

    It is the number after the last #### that has one, else the last number of the text. A whole number and the proper
    fraction directly after it are one mixed number: "3 1/2" is 7/2.
    """
    text = text.translate(_MINUS)
    for mark in reversed(list(_MARKED.finditer(text))):
        if number := _NUMBER.match(text, mark.end()):
            return _mixed(number, _after(number)) or _value(number), True
    numbers = list(_NUMBER.finditer(text))
    if not numbers:
        return None, False
    before = _mixed(numbers[-2], numbers[-1]) if len(numbers) > 1 else None
    return before or _value(numbers[-1]), False


def _after(number: re.Match[str]) -> re.Match[str] | None:
    """The number directly after another, or after one space."""
    at = number.end()
    return _NUMBER.match(number.string, at) or _NUMBER.match(number.string, at + 1)


def _mixed(whole: re.Match[str], part: re.Match[str] | None) -> Fraction | None:
    """The value of a mixed number; None where the two numbers are separate."""
    if part is None or whole.string[whole.end() : part.start()] not in _SPACES:
        return None
    plain = (whole["digits"] or "").replace(",", "").isdecimal() and not (whole["exponent"] or whole["divisor"])
    divided = (part["divisor"] or part["bottom"]) and part[0][0] in "0123456789\\" and not part["exponent"]
    if not (plain and divided):
        return None
    count, fraction = _value(whole), _value(part)
    if count is None or fraction is None or not 0 < fraction < 1:
        return None
    return count - fraction if _negative(whole) else count + fraction


def _value(number: re.Match[str]) -> Fraction | None:
    """The value; None for too many digits, or a division by 0."""
    if len(number[0]) > _LONGEST:
        return None
    digits = (number["top"] or number["digits"]).replace(",", "") + (number["exponent"] or "")
    divisor = Fraction((number["bottom"] or number["divisor"] or "1").replace(",", ""))
    value = Fraction(digits) * (-1 if _negative(number) else 1)
    return value / divisor if divisor else None


def _negative(number: re.Match[str]) -> bool:
    return "-" in (number["sign"], number["inner"])
