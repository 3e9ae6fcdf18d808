"""The file that events are appended to."""

import json
import math
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from pydantic import TypeAdapter

from trainer.events.kinds import Event

_adapter: TypeAdapter[Event] = TypeAdapter(Event)


def finite(values: dict[str, float]) -> dict[str, float]:
    """Only the finite ones: JSON has no NaN, and an undefined metric is a missing point, not a zero."""
    return {name: float(value) for name, value in values.items() if math.isfinite(value)}


class EventLog:
    """Appends events to a file, one line each, without a buffer: nothing is left to write when it is closed."""

    def __init__(self, path: Path) -> None:
        drop_torn_tail(path)
        self._file = path.open("ab", buffering=0)
        self._writing = threading.Lock()

    def emit(self, event: Event) -> None:
        """Write one event. Raises OSError where the disk refuses it, and then leaves no part of the line.

        Whole lines only: a reader never sees half of one unless the machine dies.
        """
        line = json.dumps(event.model_dump(exclude_none=True), ensure_ascii=False, allow_nan=False) + "\n"
        with self._writing:
            before, rest = os.fstat(self._file.fileno()).st_size, line.encode()
            try:
                while rest:
                    rest = rest[self._file.write(rest) :]
            except OSError:
                self._file.truncate(before)
                raise

    def close(self) -> None:
        self._file.close()


def read(path: Path, offset: int = 0) -> Iterator[tuple[Event, int]]:
    """Yield the events from byte `offset` on, each with the offset after it. An unfinished last line is left for later."""
    if not path.exists():
        return
    with path.open("rb") as file:
        file.seek(offset)
        for line in file:
            if not line.endswith(b"\n"):
                return
            offset += len(line)
            yield _adapter.validate_json(line), offset


def last_event(path: Path) -> Event | None:
    """The last event written whole; None where there is none."""
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return _adapter.validate_json(lines[-1]) if lines else None


def drop_torn_tail(path: Path) -> None:
    """A killed process may have left half a line; what follows it must start on a line of its own."""
    if not path.exists():
        return
    content = path.read_bytes()
    keep = content.rfind(b"\n") + 1
    if keep != len(content):
        with path.open("rb+") as file:
            file.truncate(keep)
