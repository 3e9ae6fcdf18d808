"""Detects the encoding of a text by its first bytes, checks the encoding that the user names, and suggests encodings for text that is not UTF-8."""

import codecs
from collections.abc import Iterator
from functools import cache

from data.errors import InvalidOption, RowError
from data.files.records import Record
from data.findings import unusable

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"),
)  # fmt: skip
_NAMED = (
    "utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be",
    *(f"cp{page}" for page in (437, 775, 850, 852, 855, 857, 858, 860, 861, 862, 863, 864, 865, 866, 869, 874, 932, 949,
                               950, 1125, *range(1250, 1259))),
    *(f"iso8859-{part}" for part in (*range(1, 12), *range(13, 17))),
    "big5", "big5hkscs", "euc_jp", "euc_jis_2004", "euc_kr", "gb18030", "gb2312", "gbk", "hz", "iso2022_jp", "iso2022_kr",
    "johab", "koi8-r", "koi8-t", "koi8-u", "kz1048", "mac-cyrillic", "mac-greek", "mac-iceland", "mac-latin2", "mac-roman",
    "mac-turkish", "ptcp154", "shift_jis", "shift_jis_2004", "tis-620",
)  # fmt: skip
_LIKELY = ("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "koi8_r", "cp932", "euc_jp", "gb18030", "big5", "cp949")  # fmt: skip
"""Encodings that may be suggested: the usual one of each script. charset-normalizer has forty, and rare ones often score as high."""
_SAMPLE = 16 * 1024
"""Bytes that a suggestion is made from."""
_LEAST = 4
"""Least number of bytes beyond ASCII for a suggestion."""
_SHOWN = "cp1252 (Western European), cp1251 (Cyrillic), gb18030 (Chinese), shift_jis (Japanese), utf-16"


def checked(name: str | None) -> str | None:
    """The canonical name of an encoding that a user names. Raises InvalidOption for an unknown one, and for one that is not of text."""
    if name is None:
        return None
    try:
        found = codecs.lookup(name).name if name.isascii() else ""
    except (LookupError, ValueError):
        found = ""
    if found not in _known():
        detail = f"is no known encoding of text; use a name of Python's, such as {_SHOWN}"
        error = {"pointer": "#/encoding", "detail": detail}
        raise InvalidOption(f"encoding: {name[:40]!r} {detail}.", param="encoding", errors=[error])
    return found


@cache
def _known() -> frozenset[str]:
    return frozenset(codecs.lookup(name).name for name in _NAMED)


def detected(head: bytes) -> tuple[str, int]:
    """The encoding by the byte-order mark or the zero bytes, and the length of the mark in bytes."""
    for mark, name in _BOMS:
        if head.startswith(mark):
            return name, len(mark)
    # Without a mark: Latin text in UTF-16 has a zero in every other byte.
    sample = head[:512]
    for name, zeros, others in (("utf-16-le", sample[1::2], sample[::2]), ("utf-16-be", sample[::2], sample[1::2])):
        if len(zeros) > 1 and zeros.count(0) > 0.8 * len(zeros) and others.count(0) == 0:
            return name, 0
    return "utf-8", 0


def agreed(head: bytes, named: str | None) -> tuple[str, int]:
    """Like `detected`, with the encoding that the user named. Raises UnusableFile if the byte-order mark is that of another."""
    found, mark = detected(head)
    if named is None:
        return found, mark
    if mark and not found.startswith(named):
        detail = (
            f"The file begins with the byte-order mark of {found.upper()}, so it is not {named}: leave `encoding` out."
        )
        raise unusable("wrong_encoding", detail)
    if named in ("utf-16", "utf-32"):
        return (found, mark) if found.startswith(named) else (f"{named}-le", 0)
    return named, mark


def likely(sample: bytes) -> list[str]:
    """The likely encodings of a text that is not UTF-8, the usual one first. Empty if the text has too little evidence."""
    import charset_normalizer  # slow to import, and few need it

    start = _first_bad(sample)
    if start is None:
        return []
    begin = max(sample.rfind(b"\n", 0, start) + 1, start - _SAMPLE // 4)
    part = sample[begin : begin + _SAMPLE]
    guesses = list(charset_normalizer.from_bytes(part, cp_isolation=list(_LIKELY))) if _foreign(part) >= _LEAST else []
    best = [one for one in guesses if (one.chaos, one.coherence) == (guesses[0].chaos, guesses[0].coherence)]
    # Those that read the text alike count once.
    named = [next(name for name in _LIKELY if name in one.could_be_from_charset) for one in best]
    return [codecs.lookup(name).name for name in _LIKELY if name in named]


def _foreign(sample: bytes) -> int:
    return len(sample) - len(sample.translate(None, bytes(range(128, 256))))


def _first_bad(sample: bytes) -> int | None:
    """The index of the first byte that is not UTF-8. A character that the end cuts off does not count."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(sample)
    except UnicodeDecodeError as error:
        return error.start
    return None


_NO_GUESS = "set encoding to the one that it has"


class Hint:
    """The hint after "is not UTF-8". One file has one hint, made from its beginning or its first bad line."""

    def __init__(self, head: bytes) -> None:
        self._head = head
        self._names: list[str] | None = None

    def names(self, line: bytes | None) -> list[str]:
        """The likely encodings of the file. `line` is its first bad line."""
        if self._names is None:
            self._names = likely(self._head) or likely(line or b"")
        return self._names

    def __call__(self, line: bytes | None) -> str:
        names = self.names(line)
        guess = f"it looks like {' or '.join(names)}: set encoding to the right one" if names else _NO_GUESS
        return f"; {guess}"

    def added(self, records: Iterator[Record]) -> Iterator[Record]:
        """The records. Errors about UTF-8 have the hint."""
        for line, value, raw in records:
            if isinstance(value, RowError) and value.code == "not_utf8":
                value = RowError(f"{value.detail}{self(raw)}", value.column, value.pointer, value.code)
            yield line, value, raw
