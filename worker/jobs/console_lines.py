"""Reads the console output of a process, line by line, from a file that grows."""

import re
from pathlib import Path

from worker.jobs.workspace import Workspace

_PIECE_BYTES = 256 * 1024
_LONGEST_LINE = 8 * 1024
"""Characters of a line that are kept."""
_LONGEST_PENDING = 64 * 1024
"""Bytes of a line without an end after which the rest of it is ignored."""
_CUT = " […]"
_MOST_TAILS, _FEWEST_LINES = 5, 4
# Escape sequences by ECMA-48: control sequences, operating-system commands, device strings, and short ones.
_ANSI = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~]?)"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_CONTROLS = {code: None for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) != "\t"}


class ConsoleFile:
    """The lines of one file. A progress bar, which returns to the start of its line, counts as its last state."""

    def __init__(self, path: Path, most_unread: int, offset: int = 0) -> None:
        """`most_unread`: bytes that may wait to be read. Older ones are dropped when there are more. `offset`: where to begin."""
        self._path = path
        self._most_unread = most_unread
        self._offset = offset
        self._pending = b""
        self._ignore_to_line_end = False
        self._dropped = 0

    @property
    def read_bytes(self) -> int:
        """The end of the last complete line that was read, in bytes."""
        return self._offset - len(self._pending)

    def read(self, final: bool = False) -> list[str]:
        """The next complete lines, of at most 256 KiB; with `final`, an unfinished last line too. Empty: none for now."""
        try:
            size = self._path.stat().st_size
        except FileNotFoundError:
            return []
        self._drop_backlog(size)
        lines: list[str] = []
        with self._path.open("rb") as file:
            file.seek(self._offset)
            while not lines and (piece := file.read(_PIECE_BYTES)):
                self._offset += len(piece)
                lines = self._ended_lines(piece)
        return lines if lines or not final else self._rest()

    def _ended_lines(self, piece: bytes) -> list[str]:
        *ended, self._pending = (self._pending + piece).split(b"\n")
        self._pending = self._pending[self._pending.rfind(b"\r", 0, -1) + 1 :]
        if self._ignore_to_line_end and ended:
            del ended[0]
            self._ignore_to_line_end = False
        lines = [clean(line) for line in ended]
        if len(self._pending) > _LONGEST_PENDING:
            lines += [] if self._ignore_to_line_end else [clean(_whole_words(self._pending)) + _CUT]
            self._pending, self._ignore_to_line_end = b"", True
        return lines

    def take_dropped(self) -> int:
        """Number of bytes that were dropped since the last call."""
        dropped, self._dropped = self._dropped, 0
        return dropped

    def _drop_backlog(self, size: int) -> None:
        unread = size - self._offset
        # The beginning is always read.
        if unread > self._most_unread and self._offset >= _PIECE_BYTES:
            self._dropped += unread - self._most_unread // 2 + len(self._pending)
            self._offset = size - self._most_unread // 2
            self._pending, self._ignore_to_line_end = b"", True

    def _rest(self) -> list[str]:
        line, self._pending = self._pending, b""
        return [] if self._ignore_to_line_end or not line else [clean(line)]


def log_tail(workspace: Workspace, lines: int = 20, limit: int = 4000) -> str:
    """The last lines of the trainer's console output, at most `limit` bytes.

    Several processes share the lines. The one that ended first comes first.
    """
    logs = [path for path in workspace.logs if path.stat().st_size]
    logs = sorted(logs, key=lambda path: path.stat().st_mtime)[:_MOST_TAILS]
    share = (max(_FEWEST_LINES, lines // len(logs)), limit // len(logs)) if logs else (0, 0)
    return "\n".join(_tail_of(path, *share) for path in logs)


def _tail_of(path: Path, lines: int, limit: int) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - limit))
        text = file.read().decode(errors="replace")
    return "\n".join(text.splitlines()[-lines:])


def clean(line: bytes) -> str:
    """The line as text: the last state of a progress bar, no escape sequences, no control characters but tabs.

    Bytes that are not UTF-8 become U+FFFD.
    """
    text = line.decode("utf-8", "replace")
    if "\r" in text:
        states = [state for state in text.split("\r") if state.strip()]
        text = states[-1] if states else ""
    return _ANSI.sub("", text).translate(_CONTROLS).rstrip()


def shortened(line: str) -> str:
    """The line without the part beyond 8192 characters. Secrets are masked before, so that none is cut in two."""
    return line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + _CUT


def _whole_words(line: bytes) -> bytes:
    """The beginning of a long line, up to a space, so that no secret is cut in two."""
    return line[:_LONGEST_PENDING].rpartition(b" ")[0]
