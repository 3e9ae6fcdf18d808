"""A small blob by which a worker finds out whether it reaches the platform's own blob store, and may write to it."""

import hashlib
import secrets

from core.blobs import BlobStore
from core.errors import NotFound, PlatformError

KEY = "platform/probe"


def expected_probe(blobs: BlobStore) -> str:
    """SHA-256 of the probe, in hexadecimal. The first call writes the probe, with random content."""
    if not blobs.exists(KEY):
        with blobs.draft(KEY) as draft:
            draft.write(secrets.token_bytes(32))
            draft.keep()
    with blobs.open(KEY) as file:
        return hashlib.sha256(file.read()).hexdigest()


def why_not_the_store(blobs: BlobStore, expected: str | None) -> str | None:
    """The reason why these are not the platform's blobs, or why they cannot be written; None if all is well.

    `expected`: what `expected_probe` returned to the platform; None: only the writing is tried.
    """
    try:
        if expected is not None and _is_of_another(blobs, expected):
            return "it is not the platform's store: another one has this address on this machine"
        blobs.check()
    except (OSError, PlatformError) as error:
        return f"it cannot be read and written: {error}"
    return None


def _is_of_another(blobs: BlobStore, expected: str) -> bool:
    """Whether the store has no probe, or the probe of another platform."""
    try:
        with blobs.open(KEY) as file:
            return hashlib.sha256(file.read()).hexdigest() != expected
    except NotFound:
        return True
