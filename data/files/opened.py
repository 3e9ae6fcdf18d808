"""Opens a source file of any container and compression, and reads its records."""

import io
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, BinaryIO

from data.errors import OutOfSpace, disk_full_raises
from data.files import documents, encodings, sniff, streams, table, values
from data.files.cells import Missing
from data.files.columnar import Columnar
from data.files.records import Record, read_lines
from data.files.streams import Limits
from data.findings import unusable


@dataclass
class Opened:
    """The properties of an open file. `records` can be read once."""

    container: str
    """jsonl, json, csv or parquet."""
    compression: str
    """none, gzip or zstd."""
    encoding: str
    notes: list[str] = field(default_factory=list)
    """Remarks on unusual properties of the file, in sentences."""
    delimiter: str | None = None
    """The delimiter of a CSV file."""
    names: list[str] | None = None
    """The columns, if the file names them before its records. For a CSV file they are set when its header is read."""
    missing: Missing = field(default_factory=Missing)
    """The words for a missing value in a CSV file, once its records are read."""
    hint: encodings.Hint | None = None
    """Names the likely encodings of a text that is not UTF-8."""
    records: Callable[[Callable[[str], bool] | None], Iterator[Record]] = lambda _: iter(())
    """Every record. The argument selects columns (None: all); it is a hint, and other columns may be included."""


@contextmanager
def opened(
    open_: Callable[[], BinaryIO],
    filename: str,
    limits: Limits,
    progress: Callable[[int], None] = lambda _: None,
    scratch: Path | None = None,
    encoding: str | None = None,
) -> Iterator[Opened]:
    """Detect the file's container and prepare its records.

    `progress` receives the number of bytes that were read. `scratch` is a folder for a file that must be unpacked
    first. `encoding` is the text encoding; None detects it. Raises UnusableFile for a file without records.
    """
    with ExitStack() as stack:
        file = stack.enter_context(open_())
        counted = streams.CountedBytes(file, progress)
        plain: BinaryIO = io.BufferedReader(counted, streams.BUFFER)
        compression = _compression(plain.peek(4))  # type: ignore[attr-defined]  # it is the buffered one
        if compression != "none":
            plain = io.BufferedReader(streams.Expanded(plain, counted, compression, limits), streams.BUFFER)
        head = plain.read(sniff.HEAD)
        if not head.startswith(b"PAR1"):
            yield _text(head, plain, compression, filename, limits, encoding)
        elif encoding not in (None, "utf-8"):
            raise unusable("wrong_encoding", "The texts of a Parquet file are UTF-8: leave `encoding` out.")
        elif compression == "none" and file.seekable():
            yield _columnar(file, compression, filename, limits, progress)
        else:
            place = stack.enter_context(tempfile.TemporaryFile(dir=scratch))
            with disk_full_raises(OutOfSpace):
                _unpack(streams.Rewound(head, plain), place, limits)
            yield _columnar(place, compression, filename, limits, lambda _: None)


def _unpack(packed: io.RawIOBase, place: IO[bytes], limits: Limits) -> None:
    for block in iter(lambda: packed.read(streams.BUFFER), b""):
        place.write(block)
        if place.tell() > limits.unpacked_bytes:
            advice = "Unpack it before you send it: Parquet is compressed by itself."
            detail = f"A Parquet file in a compressed one may have {limits.unpacked_bytes} bytes. {advice}"
            raise unusable("expands_too_far", detail)
    place.flush()


def _compression(head: bytes) -> str:
    return "gzip" if head.startswith(streams.GZIP) else "zstd" if head.startswith(streams.ZSTD) else "none"


def _columnar(
    file: BinaryIO, compression: str, filename: str, limits: Limits, progress: Callable[[int], None]
) -> Opened:
    found = Opened("parquet", compression, "", _notes("parquet", compression, filename))
    parquet = Columnar(file, limits, progress)
    found.names, found.records = parquet.names, parquet.records
    return found


def _text(head: bytes, rest: BinaryIO, compression: str, filename: str, limits: Limits, named: str | None) -> Opened:
    encoding, mark = encodings.agreed(head, named)
    text: BinaryIO = _buffered(streams.Rewound(head[mark:], rest))
    if encoding != "utf-8":
        text = _buffered(streams.Utf8(text, encoding))
        head = text.read(sniff.HEAD)
        text = _buffered(streams.Rewound(head, text))
    else:
        head = head[mark:]
    returns = b"\r" in head[:-1] and b"\n" not in head  # a line feed may follow the last byte
    if returns:
        text, head = _buffered(streams.LineFeeds(text)), head.replace(b"\r", b"\n")
    document, text = _document(head, text, limits)
    container = "json" if document is not None else sniff.container(head, filename)
    file = Opened(container, compression, encoding, _notes(container, compression, filename))
    if encoding != "utf-8":
        file.notes.append(f"The text is {encoding.upper()}; it was read as that and is stored as UTF-8.")
    elif mark:
        file.notes.append("The byte-order mark at the beginning was skipped.")
    if returns:
        file.notes.append("Its lines end with carriage returns alone.")
    file.hint = encodings.Hint(head)
    if document is not None:
        _set_document(file, text, document, file.hint, limits)
    else:
        _set_records(file, text, head, file.hint, limits)
    return file


def _document(
    head: bytes, text: BinaryIO, limits: Limits
) -> tuple[documents.Listed | documents.Table | None, BinaryIO]:
    """The document, if the text is one object that is not a record, and the text from its first byte."""
    if not documents.is_one_object(head):
        return None, text
    lead = text.read(limits.line_bytes + 1)
    whole = len(lead) <= limits.line_bytes
    return documents.find(lead, whole, limits), _buffered(streams.Rewound(lead, text))


def _set_document(
    file: Opened, text: BinaryIO, document: documents.Listed | documents.Table, hint: encodings.Hint, limits: Limits
) -> None:
    if isinstance(document, documents.Table):
        file.names = document.names
        file.notes += document.notes
        file.records = lambda _: document.read(limits)
        return
    text.read(len(document.before))
    line, after = 1 + document.before.count(b"\n"), partial(document.check, limits=limits, notes=file.notes)
    file.records = lambda _: documents.unwrapped(
        hint.added(values.read(text, limits, file.notes, line=line, after=after)), document.key, file.notes
    )


def _set_records(file: Opened, text: BinaryIO, head: bytes, hint: encodings.Hint, limits: Limits) -> None:
    match file.container:
        case "jsonl":
            file.records = lambda _: hint.added(read_lines(text, limits, file.notes))
        case "json":
            file.records = lambda _: hint.added(values.read(text, limits, file.notes, sniff.opens_talk(head)))
        case _:
            file.delimiter = table.delimiter(head)
            separator, header = file.delimiter, partial(setattr, file, "names")
            file.records = lambda _: table.read(text, separator, limits, file.notes, hint, header, file.missing)


def _buffered(raw: io.RawIOBase) -> BinaryIO:
    return io.BufferedReader(raw, streams.BUFFER)


def _notes(container: str, compression: str, filename: str) -> list[str]:
    note = sniff.mismatch(container, compression, filename)
    return [note] if note else []
