"""Server-sent events, as the WHATWG's standard has them."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Message:
    """One dispatched event."""

    event: str
    data: str

    def json(self) -> Any:
        return json.loads(self.data)


def messages(lines: Iterable[str]) -> Iterator[Message]:
    """An event is complete at the blank line behind it; what the connection cut off before is not one."""
    event = "message"
    data: list[str] = []
    for line in lines:
        if not line:
            if data:
                yield Message(event, "\n".join(data))
            event, data = "message", []
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            event = value
        elif name == "data":
            data.append(value)
