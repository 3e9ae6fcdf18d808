"""Uploads: files that arrive in parts, or are fetched from elsewhere, and wait for a dataset to be made of them."""

from core.uploads.arriving import complete, expected_bytes, keep_part, received, refuse_missing
from core.uploads.checksums import RunningDigests, part_sum
from core.uploads.fetching import create_from
from core.uploads.reading import opener
from core.uploads.store import create, datasets_of, delete, get, take
from core.uploads.sweeping import sweep

__all__ = [
    "RunningDigests",
    "complete",
    "create",
    "create_from",
    "datasets_of",
    "delete",
    "expected_bytes",
    "get",
    "keep_part",
    "opener",
    "part_sum",
    "received",
    "refuse_missing",
    "sweep",
    "take",
]
