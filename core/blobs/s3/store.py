"""The blob store in a bucket."""

import hashlib
import io
import logging
import os
import tempfile
import time
import uuid
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO

from core.blobs.content import difference
from core.blobs.folder import new_file
from core.blobs.protocol import BlobDamaged, BlobDraft, Content
from core.blobs.s3 import multipart, reading
from core.blobs.s3.bucket import Bucket, ObjectExists, UnusableResponse
from core.blobs.s3.failures import NO_CONDITIONS, RequestFailed, refuses_condition
from core.blobs.s3.signed import put_object
from core.blobs.s3.sums import SumReader, part_bytes, plain
from core.errors import DiskFull, NotFound, StoreFailed
from data.errors import disk_full_raises

_STAGED = ".incoming"
"""The folder of drafts that are stored and not yet published."""
_ABANDONED_SECONDS = 24 * 3600
_REDIRECT_SECONDS = 600
_CHECK_SECONDS = 5
_READS = 3
"""Reads of a blob whose bytes are not those that are expected."""
_AS_FILE = {"Content-Disposition": "attachment", "Content-Type": "application/octet-stream"}
"""A browser saves an object, and shows none."""
_unconditional: set[tuple[str, str]] = set()
"""Servers and buckets that refuse or ignore the condition of a write. This process asks for an object before it writes there."""
log = logging.getLogger(__name__)


