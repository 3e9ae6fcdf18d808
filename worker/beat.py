"""Something done every few seconds, whatever else the process is busy with."""

import threading
from collections.abc import Callable


class Beat:
    """Calls `action` from a thread of its own, every `seconds`, until it answers False or `stop` is called."""

    def __init__(self, name: str, seconds: float, action: Callable[[], bool]) -> None:
        self._seconds = seconds
        self._action = action
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._seconds):
            if not self._action():
                return
