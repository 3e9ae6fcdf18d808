"""The id of a worker whose trainers go on while it restarts: its next process has the same id, and so holds its jobs."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

from core.errors import SettingsError
from core.models.base import new_id
from core.settings import Settings
from worker.capacity import name_of


@contextmanager
def lasting_identity(settings: Settings) -> Iterator[str]:
    """The id that belongs to the worker's name in this data folder. It is locked while inside.

    Raises SettingsError if another process with this name runs.
    """
    folder = settings.data_dir / "workers"
    folder.mkdir(parents=True, exist_ok=True)
    name = name_of(settings)
    with (folder / quote(name, safe="")).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise SettingsError(
                f"Another worker named {name!r} runs in {settings.data_dir}. Give each worker its own PROXIMAL_WORKER_NAME."
            ) from error
        file.seek(0)
        worker_id = file.read().strip()
        if not worker_id:
            worker_id = new_id("wrk")
            file.write(worker_id)
            file.flush()
        yield worker_id
