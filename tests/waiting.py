"""Waiting for something to become true, with a deadline: tests never sleep in the hope that it did."""

import time
from collections.abc import Callable

_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.02, 0.3


def eventually(condition: Callable[[], object], seconds: float = 240.0) -> None:
    """Return as soon as `condition()` is true; fail after `seconds`.

    The default is so long that a slow machine, with every core busy, does not reach it. A test gives a limit of its own
    only where the limit is its subject.

    The pauses are a tenth of the time waited so far, so that a question to a server does not take the CPU from its work.
    """
    began = time.monotonic()
    while not condition():
        waited = time.monotonic() - began
        assert waited < seconds, f"it did not happen within {seconds} s"
        time.sleep(min(max(waited / 10, _SHORTEST_PAUSE), _LONGEST_PAUSE))
