"""The OpenAPI document."""

import json
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from api import idempotency
from api.datasets.schemas import ImportDataset
from api.jobs.schemas import JobLogLine
from api.problems import Problem, documented
from core.errors import IdempotencyKeyReused, RequestInFlight

INTRODUCTION = """\
Upload preference data, submit one job, and watch a language model go through SFT, reward model, PPO and evaluation.

Every call needs an API key (`Authorization: Bearer prx_…`) or the cookie of a signed-in browser. Every error is
`application/problem+json` (RFC 9457): `code` is for programs, `detail` for people, and `request_id` identifies the request
in the server's log. Any call may return `503` while the database does not respond, and `500` for an internal error. Lists
have pages: while `has_more` is true, repeat the request with `after` set to `last_id`. Times are RFC 3339 in UTC.
"""


def describe(app: FastAPI) -> None:
    """Set the function that makes the document: all errors are problems, and shared schemas have names."""

    def schema() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _schema(app)
        return app.openapi_schema

    app.openapi = schema  # type: ignore[method-assign]  # FastAPI's documented way to extend the schema


def _schema(app: FastAPI) -> dict[str, Any]:
    schema = get_openapi(title=app.title, version=app.version, description=INTRODUCTION, routes=app.routes)
    shapes = schema["components"]["schemas"]
    for model in (Problem, ImportDataset, JobLogLine):
        found = model.model_json_schema(mode="serialization", ref_template="#/components/schemas/{model}")
        shapes |= found.pop("$defs", {}) | {model.__name__: found}
    _document_repetition(schema)
    for name in ("HTTPValidationError", "ValidationError"):
        shapes.pop(name, None)
    return schema


def _document_repetition(schema: dict[str, Any]) -> None:
    """Add the errors of an `Idempotency-Key` to the operations that take one."""
    for operation in (one for item in schema["paths"].values() for one in item.values()):
        if idempotency.HEADER not in [parameter["name"] for parameter in operation.get("parameters", [])]:
            continue
        for status, added in documented(RequestInFlight, IdempotencyKeyReused).items():
            known = operation["responses"].setdefault(str(status), {**added, "description": ""})
            known["description"] = f"{known['description']}\n\n{added['description']}".strip()


def text(app: FastAPI) -> str:
    """The document as JSON, equal to `frontend/openapi.json`."""
    return json.dumps(app.openapi(), indent=2, ensure_ascii=False) + "\n"
