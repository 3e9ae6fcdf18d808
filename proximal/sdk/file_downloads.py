"""Writes downloads to files, also those that the platform redirects to the bucket of its files."""

import base64
import hashlib
import re
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx

from proximal.errors import DamagedDownload, Unreachable

REDIRECT = 307
_STORE: dict[str, Any] = {"timeout": 60.0}
"""Options of the client for the other host, which is reached through a proxy where the environment names one."""
_SUM = re.compile(r"(?:^|,)\s*sha-256=:([A-Za-z0-9+/=]+):")


def write(chunks: Iterable[bytes], target: Path, expected: str | None = None) -> None:
    """Write a file, which appears once it is complete. `expected`: its SHA-256. Raises DamagedDownload."""
    draft, digest = _draft(target), hashlib.sha256()
    with draft.open("wb") as file:
        for chunk in chunks:
            file.write(chunk)
            digest.update(chunk)
    _publish(draft, target, digest.hexdigest(), expected)


async def write_async(chunks: AsyncIterator[bytes], target: Path, expected: str | None = None) -> None:
    """Do the same in an event loop."""
    draft, digest = _draft(target), hashlib.sha256()
    async with await anyio.open_file(draft, "wb") as file:
        async for chunk in chunks:
            await file.write(chunk)
            digest.update(chunk)
    _publish(draft, target, digest.hexdigest(), expected)


def follow(redirect: httpx.Headers, target: Path) -> None:
    """Download from the address of a redirect, and verify the SHA-256 that the platform sent with it.

    The request has a client of its own, so neither the key nor a cookie of the platform reaches the other host.
    """
    url = redirect["Location"]
    with _reading(url), httpx.Client(**_STORE) as store, store.stream("GET", url) as response:
        _check(response)
        write(response.iter_bytes(), target, _sum_in(redirect))


async def follow_async(redirect: httpx.Headers, target: Path) -> None:
    """Do the same in an event loop."""
    url = redirect["Location"]
    with _reading(url):
        async with httpx.AsyncClient(**_STORE) as store, store.stream("GET", url) as response:
            _check(response)
            await write_async(response.aiter_bytes(), target, _sum_in(redirect))


def _draft(target: Path) -> Path:
    return target.with_name(f".{target.name}.part")


def _publish(draft: Path, target: Path, found: str, expected: str | None) -> None:
    if expected is not None and found != expected:
        draft.unlink()
        raise DamagedDownload(
            f"{target.name} arrived with the SHA-256 {found} instead of {expected}. Run the same command again."
        )
    draft.replace(target)


def _sum_in(headers: httpx.Headers) -> str | None:
    """The SHA-256 of `Repr-Digest` (RFC 9530), in hexadecimal."""
    found = _SUM.search(headers.get("Repr-Digest", ""))
    return base64.b64decode(found[1]).hex() if found else None


@contextmanager
def _reading(url: str) -> Iterator[None]:
    """Errors name the host only, because the whole address is a permission to read the file."""
    try:
        yield
    except httpx.HTTPError as error:
        raise Unreachable(
            f"The platform keeps the file on {httpx.URL(url).netloc.decode()}, and the download from there failed: {error}. "
            "Try again. If this machine cannot reach that host, the operator can set PROXIMAL_BLOB_REDIRECTS=false."
        ) from error


def _check(response: httpx.Response) -> None:
    if response.status_code != 200:
        host = response.url.netloc.decode()
        raise Unreachable(f"{host}, where the platform keeps the file, returned {response.status_code}. Try again.")
