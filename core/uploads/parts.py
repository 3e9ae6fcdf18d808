"""How a file is cut into parts, and where they lie."""

from collections.abc import Sequence

MOST_PARTS = 10_000


def part_bytes_for(total: int, least: int) -> int:
    """`least`, doubled until a file of `total` bytes has no more than MOST_PARTS parts."""
    size = least
    while total > size * MOST_PARTS:
        size *= 2
    return size


def count(total: int, part_bytes: int) -> int:
    """How many parts a file has."""
    return -(-total // part_bytes)


def size_of(number: int, total: int, part_bytes: int) -> int:
    """Bytes of part `number`; 0 for a part that a file of `total` bytes does not have."""
    return max(0, min(part_bytes, total - (number - 1) * part_bytes)) if number >= 1 else 0


def sizes(total: int, part_bytes: int) -> list[int]:
    """Bytes of each part, in order."""
    return [size_of(number, total, part_bytes) for number in range(1, count(total, part_bytes) + 1)]


def arrived_bytes(numbers: Sequence[int], total: int | None, part_bytes: int) -> int:
    """Bytes of these parts. While the size is not known, all that arrived are whole ones."""
    return sum(part_bytes if total is None else size_of(number, total, part_bytes) for number in numbers)


def prefix(upload_id: str) -> str:
    """Above the blobs of an upload."""
    return f"uploads/{upload_id}"


def key(upload_id: str, number: int) -> str:
    """The blob of a part."""
    return f"{prefix(upload_id)}/{number:06d}"
