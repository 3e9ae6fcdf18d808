"""The layout of an upload: its file name, the sizes of its parts, and the keys of their blobs."""

import unicodedata
from collections.abc import Sequence

from core.errors import InvalidRequest

MOST_PARTS = 10_000
LONGEST_FILENAME = 255
_REFUSED_CATEGORIES = frozenset({"Cc", "Cs"})
"""Unicode categories: control characters and lone surrogates."""


def part_bytes_for(total: int, least: int) -> int:
    """The size of the parts: `least`, doubled until a file of `total` bytes has at most MOST_PARTS parts."""
    size = least
    while total > size * MOST_PARTS:
        size *= 2
    return size


def part_count(total: int, part_bytes: int) -> int:
    """The number of parts of a file of `total` bytes."""
    return -(-total // part_bytes)


def part_size(number: int, total: int, part_bytes: int) -> int:
    """Bytes of part `number`; 0 if a file of `total` bytes has no such part."""
    return max(0, min(part_bytes, total - (number - 1) * part_bytes)) if number >= 1 else 0


def part_sizes(total: int, part_bytes: int) -> list[int]:
    """Bytes of each part, in order."""
    return [part_size(number, total, part_bytes) for number in range(1, part_count(total, part_bytes) + 1)]


def received_bytes(numbers: Sequence[int], total: int | None, part_bytes: int) -> int:
    """Bytes of these parts. While the total is unknown, every received part is a full one."""
    return sum(part_bytes if total is None else part_size(number, total, part_bytes) for number in numbers)


def upload_prefix(upload_id: str) -> str:
    """The prefix of the blob keys of an upload."""
    return f"uploads/{upload_id}"


def part_key(upload_id: str, number: int) -> str:
    """The blob key of a part."""
    return f"{upload_prefix(upload_id)}/{number:06d}"


def checked_filename(filename: str) -> str:
    """The last name of a path in POSIX or Windows form. Raises InvalidRequest if it cannot be a file name.

    The name is shown, and its ending helps to detect the format. It is never part of a blob key.
    """
    name = filename.replace("\\", "/").rstrip("/").rpartition("/")[2].strip()
    refused = _REFUSED_CATEGORIES.intersection(map(unicodedata.category, name))
    if name in ("", ".", "..") or len(name) > LONGEST_FILENAME or refused:
        detail = f"must be a file name of at most {LONGEST_FILENAME} characters, without control characters"
        raise InvalidRequest(
            f"The name of the file {detail}.", param="filename", errors=[{"pointer": "#/filename", "detail": detail}]
        )
    return name
