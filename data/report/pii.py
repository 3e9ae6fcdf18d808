"""Finds strings that look like personal data. A match is a hint for a person to check, not a proof.

Card numbers must pass Luhn's check (ISO/IEC 7812-1), IBANs the remainder check (ISO 13616), and IP addresses must be
public.
"""

import ipaddress
import re
from collections.abc import Callable, Iterator
from functools import partial

_EMAIL = re.compile(r"\b[A-Za-z0-9](?:[\w.+-]{0,62}\w)?@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})\.)+[A-Za-z]{2,24}\b")
# International, North American, in pairs of digits, or national with its leading 0: other groups of digits may be anything.
_PHONE = re.compile(
    r"(?<!\d )(?<![\w.,/+-])(?:"
    r"\+\d{1,15}+(?:[ .-]?\(\d{1,5}\))?+(?:[ .-]?\d{2,12}+){0,5}+(?:/\d{1,4}+)?+"
    r"|\(?[2-9]\d{2}\)?[ .-]\d{3}[ .-]\d{4}"
    r"|0[1-9](?: \d\d){4}(?! \d)"
    r"|0\d{1,4}[ /-]\d{3,9}(?:[ -]\d{2,5}){0,3}(?:/\d{1,4})?"
    r")(?![\w/-]|\.\d)"
)
_CARD = re.compile(r"(?<![\w.-])[3-6]\d{3}(?:\d{9,15}|(?:[ -]\d{2,6}){2,5})(?![\w-]|\.\d)")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
_IP = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d)")


def matches(text: str) -> Iterator[tuple[str, int, int]]:
    """(finding's code, begin, end) of the first match of each kind."""
    if "@" in text and (match := _EMAIL.search(text)):
        yield "pii_email", *match.span()
    if not any(digit in text for digit in "0123456789"):
        return
    for code, look in _LOOKS:
        if (span := next(look(text), None)) is not None:
            yield code, *span


def luhn(number: str) -> bool:
    """Whether the sum of the digits, every second one from the right doubled, is a multiple of ten (Luhn)."""
    digits = [int(sign) for sign in reversed(number) if sign.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[1::2]]
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


def iban(text: str) -> bool:
    """Whether the IBAN, with its first four signs moved to the end and letters counted from 10, leaves 1 when divided by 97."""
    plain = text.replace(" ", "")
    moved = plain[4:] + plain[:4]
    return 15 <= len(plain) <= 34 and int("".join(str(int(sign, 36)) for sign in moved)) % 97 == 1


def _checked(pattern: re.Pattern[str], holds: Callable[[str], bool], text: str) -> Iterator[tuple[int, int]]:
    return (match.span() for match in pattern.finditer(text) if holds(match.group()))


def _cards(text: str) -> Iterator[tuple[int, int]]:
    """Spans of card numbers. Another number, such as a date, may follow one, so the part before each space is also checked."""
    for match in _CARD.finditer(text):
        number = match.group()
        while number:
            if _card(number):
                yield match.start(), match.start() + len(number)
                break
            number = number.rpartition(" ")[0]


def _card(text: str) -> bool:
    digits = [sign for sign in text if sign.isdigit()]
    return 13 <= len(digits) <= 19 and len(set(digits)) > 1 and luhn(text)


def _phone(text: str) -> bool:
    return 9 <= sum(sign.isdigit() for sign in text) <= 15


def _public(text: str) -> bool:
    try:
        return ipaddress.IPv4Address(text).is_global
    except ipaddress.AddressValueError:
        return False


_LOOKS: tuple[tuple[str, Callable[[str], Iterator[tuple[int, int]]]], ...] = (
    ("pii_phone", partial(_checked, _PHONE, _phone)),
    ("pii_card", _cards),
    ("pii_iban", partial(_checked, _IBAN, iban)),
    ("pii_ip", partial(_checked, _IP, _public)),
)
