"""Stores large files by key: rows of datasets, parts of uploads, and checkpoints."""

from core.blobs.choice import blob_store, discard
from core.blobs.content import fault_of
from core.blobs.folder import LocalBlobs
from core.blobs.protocol import NOT_MOUNTED, BlobDamaged, BlobDraft, BlobStore, Content

__all__ = [
    "NOT_MOUNTED",
    "BlobDamaged",
    "BlobDraft",
    "BlobStore",
    "Content",
    "LocalBlobs",
    "blob_store",
    "discard",
    "fault_of",
]
