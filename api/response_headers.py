"""Headers that dependencies add to a response, successful or not. The middleware writes them."""

from starlette.requests import Request
from starlette.types import Scope


def add_header(request: Request, name: str, value: str) -> None:
    """Add a header to the response of this request."""
    request.scope.setdefault("state", {}).setdefault("response_headers", {})[name] = value


def added_headers(scope: Scope) -> dict[str, str]:
    """The headers that were added so far, by name."""
    headers: dict[str, str] = scope.get("state", {}).get("response_headers", {})
    return headers
