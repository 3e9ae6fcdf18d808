"""Validation of requests: strict JSON bodies and queries, and an error that names each invalid field."""

import json
import sys
import typing
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from core.db import unstorable, unstorable_part
from core.errors import InvalidRequest, InvalidSpec, PlatformError, WrongMediaType
from trainer.spec import JobSpec
from trainer.spec.validation_errors import explain, unknown_name

_BEFORE_COMMIT = "proximal.before_commit"
_BODY = "proximal.body"
_MOST_DIGITS = sys.get_int_max_str_digits()


class StrictRoute(APIRoute):
    """For routers whose routes read JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            response = await handle(_StrictRequest(request.scope, request.receive))
            for call in request.scope.get(_BEFORE_COMMIT, ()):
                await run_in_threadpool(call, response)
            return response

        return handle_strictly


def before_commit(request: Request, call: Callable[[Response], object]) -> None:
    """Call a function with the response of a successful request, before its transaction is committed."""
    request.scope.setdefault(_BEFORE_COMMIT, []).append(call)


class _StrictRequest(Request):
    async def json(self) -> Any:
        try:
            body = json.loads(await self.body(), object_pairs_hook=without_duplicates)
            self.scope[_BODY] = body
            return body
        except json.JSONDecodeError:
            raise
        except UnicodeDecodeError as error:
            raise HTTPException(400, f"The body is not UTF-8 at byte {error.start}. Send JSON in UTF-8.") from error
        except RecursionError as error:
            raise HTTPException(400, "The body has too many arrays or objects inside each other.") from error
        except ValueError as error:
            raise HTTPException(400, f"The body has an integer of more than {_MOST_DIGITS} digits.") from error


def without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for name, value in pairs:
        if name in seen:
            # FastAPI lets only an HTTPException through while it reads a body.
            raise HTTPException(422, f"The body holds the key {name!r} twice in one object.")
        seen[name] = value
    return seen


async def refuse_unknown_query(request: Request) -> None:
    """Raise InvalidRequest for query parameters that the route does not have. A dependency of all routes under /v1.

    It runs before the caller is identified, and in the event loop, where a thread would cost more than the check.
    """
    if not request.query_params:
        return
    known = list(dict.fromkeys(query_names(request.scope["route"].dependant)))
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        errors = [{"pointer": f"?{name}", "detail": unknown_name("parameter", name, known)} for name in unknown]
        raise InvalidRequest(_summary(errors), param=unknown[0], errors=errors)


def query_names(dependant: Dependant) -> Iterator[str]:
    """The names of the query parameters of a route and its dependencies, repeated where several read the same one."""
    for field in dependant.query_params:
        model = field.field_info.annotation
        if isinstance(model, type) and issubclass(model, BaseModel):
            yield from (info.alias or name for name, info in model.model_fields.items())
        else:
            yield field.alias
    for inner in dependant.dependencies:
        yield from query_names(inner)


def refusal(request: Request, error: RequestValidationError) -> PlatformError:
    """The error for a request that does not fit the parameters of its route."""
    if any(item["type"] == "json_invalid" for item in error.errors()):
        return _bad_json(error)
    if isinstance(error.body, bytes):
        # FastAPI parses a body only if its media type is JSON.
        return WrongMediaType("Send the body with the header `Content-Type: application/json`.")
    model = _body_model(request)
    if model is not None and all(item["loc"][0] == "body" for item in error.errors()):
        return invalid_body(model, error.body)
    errors = [{"pointer": _pointer(item["loc"]), "detail": item["msg"]} for item in error.errors()]
    return InvalidRequest(_summary(errors), param=errors[0]["pointer"].lstrip("?#/"), errors=errors)


def not_storable(request: Request) -> InvalidRequest:
    """The error for a value that PostgreSQL cannot store, with the first such value of the request."""
    for where, value in _given(request):
        if found := unstorable_part(value, where):
            return unstorable(*found)
    return InvalidRequest("The request has a value that the platform cannot store.")


def _given(request: Request) -> Iterator[tuple[str, Any]]:
    """The values of the path, of the query and of a JSON body, each with its pointer."""
    yield from ((f"/{name}", value) for name, value in request.path_params.items())
    for name, value in request.query_params.multi_items():
        yield f"?{name}", int(value) if value.isdecimal() and len(value) < _MOST_DIGITS else value
    yield "#", request.scope.get(_BODY)


def _body_model(request: Request) -> type[BaseModel] | None:
    """The model of the route's body, annotated as `X` or, where the body may be left out, as `X | None`."""
    hint = typing.get_type_hints(request.scope["endpoint"]).get("body")
    members = [one for one in typing.get_args(hint) or (hint,) if one is not type(None)]
    return members[0] if len(members) == 1 else None


def invalid_body(model: type[BaseModel], body: Any) -> InvalidRequest:
    """The error for an invalid body. It suggests the nearest known names."""
    kind = InvalidSpec if model is JobSpec else InvalidRequest
    try:
        model.model_validate(body)
    except ValidationError as error:
        errors = [{"pointer": found.pointer, "detail": found.detail} for found in explain(error, model)]
        first = errors[0]["pointer"]
        param = None if first == "#" else first.removeprefix("#/").replace("/", ".")
        return kind(_summary(errors), param=param, errors=errors)
    return kind()


def _bad_json(error: RequestValidationError) -> PlatformError:
    item = error.errors()[0]
    detail = f"The body is not valid JSON: {item['ctx']['error']} (character {item['loc'][-1]})."
    return InvalidRequest(detail, errors=[{"pointer": "#", "detail": str(item["ctx"]["error"])}])


def _pointer(loc: tuple[int | str, ...]) -> str:
    where, *path = loc
    start = {"query": "?", "body": "#/", "path": "/", "header": "header ", "cookie": "cookie "}.get(str(where), "")
    return start + "/".join(str(part) for part in path)


def _summary(errors: list[dict[str, str]]) -> str:
    first = f"{errors[0]['pointer']}: {errors[0]['detail']}"
    return first if len(errors) == 1 else f"{first} ({len(errors) - 1} more)"
