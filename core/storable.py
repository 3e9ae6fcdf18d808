"""Messages and numbers as PostgreSQL can hold them."""

import math

from data.text import storable

LONGEST_MESSAGE = 2000


def message(text: str) -> str:
    """What somebody will read: storable, and of one that is very long only how it begins and how it ends."""
    half = LONGEST_MESSAGE // 2
    short = text if len(text) <= LONGEST_MESSAGE else f"{text[:half]}\n[…]\n{text[-half:]}"
    return str(storable(short))


def numbers(values: dict[str, float]) -> dict[str, float]:
    """Only the finite ones: an undefined number is a missing one."""
    return {storable(name): value for name, value in values.items() if math.isfinite(value)}
