"""A device's memory as its driver sees it, so that both systems are measured by the same rule."""

import shutil
import subprocess
import threading
from types import TracebackType

_EVERY = 0.25


class DeviceWatch:
    """While inside, looks at the first GPU's used memory four times a second; `peak_mib` is what was added at most."""

    def __init__(self, device: str) -> None:
        self._wanted = device == "cuda" and shutil.which("nvidia-smi") is not None
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.peak_mib: float | None = None
        self._before = 0.0

    def __enter__(self) -> "DeviceWatch":
        before = _used_mib() if self._wanted else None
        self._wanted = before is not None
        if before is not None:
            self._before, self.peak_mib = before, 0.0
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._wanted:
            self._done.set()
            self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(_EVERY):
            self.peak_mib = max(self.peak_mib or 0.0, (_used_mib() or 0.0) - self._before)


def _used_mib() -> float | None:
    """None where the driver does not say, as of a slice of a GPU."""
    query = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "--id=0"]
    done = subprocess.run(query, capture_output=True, text=True, check=False)
    try:
        return float(done.stdout)
    except ValueError:
        return None
