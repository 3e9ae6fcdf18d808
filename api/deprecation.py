"""Deprecated routes: the headers `Deprecation` (RFC 9745) and `Sunset` (RFC 8594)."""

from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

from fastapi import Depends, Request

from api.response_headers import add_header


def deprecated(since: datetime, sunset: datetime | None = None, successor: str | None = None) -> dict[str, Any]:
    """Options of a route that will be removed, as in `@router.get("/old", **deprecated(…))`.

    `since`: when it became deprecated. `sunset`: when it may stop working. `successor`: the address of its replacement.
    """
    headers = {"Deprecation": f"@{int(since.timestamp())}"}
    if sunset is not None:
        headers["Sunset"] = format_datetime(sunset.astimezone(UTC), usegmt=True)
    if successor is not None:
        headers["Link"] = f'<{successor}>; rel="successor-version"'

    def announce(request: Request) -> None:
        for name, value in headers.items():
            add_header(request, name, value)

    return {"deprecated": True, "dependencies": [Depends(announce)]}
