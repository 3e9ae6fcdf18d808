"""Objects of S3 buckets."""

from collections.abc import Iterator
from typing import Any

from core.access.import_urls import BucketFile
from core.errors import FetchFailed
from core.settings import Settings
from worker.downloads.source import Source

_PIECE = 1024 * 1024
_LONGEST_REASON = 300


def open_object(wanted: BucketFile, settings: Settings) -> Source:
    """By the operator's key; where there is none, without one, as public buckets want it."""
    try:
        import obstore
    except ImportError as error:
        raise FetchFailed("Buckets cannot be read: the package obstore is not installed with this worker.") from error
    try:
        found = obstore.get(_store(wanted.bucket, settings), wanted.key)
        size = int(found.meta["size"])
        return Source(wanted.name, size, _pieces(wanted, found.stream(min_chunk_size=_PIECE)))
    except (obstore.exceptions.BaseError, OSError) as error:
        raise _failed(wanted, error) from error


def _store(bucket: str, settings: Settings) -> Any:
    from obstore.store import S3Store

    known: dict[str, Any] = {"region": settings.s3_region}
    if settings.s3_endpoint:
        known["endpoint"] = settings.s3_endpoint
    if settings.s3_access_key_id and settings.s3_secret_access_key is not None:
        known["access_key_id"] = settings.s3_access_key_id
        known["secret_access_key"] = settings.s3_secret_access_key.get_secret_value()
    else:
        known["skip_signature"] = True
    # No limit to the whole, which may be large; a silence of a minute is one.
    options: Any = {"timeout": "7d", "connect_timeout": "10s", "read_timeout": "60s"}
    options["allow_http"] = settings.s3_endpoint.startswith("http:")
    return S3Store(bucket, client_options=options, **known)


def _pieces(wanted: BucketFile, stream: Any) -> Iterator[bytes]:
    from obstore.exceptions import BaseError

    try:
        for piece in stream:
            yield bytes(piece)
    except (BaseError, OSError) as error:
        raise _failed(wanted, error) from error


def _failed(wanted: BucketFile, error: Exception) -> FetchFailed:
    where = f"s3://{wanted.bucket}/{wanted.key}"
    if isinstance(error, FileNotFoundError):
        return FetchFailed(f"There is no object {where}, or it is not public.")
    return FetchFailed(f"{where} cannot be read: {str(error).splitlines()[0][:_LONGEST_REASON]}")
