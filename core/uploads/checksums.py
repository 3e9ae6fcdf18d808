"""The SHA-256 of uploads, computed while their parts arrive.

Parts arrive in any order, but a hash needs them in order. So each process keeps the hash of the parts before the first
missing one, and continues when that one arrives. At that time the parts are still in the system's cache, and the whole file
need not be read again at the end. This is an optimisation only: a process that has not seen the first parts reads them
when the upload is completed.
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
"""Number of uploads whose hashes a process keeps: the most recently used ones."""
_PIECE = 1024 * 1024
log = logging.getLogger(__name__)


def part_sum(blobs: BlobStore, upload_id: str, number: int) -> str:
    """The SHA-256 of one part."""
    digest = hashlib.sha256()
    _add(digest, blobs, upload_id, number)
    return digest.hexdigest()


class _RunningDigest:
    """The hash of the first parts of an upload."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.next = 1
        self.digest: Any = hashlib.sha256()
        self.arrived: set[int] = set()

    def add_next(self, blobs: BlobStore, upload_id: str) -> None:
        """Add the next part. A part that cannot be read leaves the hash unchanged."""
        longer = self.digest.copy()
        _add(longer, blobs, upload_id, self.next)
        self.digest = longer
        self.arrived.discard(self.next)
        self.next += 1


class RunningDigests:
    """The hashes of the uploads of one process. Its methods are thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: OrderedDict[str, _RunningDigest] = OrderedDict()

    def arrived(self, blobs: BlobStore, upload_id: str, number: int) -> None:
        """Add the parts that have arrived without a gap. Errors are logged, since `finish` reads the parts again."""
        running = self._digest_of(upload_id)
        running.arrived.add(number)
        if not running.lock.acquire(blocking=False):
            return  # another thread adds parts, and will add this one
        try:
            while running.next in running.arrived:
                running.add_next(blobs, upload_id)
        except (OSError, NotFound) as error:
            log.info("the hash of %s is computed at its completion: %s", upload_id, error)
        finally:
            running.lock.release()

    def finish(self, blobs: BlobStore, upload_id: str, count: int) -> str:
        """The SHA-256 of all `count` parts as hexadecimal digits. All parts must be stored. Raises NotFound."""
        running = self._digest_of(upload_id)
        with running.lock:
            while running.next <= count:
                running.add_next(blobs, upload_id)
            return str(running.digest.hexdigest())

    def forget(self, upload_id: str) -> None:
        """Drop the hash of an upload that is complete or deleted."""
        with self._lock:
            self._running.pop(upload_id, None)

    def _digest_of(self, upload_id: str) -> _RunningDigest:
        with self._lock:
            running = self._running.setdefault(upload_id, _RunningDigest())
            self._running.move_to_end(upload_id)
            while len(self._running) > MOST_KEPT:
                self._running.popitem(last=False)
            return running


def _add(digest: Any, blobs: BlobStore, upload_id: str, number: int) -> None:
    buffer = memoryview(bytearray(_PIECE))
    with blobs.open(part_key(upload_id, number)) as file:
        while count := file.readinto(buffer):  # type: ignore[attr-defined]  # every blob is opened as a buffered file
            digest.update(buffer[:count])
