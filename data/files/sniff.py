"""Detects container and compression of a file from its bytes. The name is only a hint; a mismatch is noted."""

import json
import re
from pathlib import PurePosixPath

import orjson

from data.files.json_records import is_message, object_end
from data.findings import unusable

HEAD = 64 * 1024
"""Bytes that are examined."""
_BY_NAME = {
    "jsonl": ("jsonl",), "ndjson": ("jsonl",), "json": ("json", "jsonl"), "csv": ("csv",), "tsv": ("csv",),
    "parquet": ("parquet",), "pq": ("parquet",),
}  # fmt: skip
_PACKED = {".gz": "gzip", ".gzip": "gzip", ".zst": "zstd", ".zstd": "zstd"}
_TITLES = {"jsonl": "JSON Lines", "json": "JSON", "csv": "CSV", "parquet": "Parquet"}
_OTHERS = {
    b"PK\x03\x04": "a ZIP archive (or an Excel workbook): unpack it, or save the sheet as CSV",
    b"BZh": "a bzip2 file: send it plain, or with gzip or zstd",
    b"\xfd7zXZ": "an xz file: send it plain, or with gzip or zstd",
    b"7z\xbc\xaf": "a 7z archive: unpack it first",
    b"ARROW1": "an Arrow file: save it as Parquet",
    b"\x89HDF": "an HDF5 file: save it as Parquet or JSON Lines",
    b"SQLite format 3": "an SQLite database: export its table as CSV or JSON Lines",
    b"\x80\x04": "a pickle: save it as Parquet or JSON Lines",
    b"\x80\x05": "a pickle: save it as Parquet or JSON Lines",
    b"%PDF": "a PDF",
    b"version https://git-lfs": "a pointer of Git LFS, not the data: fetch the file itself (git lfs pull)",
    b"<!DOCTYPE": "a web page, not the data: download the file itself",
    b"<!doctype": "a web page, not the data: download the file itself",
    b"<html": "a web page, not the data: download the file itself",
    b"\x1f\x8b": "compressed twice: unpack it once",
    b"\x28\xb5\x2f\xfd": "compressed twice: unpack it once",
}
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f"))
_SEPARATORS = (b",", b"\t", b";", b"|")
_FIRST_OBJECT = re.compile(rb"\s*\[\s*\{")
_FIRST_FIELD = re.compile(rb'\s*"(role|from)"\s*:')
_BRACKETS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|([{\[])|([}\]])')


def container(head: bytes, filename: str) -> str:
    """jsonl, json, csv or parquet. `head` is UTF-8. Raises UnusableFile for any other file."""
    if head.startswith(b"PAR1"):
        return "parquet"
    for magic, what in _OTHERS.items():
        if head.startswith(magic):
            raise unusable("unknown_container", f"The file is {what}.")
    if head[257:262] == b"ustar":
        raise unusable(
            "unknown_container", "The file is a tar archive: unpack it, and send the data file that it holds."
        )
    named = _named(filename)
    text = head.lstrip()
    if not text:
        return named[0] if named and named[0] != "parquet" else "jsonl"
    if text.startswith((b"{", b"[")):
        return _json_or_lines(text, named)
    if len(text.translate(None, _CONTROLS)) < 0.9 * len(text):
        raise unusable("unknown_container", "The file is none of JSON Lines, JSON, CSV and Parquet: it is not text.")
    lines = [line for line in text.splitlines() if line.strip()][:50]
    if (container := _lines_or_table(lines, named)) is not None:
        return container
    if named and named[0] != "parquet":
        return named[0]
    raise unusable(
        "unknown_container",
        'The file is none of JSON Lines, JSON, CSV and Parquet. Plain text goes one text a line, as {"text": "…"}.',
    )


def mismatch(found: str, compression: str, filename: str) -> str | None:
    """A note if the file's name suggests another container or compression; otherwise None."""
    packed = _PACKED.get(PurePosixPath(filename.lower()).suffix, "none")
    named = _named(filename)
    if packed == compression and (not named or found in named):
        return None
    if not named and packed == "none":
        return None  # the name promises nothing
    what = _TITLES[found] + (f", compressed with {compression}" if compression != "none" else "")
    return f"The file's name suggests another type, but it is {what}, and was read as that."


def _named(filename: str) -> tuple[str, ...]:
    """The containers that the file name suggests."""
    name = PurePosixPath(filename.lower())
    while name.suffix in _PACKED:
        name = name.with_suffix("")
    return _BY_NAME.get(name.suffix.lstrip("."), ())


def _json_or_lines(text: bytes, named: tuple[str, ...]) -> str:
    """ "jsonl" if one of the first lines is an object, or the first line closes all brackets that it opens; otherwise "json"."""
    lines = text.split(b"\n")
    if text.startswith(b"["):
        first_ends = _is_json(lines[0]) or (len(lines) == 1 and "jsonl" in named)
        return "jsonl" if first_ends and opens_talk(text) else "json"
    whole = lines[:-1] or lines
    if any(line.startswith(b"{") and _is_object(line) for line in whole[:50]):
        return "jsonl"
    end = object_end(lines[0])
    if end is None:
        return "json" if len(lines) > 1 and _opens(lines[0]) else "jsonl"
    # A long line of objects would exceed the limit of a line. A short one is read as lines are.
    several = len(lines) == 1 and len(text) > HEAD // 2 and lines[0][end:].lstrip().startswith(b"{")
    return "json" if several else "jsonl"


def _opens(line: bytes) -> bool:
    """Whether the line opens more brackets than it closes."""
    marks = _BRACKETS.findall(line)
    return sum(bool(opens) - bool(closes) for opens, closes in marks) > 0


def opens_talk(text: bytes) -> bool:
    """Whether a JSON text begins with an array whose first element is a message: the array is one conversation."""
    start = _FIRST_OBJECT.match(text)
    if start is None:
        return False
    try:
        return is_message(json.JSONDecoder().raw_decode(text[start.end() - 1 :].decode(errors="replace"))[0])
    except ValueError:  # longer than what is looked at
        return _FIRST_FIELD.match(text, start.end()) is not None


def _lines_or_table(lines: list[bytes], named: tuple[str, ...]) -> str | None:
    """The container of text that does not begin with a bracket. A line of a quoted cell may be an object, so CSV is tested first."""
    objects, table = sum(_is_object(line) for line in lines), _looks_like_a_table(lines)
    if lines[0].lstrip(b'"').lower().startswith(b"sep="):
        return "csv"
    header = any(sign in lines[0] for sign in _SEPARATORS) and not _is_json(lines[0])
    if "csv" in named or (header and not named and 0 < 2 * objects < len(lines)):
        return "csv"
    if objects or _is_json(lines[0]):
        return "jsonl"
    return "csv" if table else None


def _is_object(line: bytes) -> bool:
    return _is_json(line) and line.lstrip().startswith(b"{")


def _is_json(line: bytes) -> bool:
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return True


def _looks_like_a_table(lines: list[bytes]) -> bool:
    """Whether the first line has several columns, and the second has at least as many separators."""
    if len(lines) < 2:
        return False
    return any(lines[0].count(sign) and lines[1].count(sign) >= lines[0].count(sign) for sign in _SEPARATORS)
