"""The schema of the API, as other programs read it."""

import json
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from api.datasets.schemas import ImportDataset
from api.problems import Problem

INTRODUCTION = """\
Upload preference data, submit one job, and watch a language model go through SFT, reward model, PPO and evaluation.

Every call needs an API key (`Authorization: Bearer prx_…`) or the cookie of a signed-in browser. Every error is
`application/problem+json` (RFC 9457); `code` is for programs, `detail` for people, and `request_id` finds the request in
the server's log. Any call may answer `503` while the database is away, and `500` for a fault of ours. Lists are read page
by page: ask again with `after` set to `last_id` while `has_more` is true. Times are RFC 3339 in UTC.
"""


def describe(app: FastAPI) -> None:
    """Have the application describe itself: all errors are problems, and shared shapes are named."""

    def schema() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _schema(app)
        return app.openapi_schema

    app.openapi = schema  # type: ignore[method-assign]  # FastAPI's documented way to extend the schema


def _schema(app: FastAPI) -> dict[str, Any]:
    schema = get_openapi(title=app.title, version=app.version, description=INTRODUCTION, routes=app.routes)
    shapes = schema["components"]["schemas"]
    for model in (Problem, ImportDataset):
        found = model.model_json_schema(mode="serialization", ref_template="#/components/schemas/{model}")
        shapes |= found.pop("$defs", {}) | {model.__name__: found}
    for name in ("HTTPValidationError", "ValidationError"):
        shapes.pop(name, None)
    return schema


def text(app: FastAPI) -> str:
    """The document as JSON, byte for byte the file `frontend/openapi.json`."""
    return json.dumps(app.openapi(), indent=2, ensure_ascii=False) + "\n"
