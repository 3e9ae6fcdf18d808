"""Amounts as people write and read them."""

import re

from trainer.errors import SpecError

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}


def parse_bytes(text: str) -> int:
    """Bytes of `24GiB`, `80GB`, `512M` or `1000000`. Raises SpecError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?I?)B?", text.strip().upper())
    if match is None or match[2] == "I":
        raise SpecError(f"{text!r} is no amount of memory: say 24GiB or 80GB.")
    return int(float(match[1]) * _UNITS[match[2]])


def show_bytes(size: float) -> str:
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if abs(size) >= 2**power:
            number = size / 2**power
            return f"{number:.3g} {unit}" if abs(number) < 1000 else f"{number:,.0f} {unit}"
    return f"{size} B"


def show_count(number: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.0f}"
