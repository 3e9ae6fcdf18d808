"""Files of this machine, below the folders that the operator allows, and objects of S3 buckets."""

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.access.import_urls import BucketFile, ServerFile, allowed_folders
from core.errors import FetchFailed, ImportRefused
from core.settings import Settings

_CHUNK = 1024 * 1024
# O_NONBLOCK: opening a named pipe must not wait for its writer. O_NOFOLLOW: a link put there after the check is refused.
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_LONGEST_REASON = 300


@dataclass(frozen=True)
class RemoteFile:
    """A file of any source, opened for reading."""

    name: str
    """Its name at its source."""
    size: int | None
    """Its size in bytes. None: the source does not report it."""
    chunks: Iterator[bytes]
    """Its bytes, once. The iterator raises FetchFailed."""


@contextmanager
def open_server_file(wanted: ServerFile, settings: Settings) -> Iterator[RemoteFile]:
    """Open a regular file of this machine.

    After all links are followed, it must lie below an allowed folder and outside the platform's own folders. Raises
    ImportRefused or FetchFailed.
    """
    path = wanted.path.resolve()
    _refuse_location(wanted, path, settings)
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError as error:
        raise FetchFailed(f"{wanted.path} cannot be read: {os.strerror(error.errno or errno.EIO)}.") from error
    try:
        _refuse_location(wanted, _opened_path(descriptor, path), settings)
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise FetchFailed(f"{wanted.path} is not a regular file.")
        yield RemoteFile(wanted.name, about.st_size, iter(lambda: os.read(descriptor, _CHUNK), b""))
    finally:
        os.close(descriptor)


def open_bucket_object(wanted: BucketFile, settings: Settings) -> RemoteFile:
    """Open an object with the operator's key, or anonymously when no key is set. Raises FetchFailed."""
    try:
        import obstore
    except ImportError as error:
        raise FetchFailed("Buckets cannot be read: the package obstore is not installed with this worker.") from error
    try:
        stored = obstore.get(_bucket_store(wanted.bucket, settings), wanted.key)
        size = int(stored.meta["size"])
        return RemoteFile(wanted.name, size, _object_chunks(wanted, stored.stream(min_chunk_size=_CHUNK)))
    except (obstore.exceptions.BaseError, OSError) as error:
        raise _object_error(wanted, error) from error


def _refuse_location(wanted: ServerFile, path: Path, settings: Settings) -> None:
    folders = [folder.resolve() for folder in allowed_folders(settings.import_urls)]
    own = (settings.data_dir.resolve(), settings.blob_dir.resolve())
    if not _is_below(path, folders) or _is_below(path, own):
        raise ImportRefused(f"{wanted.path} lies in a folder that this platform does not import from.", param="url")


def _opened_path(descriptor: int, path: Path) -> Path:
    """The path of the file that was opened, since a folder above it may have become a link. Only Linux reports it."""
    try:
        return Path(f"/proc/self/fd/{descriptor}").readlink()
    except FileNotFoundError:
        return path


def _is_below(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _bucket_store(bucket: str, settings: Settings) -> Any:
    from obstore.store import S3Store

    server = settings.s3_endpoint or f"https://s3.{settings.s3_region}.amazonaws.com"
    # obstore would read both from variables that begin with AWS_, which are those of the platform's own bucket.
    known: dict[str, Any] = {"region": settings.s3_region, "endpoint": server, "aws_endpoint_url_s3": server}
    if settings.s3_access_key_id and settings.s3_secret_access_key is not None:
        secret = settings.s3_secret_access_key.get_secret_value()
        given = {"access_key_id": settings.s3_access_key_id, "secret_access_key": secret, "expires_at": None}
        known["credential_provider"] = lambda: given
    else:
        known["skip_signature"] = True
    # The whole download may take days. A read without a byte for 60 s fails.
    options: Any = {"timeout": "7d", "connect_timeout": "10s", "read_timeout": "60s"}
    options["allow_http"] = settings.s3_endpoint.startswith("http:")
    return S3Store(bucket, client_options=options, **known)


def _object_chunks(wanted: BucketFile, stream: Any) -> Iterator[bytes]:
    from obstore.exceptions import BaseError

    try:
        for chunk in stream:
            yield bytes(chunk)
    except (BaseError, OSError) as error:
        raise _object_error(wanted, error) from error


def _object_error(wanted: BucketFile, error: Exception) -> FetchFailed:
    where = f"s3://{wanted.bucket}/{wanted.key}"
    if isinstance(error, FileNotFoundError):
        return FetchFailed(f"The object {where} does not exist or is not public.")
    return FetchFailed(f"{where} cannot be read: {str(error).splitlines()[0][:_LONGEST_REASON]}")
