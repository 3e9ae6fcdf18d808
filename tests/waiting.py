"""Waiting for something to become true, with a deadline: tests never sleep in the hope that it did."""

import time
from collections.abc import Callable


def eventually(condition: Callable[[], object], seconds: float = 30.0) -> None:
    """Return as soon as `condition()` is true; fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"it did not happen within {seconds} s"
        time.sleep(0.02)
