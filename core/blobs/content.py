"""Compares the content of a blob with that which was stored."""

import hashlib
from functools import lru_cache

from core.blobs.protocol import NOT_MOUNTED, BlobStore, Content
from core.errors import NotFound, StorageUnreadable, StoreFailed

PIECE = 1024 * 1024


def fault_of(blobs: BlobStore, key: str, expected: Content) -> str | None:
    """The fault of a blob's content; None if it is what was stored.

    This process hashes a blob once as long as it is not written, and never if it has the stamp of the expected content. Raises
    StorageUnreadable if the store does not return the bytes, which does not mean that they are wrong.
    """
    try:
        size, stamp = blobs.stamp(key)
        if size != expected.bytes:
            return difference(Content(size, ""), expected)
        if stamp == expected.stamp:
            return None
        return difference(Content(size, _sha256(blobs, key, stamp, expected.sha256)), expected)
    except StoreFailed:
        raise
    except NotFound as error:
        if blobs.is_empty():
            raise StorageUnreadable(NOT_MOUNTED) from error
        return "is missing"
    except OSError as error:
        raise StorageUnreadable(f"{key} cannot be read: {error.strerror or error}.") from error


@lru_cache(maxsize=8192)
def _sha256(blobs: BlobStore, key: str, stamp: str, expected: str) -> str:
    """The hash of a blob. `stamp` makes the cache forget a blob that was written since.

    Another hash than the expected one is that of the stored bytes only if a second read has it, too.
    """
    first = _read_sha256(blobs, key)
    if first == expected:
        return first
    second = _read_sha256(blobs, key)
    if second not in (first, expected):
        raise StorageUnreadable(f"{key} cannot be read: its bytes differ from read to read.")
    return second


def _read_sha256(blobs: BlobStore, key: str) -> str:
    digest = hashlib.sha256()
    with blobs.open(key) as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()


def difference(found: Content, expected: Content) -> str | None:
    if found.bytes != expected.bytes:
        return f"has {found.bytes} bytes instead of {expected.bytes}"
    if found.sha256 != expected.sha256:
        return f"has the SHA-256 {found.sha256} instead of {expected.sha256}"
    return None