class S3Blobs:
    """Blobs as objects of a bucket.

    An object appears once it is whole. Each written object is compared with the bytes that were sent, and a reader asks for
    the version that it began with. If two writers store the same bytes, one writes and the other verifies them. The
    locks of the database keep writers of other bytes apart, also where the server takes no conditional writes.
    """

    def __init__(self, bucket: Bucket, scratch: Path) -> None:
        """`scratch`: a folder of this machine for drafts."""
        self._bucket, self._scratch = bucket, scratch

    def __eq__(self, other: object) -> bool:
        return isinstance(other, S3Blobs) and other._bucket == self._bucket

    def __hash__(self) -> int:
        return hash(self._bucket)

    def put_file(self, key: str, source: Path) -> Content:
        with source.open("rb") as file:
            return self.put(key, file)

    @contextmanager
    def draft(self, key: str) -> Iterator[BlobDraft]:
        _checked(key)
        with disk_full_raises(DiskFull):
            self._scratch.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._scratch) as file:
                draft = _Draft(self, key, file)
                try:
                    yield draft
                finally:
                    draft.discard()

    def free_bytes(self) -> int | None:
        return None

    def open(self, key: str) -> BinaryIO:
        size, etag = self.stamp(key)
        return reading.opened(self._fetch(key, etag), size)

    def get_to(self, key: str, target: Path, expected: Content | None = None) -> None:
        """Other bytes are fetched again: only those that arrive twice are taken for the stored ones."""
        faults: list[str] = []
        for _ in range(_READS):
            with new_file(target) as draft:
                found = self._copy(key, draft)
                fault = difference(found, expected) if expected else None
                if fault is None:
                    draft.keep()
                    return
            if fault in faults:
                raise BlobDamaged(fault)
            faults.append(fault)
        raise StoreFailed("The S3 server returns other bytes of a file each time. Check the network.")

    def stamp(self, key: str) -> tuple[int, str]:
        import obstore

        meta = self._bucket.request(key, lambda: obstore.head(self._bucket.objects, _checked(key)))
        return meta["size"], plain(meta["e_tag"])

    def download_url(self, key: str) -> str | None:
        return self._bucket.signed_url("GET", _checked(key), _REDIRECT_SECONDS) if self._bucket.redirects else None

    def check(self) -> str | None:
        quick = S3Blobs(replace(self._bucket, seconds=_CHECK_SECONDS, tries=1), self._scratch)
        key = f"{_STAGED}/check-{uuid.uuid4().hex}"
        quick.is_empty()
        quick.put(key, io.BytesIO(b"check"))
        with quick.open(key) as file:
            file.read()
        overwritten = quick._bucket.request(key, lambda: quick._create(key, io.BytesIO(b"again"), 5), writes=True)
        quick.delete(key)
        if overwritten is not None:
            _unconditional.add(self._place)
        return NO_CONDITIONS if self._place in _unconditional else None

    def is_empty(self) -> bool:
        def is_empty() -> bool:
            return all(key.startswith(f"{_STAGED}/") for key, _ in self._objects(None))

        return self._bucket.request("", is_empty)

    def exists(self, key: str) -> bool:
        try:
            self.stamp(key)
        except NotFound:
            return False
        return True

    def delete(self, key: str) -> None:
        self._delete([_checked(key)])

    def delete_prefix(self, prefix: str) -> None:
        self._delete([key for key, _ in self._list(_checked(prefix))])

    def list(self, prefix: str) -> Iterator[str]:
        yield from sorted(key for key, _ in self._list(_checked(prefix)))

    def clear_abandoned(self) -> None:
        """Remove drafts that were stored and not published, and multipart uploads that were not completed."""
        now = time.time()
        self._delete([key for key, written in self._list(_STAGED) if now - written > _ABANDONED_SECONDS])
        try:
            self._bucket.request("", lambda: multipart.end_abandoned(self._bucket, _ABANDONED_SECONDS))
        except StoreFailed as error:
            log.warning("%s Give the bucket a rule that ends unfinished multipart uploads.", error.detail)

    def put(self, key: str, source: BinaryIO) -> Content:
        """Store the bytes of a seekable file. Other stored bytes than those that were sent are deleted. Raises StoreFailed.

        An object with the same bytes is left as it is, and one with other bytes is replaced.
        """
        _checked(key)
        size = source.seek(0, os.SEEK_END)
        return self._bucket.request(key, lambda: self._put(key, source, size), writes=True)

    def _put(self, key: str, source: BinaryIO, size: int) -> Content:
        if not (size > part_bytes(size) and self.exists(key)):
            created = self._create(key, source, size)
            if created is not None:
                return created
        return self._present(key, source, size) or self._send(key, source, size, create=False)

    def _present(self, key: str, source: BinaryIO, size: int) -> Content | None:
        """The content of an object that has the bytes of a file; None if there is no such object."""
        source.seek(0)
        sums = SumReader(source, part_bytes(size))
        deque(sums.parts(), maxlen=0)
        try:
            found, etag = self.stamp(key)
        except NotFound:
            return None
        content = sums.content(etag)
        same = found == size and (etag == sums.etag or self._fault(key, content) is None)
        return content if same else None

    def _create(self, key: str, source: BinaryIO, size: int) -> Content | None:
        """Write an object; None if there is one. A server that takes no condition is asked before."""
        if self._place not in _unconditional:
            try:
                return self._send(key, source, size, create=True)
            except ObjectExists:
                return None
            except RequestFailed as error:
                if not refuses_condition(error):
                    raise
                log.warning("%s", NO_CONDITIONS)
                _unconditional.add(self._place)
        return None if self.exists(key) else self._send(key, source, size, create=False)

    @property
    def _place(self) -> tuple[str, str]:
        return self._bucket.server, self._bucket.name

    def _send(self, key: str, source: BinaryIO, size: int, *, create: bool) -> Content:
        """Write an object. With `create`, raises ObjectExists if there is one."""
        source.seek(0)
        sums = SumReader(source, part_bytes(size))
        send = multipart.send_file if size > sums.part_bytes else put_object
        etag = send(self._bucket, self._bucket.object_name(key), sums, _AS_FILE, create=create)
        content = sums.content(etag)
        if etag != sums.etag:
            self._verify(key, content)
        return content

    def publish(self, staged: str, key: str, content: Content) -> None:
        """Copy a stored draft to its key, inside the S3 server."""
        import obstore

        def copy() -> None:
            obstore.copy(self._bucket.objects, staged, key)
            if self.stamp(key) != (content.bytes, content.stamp):
                self._verify(key, content)

        self._bucket.request(key, copy, writes=True)

    def _verify(self, key: str, content: Content) -> None:
        """Raise UnusableResponse if an object has another content, and delete it."""
        if fault := self._fault(key, content):
            with suppress(StoreFailed):
                self.delete(key)
            raise UnusableResponse(f"the stored object {fault}")

    def _fault(self, key: str, content: Content) -> str | None:
        """The fault of an object whose ETag is not the MD5 sum of its bytes, as with keys of a KMS. It is read."""
        try:
            with tempfile.TemporaryFile() as file:
                return difference(self._copy(key, file), content)
        except NotFound:
            return "is missing"

    def _copy(self, key: str, target: IO[bytes] | BlobDraft) -> Content:
        """Write the bytes of an object to a file."""
        size, etag = self.stamp(key)
        digest = hashlib.sha256()
        for piece in reading.ranges(self._fetch(key, etag), size):
            target.write(piece)
            digest.update(piece)
        return Content(size, digest.hexdigest(), etag)

    def _fetch(self, key: str, etag: str) -> reading.Fetch:
        """A function that reads a range of the version with this ETag."""
        import obstore

        version: Any = {"if_match": f'"{etag}"'} if etag else {}

        def fetch(start: int, end: int) -> memoryview:
            found = obstore.get(self._bucket.objects, key, options={"range": (start, end)} | version)
            piece = memoryview(found.bytes())
            if len(piece) != end - start:
                raise UnusableResponse(f"{len(piece)} bytes of {key} arrived instead of {end - start}")
            return piece

        return lambda start, end: self._bucket.request(key, lambda: fetch(start, end))

    def _delete(self, keys: Sequence[str]) -> None:
        import obstore

        if keys:
            with suppress(NotFound):
                self._bucket.request(keys[0], lambda: obstore.delete(self._bucket.objects, keys))

    def _list(self, prefix: str) -> Sequence[tuple[str, float]]:
        """The keys below `prefix/`, with the time at which each was written."""
        return self._bucket.request(prefix, lambda: list(self._objects(prefix)))

    def _objects(self, prefix: str | None) -> Iterator[tuple[str, float]]:
        import obstore

        for page in obstore.list(self._bucket.objects, prefix):
            for meta in page:
                yield meta["path"], meta["last_modified"].timestamp()


