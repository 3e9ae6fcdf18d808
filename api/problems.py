"""Every error in one shape: RFC 9457, `application/problem+json`."""

import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import ConfigDict
from sqlalchemy.exc import DataError, InterfaceError, OperationalError, TimeoutError
from starlette.exceptions import HTTPException

from api.schema import Schema
from api.validation import refusal
from core.errors import (
    DiskFull,
    InvalidRequest,
    NotFound,
    PlatformError,
    TooLarge,
    Unavailable,
    platform_error,
)
from data.errors import DatasetError, is_disk_full

MEDIA_TYPE = "application/problem+json"
# The second: a connection that was lost between two statements; the third: none came free in time.
DATABASE_AWAY = (OperationalError, InterfaceError, TimeoutError)
log = logging.getLogger(__name__)


class BadRequest(PlatformError):
    status = 400
    code = "bad_request"
    title = "The request cannot be read."


class MethodNotAllowed(PlatformError):
    status = 405
    code = "method_not_allowed"
    title = "This address does not know that method."


REFUSALS = {kind.status: kind for kind in (BadRequest, NotFound, MethodNotAllowed, TooLarge, InvalidRequest)}
"""Error classes for the statuses that the framework itself raises."""


def documented(*kinds: type[PlatformError]) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route that answers these errors."""
    by_status: dict[int, list[type[PlatformError]]] = {}
    for kind in kinds:
        by_status.setdefault(kind.status, []).append(kind)
    schema = {"content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    return {
        status: {"description": "\n\n".join(f"`{kind.code}`: {kind.title}" for kind in group), **schema}
        for status, group in by_status.items()
    }


def problem(
    request_id: str, instance: str, error: PlatformError, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """The answer to `error`."""
    members = {"type": f"urn:proximal:{error.code}", "title": error.title, "status": error.status}
    members |= {"detail": error.detail, "instance": instance, "code": error.code, "request_id": request_id}
    return JSONResponse(
        members | error.extras,
        status_code=error.status,
        headers={**error.headers, **(headers or {})},
        media_type=MEDIA_TYPE,
    )


def install(app: FastAPI) -> None:
    """Return each expected error as a problem. The middleware handles and logs the unexpected ones."""
    app.add_exception_handler(PlatformError, _platform_error)
    app.add_exception_handler(DatasetError, _dataset_error)
    app.add_exception_handler(HTTPException, _http_exception)
    app.add_exception_handler(RequestValidationError, _invalid_request)
    for away in DATABASE_AWAY:
        app.add_exception_handler(away, _database_down)
    app.add_exception_handler(DataError, _not_storable)
    app.add_exception_handler(OSError, _disk_full)


def _answer(request: Request, error: PlatformError, headers: Mapping[str, str] | None = None) -> JSONResponse:
    return problem(request.state.request_id, request.url.path, error, headers)


async def _platform_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, PlatformError)
    return _answer(request, error)


async def _dataset_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, DatasetError)
    return _answer(request, platform_error(error))


async def _http_exception(request: Request, error: Exception) -> JSONResponse:
    """Errors of the framework: no such route, wrong method, unreadable body."""
    assert isinstance(error, HTTPException)
    kind = REFUSALS.get(error.status_code)
    if kind is None:
        raise error
    return _answer(request, kind(str(error.detail)), error.headers)


async def _database_down(request: Request, error: Exception) -> JSONResponse:
    log.error("request %s: the database does not answer: %s", request.state.request_id, error)
    return _answer(request, Unavailable("The database does not answer. Try again."))


async def _not_storable(request: Request, error: Exception) -> JSONResponse:
    """A NUL character in an address, a number beyond 64 bits: nothing that could be found by it exists."""
    return _answer(request, InvalidRequest("A value in the request is not one that the platform can hold."))


async def _disk_full(request: Request, error: Exception) -> JSONResponse:
    """Wherever it shows, as when the framework keeps a form's file on disk."""
    if not isinstance(error, OSError) or not is_disk_full(error):
        raise error
    log.error("request %s: the disk is full: %s", request.state.request_id, error)
    return _answer(request, DiskFull())


async def _invalid_request(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    return _answer(request, refusal(request, error))


class ProblemItem(Schema):
    """One of several errors."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    detail: str
    """Description of the error, and often the correction."""
    pointer: str | None = None
    """Where: `#/ppo/policy_loss/clip_range` in a JSON body, `?limit` in the query, `/chosen` in a dataset's row."""
    line: int | None = None
    """Line of an uploaded file, from 1."""
    column: int | None = None
    """Column of that line in characters, from 1."""


class Problem(Schema):
    """An error, as RFC 9457 shapes it. Some codes carry further members, such as `from`, `to` and `allowed`."""

    model_config = ConfigDict(extra="allow", json_schema_serialization_defaults_required=False)

    type: str
    """Names the kind of problem."""
    title: str
    """The kind of problem in words; the same each time."""
    status: int
    """The HTTP status."""
    detail: str
    """Description of this occurrence, for people."""
    instance: str
    """The path that was asked for."""
    code: str
    """The kind of problem, for programs."""
    request_id: str
    """Finds this request in the server's log."""
    param: str | None = None
    """The parameter or field at fault, where there is one."""
    errors: list[ProblemItem] | None = None
    """Every thing wrong, where there may be several."""
    error_count: int | None = None
    """How many there are, where not all are listed."""
    allowed: list[Any] | None = None
    """For `invalid_transition`: the states that the job can go to."""
