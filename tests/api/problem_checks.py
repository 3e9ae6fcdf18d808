"""Checks of the fields that every problem document has."""

from typing import Any

from httpx import Response


def problem(response: Response, status: int, code: str) -> dict[str, Any]:
    """The document, once it is certain that it is one of this status and code."""
    document: dict[str, Any] = response.json()
    assert (response.status_code, document["code"]) == (status, code), document
    assert response.headers["content-type"] == "application/problem+json"
    assert document["status"] == status
    assert document["request_id"] == response.headers["x-request-id"]
    assert {"type", "title", "detail", "instance"} <= document.keys()
    return document
