"""Headers that dependencies add to a response, successful or not: the middleware writes them. Those of deprecated routes."""

from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

from fastapi import Depends, Request
from starlette.types import Scope


def add_header(request: Request, name: str, value: str) -> None:
    """Add a header to the response of this request."""
    request.scope.setdefault("state", {}).setdefault("response_headers", {})[name] = value


def added_headers(scope: Scope) -> dict[str, str]:
    """The headers that were added so far, by name."""
    headers: dict[str, str] = scope.get("state", {}).get("response_headers", {})
    return headers


def deprecated(since: datetime, sunset: datetime | None = None, successor: str | None = None) -> dict[str, Any]:
    """Options of a route that will be removed: `Deprecation` (RFC 9745) and `Sunset` (RFC 8594).

    Use them as in `@router.get("/old", **deprecated(…))`.

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
