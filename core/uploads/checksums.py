"""The SHA-256 of uploads, carried on while their parts arrive.

Parts come in any order, a sum can only be computed in one. So each process keeps the sum of the parts up to the first that
it has not seen arrive, and goes on when that one comes: the parts are then still in the system's cache, and `complete`
need not read the whole file again. It is only a help: whoever lost the beginning (another process took those parts, or this
one was started later) reads what it lacks when the upload is completed.
"""

import hashlib
import logging
import threading
from collections import OrderedDict
from typing import Any

from core.blobs import BlobStore
from core.errors import NotFound
from core.uploads.parts import part_key

MOST_KEPT = 256
"""Uploads whose beginnings are remembered: the last ones."""
_PIECE = 1024 * 1024
log = logging.getLogger(__name__)


def part_sum(blobs: BlobStore, upload_id: str, number: int) -> str:
    """The SHA-256 of one part."""
    digest = hashlib.sha256()
    _add(digest, blobs, upload_id, number)
    return digest.hexdigest()


class _Running:
    """One upload's sum so far."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.next = 1
        self.sum: Any = hashlib.sha256()
        self.arrived: set[int] = set()

    def add_next(self, blobs: BlobStore, upload_id: str) -> None:
        """On a copy, so that a part that cannot be read leaves the sum as it was."""
        longer = self.sum.copy()
        _add(longer, blobs, upload_id, self.next)
        self.sum = longer
        self.arrived.discard(self.next)
        self.next += 1


class RunningDigests:
    """Those of one process. Any thread may call it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: OrderedDict[str, _Running] = OrderedDict()

    def arrived(self, blobs: BlobStore, upload_id: str, number: int) -> None:
        """Go on with the sum as far as parts are there. Raises nothing: `finish` meets again what went wrong here."""
        running = self._of(upload_id)
        running.arrived.add(number)
        if not running.lock.acquire(blocking=False):
            return  # somebody is at it, and goes on to this part
        try:
            while running.next in running.arrived:
                running.add_next(blobs, upload_id)
        except (OSError, NotFound) as error:
            log.info("the sum of %s waits for its completion: %s", upload_id, error)
        finally:
            running.lock.release()

    def finish(self, blobs: BlobStore, upload_id: str, count: int) -> str:
        """The sum of all `count` parts, which are there."""
        running = self._of(upload_id)
        with running.lock:
            while running.next <= count:
                running.add_next(blobs, upload_id)
            return str(running.sum.hexdigest())

    def forget(self, upload_id: str) -> None:
        """It is complete, or gone."""
        with self._lock:
            self._running.pop(upload_id, None)

    def _of(self, upload_id: str) -> _Running:
        with self._lock:
            running = self._running.setdefault(upload_id, _Running())
            self._running.move_to_end(upload_id)
            while len(self._running) > MOST_KEPT:
                self._running.popitem(last=False)
            return running


def _add(digest: Any, blobs: BlobStore, upload_id: str, number: int) -> None:
    buffer = memoryview(bytearray(_PIECE))
    with blobs.open(part_key(upload_id, number)) as file:
        while count := file.readinto(buffer):  # type: ignore[attr-defined]  # every blob is opened as a buffered file
            digest.update(buffer[:count])
