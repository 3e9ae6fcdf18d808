"""The id of a worker whose trainers go on while it restarts: its next process has the same id, and so holds its jobs."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import IO
from urllib.parse import quote

from core.models.base import new_id
from core.settings import Settings
from worker.capacity import name_of


@contextmanager
def lasting_identity(settings: Settings) -> Iterator[str]:
    """An id that belongs to the worker's name in this data folder, and that no other process has while inside.

    The workers of one name share its ids. Each process takes the first one that is free, with the jobs that an earlier
    process left behind.
    """
    folder = settings.data_dir / "workers"
    folder.mkdir(parents=True, exist_ok=True)
    name = quote(name_of(settings), safe="")
    with next(filter(None, (_locked(folder / f"{name}.{number}") for number in count(1)))) as file:
        file.seek(0)
        worker_id = file.read().strip()
        if not worker_id:
            worker_id = new_id("wrk")
            file.write(worker_id)
            file.flush()
        yield worker_id


def _locked(path: Path) -> IO[str] | None:
    """The open file with its lock, which ends with this process; None if another process has it."""
    file = path.open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file
