"""Chooses the blob store by the settings, and deletes blobs after a commit."""

import logging
from collections.abc import Iterable
from functools import lru_cache

from core.blobs.folder import LocalBlobs
from core.blobs.protocol import BlobStore
from core.blobs.s3 import Bucket, S3Blobs
from core.settings import Settings

log = logging.getLogger(__name__)


def blob_store(settings: Settings) -> BlobStore:
    """The blob store of the settings. That of a bucket is kept, with its open connections."""
    if settings.blob_bucket is None:
        return LocalBlobs(settings.blob_dir)
    return _in_bucket(Bucket.of(settings), settings.data_dir / "scratch")


_in_bucket = lru_cache(maxsize=4)(S3Blobs)


def discard(blobs: BlobStore, prefixes: Iterable[str]) -> None:
    """Delete blobs after the commit that deleted their rows. Errors are logged, and the sweeper deletes the rest."""
    for prefix in prefixes:
        try:
            blobs.delete_prefix(prefix)
        except OSError as error:
            log.warning("could not delete the blobs below %s; the sweeper tries again: %s", prefix, error)
