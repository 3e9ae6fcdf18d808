"""What a handler of the data worker is given."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from core.blobs import BlobStore
from core.settings import Settings


class TaskRun:
    """One try at one data task."""

    settings: Settings
    blobs: BlobStore
    owner_id: str
    args: dict[str, Any]
    task_id: str

    @property
    def scratch(self) -> Path:
        """A folder for drafts, on the data folder's disk."""
        raise NotImplementedError

    def tell(self, fraction: float, note: str = "") -> None:
        """How far it is, from 0 to 1, and at what. Cheap: call it often. Raises TaskCancelled, LeaseLost or Stopping,
        which a handler lets pass."""
        raise NotImplementedError

    def child(
        self,
        command: Sequence[str],
        on_line: Callable[[dict[str, Any]], None] | None = None,
        *,
        cwd: Path | None = None,
        span: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        """Run a command to its end, such as `[*TRAINER, "report", …]`, in a group of its own that ends with the task.

        Each line of JSON on its standard output goes to `on_line`; `{"progress": 0.4, "note": "…"}` is told, as a part
        of `span`. PlatformError if it ends with another status than 0: with code and message of the last
        `{"error": {"code", "message"}}` where it wrote one, else with its last words.
        """
        raise NotImplementedError
