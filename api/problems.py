"""Error responses in the format of RFC 9457, `application/problem+json`."""

import logging
import shutil
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from psycopg.errors import DiskFull as DatabaseDiskFull
from psycopg.errors import QueryCanceled
from pydantic import ConfigDict
from sqlalchemy.exc import DataError, InterfaceError, OperationalError, TimeoutError
from starlette.exceptions import HTTPException

from api.schema import Schema
from api.validation import not_storable, refusal
from core.errors import (
    DiskFull,
    InvalidRequest,
    NotFound,
    PlatformError,
    QueryTimeout,
    TooLarge,
    Unavailable,
    platform_error,
)
from core.settings import get_settings
from data.errors import DatasetError, is_disk_full

MEDIA_TYPE = "application/problem+json"
# InterfaceError: the connection was lost between two statements. TimeoutError: no connection became free.
_LEAST_ROOM = 16 * 1024**2
"""Bytes: the size of one file of PostgreSQL's write-ahead log."""
DATABASE_AWAY = (OperationalError, InterfaceError, TimeoutError)
log = logging.getLogger(__name__)


class BadRequest(PlatformError):
    status = 400
    code = "bad_request"
    title = "The request cannot be read."


class MethodNotAllowed(PlatformError):
    status = 405
    code = "method_not_allowed"
    title = "This address does not support the method."


class RequestTimeout(PlatformError):
    status = 408
    code = "request_timeout"
    title = "The request did not arrive completely."


class HeaderTooLarge(PlatformError):
    status = 431
    code = "header_too_large"
    title = "The header of the request is too large."


REFUSALS = {kind.status: kind for kind in (BadRequest, NotFound, MethodNotAllowed, TooLarge, InvalidRequest)}
"""Error classes for the statuses that the framework itself raises."""


def documented(*kinds: type[PlatformError]) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route that may return these errors."""
    by_status: dict[int, list[type[PlatformError]]] = {}
    for kind in kinds:
        by_status.setdefault(kind.status, []).append(kind)
    return {status: _documented(group) for status, group in by_status.items()}


def _documented(group: list[type[PlatformError]]) -> dict[str, Any]:
    """The response of the errors with one status. `api.openapi` adds the examples that it refers to."""
    examples = {kind.code: {"$ref": f"#/components/examples/{kind.code}"} for kind in group}
    return {
        "description": "\n\n".join(f"`{kind.code}`: {kind.title}" for kind in group),
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}, "examples": examples}},
    }


def problem(
    request_id: str, instance: str, error: PlatformError, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """The response for `error`."""
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
    if isinstance(error, OperationalError) and isinstance(error.orig, QueryCanceled):
        return _query_timeout(request)
    if full := _full_disk(request, error):
        log.error("request %s: %s: %s", request.state.request_id, full.detail, error)
        return _answer(request, full)
    log.error("request %s: the database does not respond: %s", request.state.request_id, error)
    return _answer(request, Unavailable("The database does not respond. Try again."))


def _full_disk(request: Request, error: Exception) -> DiskFull | None:
    """The error of a full disk, if PostgreSQL reports one, or has stopped while the data folder has no room.

    PostgreSQL stops when it cannot write its log. An embedded server is on the disk of the data folder.
    """
    if isinstance(error, OperationalError) and isinstance(error.orig, DatabaseDiskFull):
        return DiskFull("The disk of the database is full. Nothing was stored.")
    folder = (request.app.state.settings or get_settings()).data_dir
    with suppress(OSError):  # no such folder: the API runs apart from the workers
        if shutil.disk_usage(folder).free < _LEAST_ROOM:
            return DiskFull(f"The disk that holds {folder} is full, and the database does not respond.")
    return None


def _query_timeout(request: Request) -> JSONResponse:
    seconds = (request.app.state.settings or get_settings()).statement_seconds
    log.error("request %s: a query took longer than %g s", request.state.request_id, seconds)
    advice = "Ask for less, such as fewer metrics or a smaller page, or try again later."
    return _answer(
        request, QueryTimeout(f"A query took longer than {seconds:g} s (PROXIMAL_STATEMENT_SECONDS). {advice}")
    )


async def _not_storable(request: Request, error: Exception) -> JSONResponse:
    """A value that PostgreSQL cannot hold, such as a NUL character or a number beyond 64 bits."""
    return _answer(request, not_storable(request))


async def _disk_full(request: Request, error: Exception) -> JSONResponse:
    """The disk is full, for example while FastAPI spools a form's file."""
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
    value: int | None = None
    """For `limit_exceeded`: the figure that exceeds the limit."""
    limit: int | None = None
    """For `limit_exceeded`: the largest figure that the platform allows."""
    setting: str | None = None
    """For `limit_exceeded`: the setting with the limit."""


class Problem(Schema):
    """An error in the format of RFC 9457. Some codes have further members, such as `from`, `to` and `allowed`."""

    model_config = ConfigDict(extra="allow", json_schema_serialization_defaults_required=False)

    type: str
    """URI of the kind of problem."""
    title: str
    """Title of the kind of problem."""
    status: int
    """The HTTP status."""
    detail: str
    """Description of this occurrence, for people."""
    instance: str
    """Path of the request."""
    code: str
    """The kind of problem, for programs."""
    request_id: str
    """Id of the request in the server's log."""
    param: str | None = None
    """The invalid parameter or field, if there is one."""
    errors: list[ProblemItem] | None = None
    """The errors, if there may be several."""
    error_count: int | None = None
    """Number of errors, if not all are listed."""
    allowed: list[Any] | None = None
    """For `invalid_transition`: the states that the job can change to."""
    existing: str | None = None
    """For `external_id_taken`: the id of the object that has the external id."""
    encodings: list[str] | None = None
    """For `invalid_dataset`: the likely encodings of a file that is not UTF-8, of which the request names one as `encoding`."""
    etag: str | None = None
    """For `precondition_failed`: the present ETag."""
    requests: list[str] | None = None
    """For `invalid_transition` and `job_not_ended`: the requests about the job that are possible now, such as `pause`."""