class _Draft:
    """A temporary file of this machine. `settle` stores it under another key, and `keep` copies it to its own."""

    def __init__(self, blobs: S3Blobs, key: str, file: IO[bytes]) -> None:
        self._blobs, self._key, self._file = blobs, key, file
        self._staged_key = f"{_STAGED}/{uuid.uuid4().hex}"
        self._staged: Content | None = None

    def write(self, data: bytes | memoryview) -> None:
        self.discard()
        with disk_full_raises(DiskFull):
            self._file.write(data)

    def settle(self) -> None:
        if self._staged is None:
            with self.open() as file:
                self._staged = self._blobs.put(self._staged_key, file)

    def keep(self) -> None:
        if self._staged is None:
            with self.open() as file:
                self._blobs.put(self._key, file)
        else:
            self._blobs.publish(self._staged_key, self._key, self._staged)

    def open(self) -> BinaryIO:
        with disk_full_raises(DiskFull):
            self._file.flush()
        descriptor = self._file.fileno()
        size = os.fstat(descriptor).st_size
        return reading.opened(lambda start, end: memoryview(os.pread(descriptor, end - start, start)), size)

    def discard(self) -> None:
        """Delete the stored draft. If that fails, the sweeper deletes it a day later."""
        if self._staged is not None:
            self._staged = None
            with suppress(StoreFailed):
                self._blobs.delete(self._staged_key)


def _checked(key: str) -> str:
    """The key. Raises ValueError for one that is no relative path, since some keys contain names from users."""
    pure = PurePosixPath(key)
    if not pure.parts or pure.is_absolute() or ".." in pure.parts or "\0" in key:
        raise ValueError(f"not a blob key: {key!r}")
    return pure.as_posix()
