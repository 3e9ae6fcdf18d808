"""The OpenAPI document."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from api import idempotency
from api.authorization import ACTIONS
from api.datasets.schemas import ImportDataset
from api.examples import add_bodies, problem_example
from api.jobs.schemas import JobLogLine
from api.problems import MEDIA_TYPE, BadRequest, Problem, documented
from core.access.policy import Action
from core.errors import IdempotencyKeyReused, NotAllowed, PlatformError, RateLimited, RequestInFlight, TooLarge

Node = dict[str, Any]
RESPONSE_HEADERS = {
    "X-Request-Id": "The id of the request: the one that the client sent in this header, or a new one.",
    idempotency.REPLAYED: "`true`: the response of an earlier request with the same `Idempotency-Key`. Otherwise left out.",
    "ETag": "For `If-Match`: `etag` in quotes.",
    "RateLimit": "The requests that are left (`r`) and the seconds until there are more (`t`).",
    "RateLimit-Policy": "The number of requests (`q`) that are allowed in a number of seconds (`w`).",
    "Retry-After": "The seconds after which the request may succeed. Left out if that is unknown.",
}
INTRODUCTION = """\
Upload preference data, submit one job, and watch a language model go through SFT, reward model, PPO and evaluation.

Every call needs an API key (`Authorization: Bearer prx_…`) or the cookie of a signed-in browser. Every error is
`application/problem+json` (RFC 9457): `code` is for programs, `detail` for people, and `request_id` identifies the request
in the server's log. Any call may return `503` while the database does not respond, `507` while the disk is full,
and `500` for an internal error. Lists have pages: while `has_more` is true, repeat the request with `after` set to `last_id`. Times are RFC 3339 in UTC.
"""


def describe(app: FastAPI) -> None:
    """Set the function that makes the document: all errors are problems, and shared schemas have names."""

    def schema() -> Node:
        if app.openapi_schema is None:
            app.openapi_schema = _schema(app)
        return app.openapi_schema

    app.openapi = schema  # type: ignore[method-assign]  # FastAPI's documented way to extend the schema


def _schema(app: FastAPI) -> Node:
    schema = get_openapi(title=app.title, version=app.version, description=INTRODUCTION, routes=app.routes)
    shapes = schema["components"]["schemas"]
    for model in (Problem, ImportDataset, JobLogLine):
        found = model.model_json_schema(mode="serialization", ref_template="#/components/schemas/{model}")
        shapes |= found.pop("$defs", {}) | {model.__name__: found}
    for operation in _operations(schema):
        _document_headers(operation)
        add_bodies(operation)
    schema["components"]["examples"] = _problem_examples(schema)
    schema["components"]["headers"] = {
        name: {"description": text, "schema": {"type": "string"}} for name, text in RESPONSE_HEADERS.items()
    }
    for name in ("HTTPValidationError", "ValidationError"):
        shapes.pop(name, None)
    _share(schema)
    return schema


def _operations(schema: Node) -> Iterator[Node]:
    return (operation for item in schema["paths"].values() for operation in item.values())


def _document_headers(operation: Node) -> None:
    """Add the errors of a body and of an `Idempotency-Key` to the operations that take one, the limit to those that need a
    key, and the headers of the responses."""
    headers = ["X-Request-Id"]
    if "requestBody" in operation:
        _add_errors(operation, BadRequest, TooLarge)
    if idempotency.HEADER in [parameter["name"] for parameter in operation.get("parameters", [])]:
        _add_errors(operation, RequestInFlight, IdempotencyKeyReused)
        headers.append(idempotency.REPLAYED)
    if "security" in operation:
        _add_errors(operation, RateLimited)
        if ACTIONS.get(operation["operationId"], Action.ACCOUNT) is not Action.ACCOUNT:
            _add_errors(operation, NotAllowed)
        headers += ["RateLimit", "RateLimit-Policy"]
    for status, response in operation["responses"].items():
        sent = headers if status.startswith("2") else ["Retry-After"] if status in ("429", "503") else []
        if sent:
            named = {name: {"$ref": f"#/components/headers/{name}"} for name in sent}
            response["headers"] = named | response.get("headers", {})


def _add_errors(operation: Node, *kinds: type[PlatformError]) -> None:
    """Add the errors that the operation does not document by itself."""
    known_codes = {code for one in operation["responses"].values() for code in _codes(one)}
    for status, added in documented(*(kind for kind in kinds if kind.code not in known_codes)).items():
        known = operation["responses"].setdefault(str(status), {"description": "", "content": {}})
        known["description"] = f"{known['description']}\n\n{added['description']}".strip()
        content = known["content"].setdefault(MEDIA_TYPE, {**added["content"][MEDIA_TYPE], "examples": {}})
        content["examples"] |= added["content"][MEDIA_TYPE]["examples"]


def _problem_examples(schema: Node) -> Node:
    """An example of each problem that an operation refers to, by its code."""
    responses = (one for operation in _operations(schema) for one in operation["responses"].values())
    used = {code for response in responses for code in _codes(response)}
    kinds = {kind.code: kind for kind in _kinds(PlatformError)}
    return {code: problem_example(code, kinds[code].title, kinds[code].status) for code in sorted(used)}


def _codes(response: Node) -> list[str]:
    """The codes of the problems of an error; empty for other responses."""
    return list(response.get("content", {}).get(MEDIA_TYPE, {}).get("examples", {}))


def _kinds(kind: type[PlatformError]) -> Iterator[type[PlatformError]]:
    """The class and its subclasses."""
    yield kind
    for inner in kind.__subclasses__():
        yield from _kinds(inner)


def _share(schema: Node) -> None:
    """Move the responses and header parameters that several operations repeat to the components, and refer to them.

    Other parameters stay: those with one name differ between operations.
    """
    responses, parameters = [], []
    for operation in _operations(schema):
        responses += [(operation["responses"], status) for status in operation["responses"]]
        listed = operation.get("parameters", [])
        parameters += [(listed, index) for index, one in enumerate(listed) if one["in"] == "header"]
    components = schema["components"]
    components["responses"] = _shared("responses", responses, _response_name)
    components["parameters"] = _shared("parameters", parameters, lambda parameter: str(parameter["name"]))


def _shared(kind: str, places: list[tuple[Any, Any]], name_of: Callable[[Node], str]) -> Node:
    """Replace each node that is in several places by a reference. Returns these nodes by name.

    A place is a dict or list and a key. Raises ValueError if two of the nodes have one name.
    """
    counts = Counter(_canonical(holder[key]) for holder, key in places)
    shared: Node = {}
    for holder, key in places:
        node = holder[key]
        if counts[_canonical(node)] > 1:
            name = name_of(node)
            if shared.setdefault(name, node) != node:
                raise ValueError(f"two components.{kind} have the name {name}")
            holder[key] = {"$ref": f"#/components/{kind}/{name}"}
    return dict(sorted(shared.items()))


def _canonical(node: Node) -> str:
    return json.dumps(node, sort_keys=True)


def _response_name(response: Node) -> str:
    """The codes of an error, such as `invalid_transition-request_in_flight`. Otherwise the schema or media type, and the
    headers that not every response has, such as `Job-ETag`."""
    if codes := _codes(response):
        return "-".join(codes)
    name = "NoContent"
    for media, content in response.get("content", {}).items():
        name = content.get("schema", {}).get("$ref", media).rpartition("/")[2]
    return "-".join([name, *sorted({idempotency.REPLAYED, "ETag"} & response.get("headers", {}).keys())])


def followed(document: Node, node: Node) -> Node:
    """The component that a reference leads to. A node that is no reference is returned unchanged."""
    while "$ref" in node:
        kind, name = node["$ref"].split("/")[2:]
        node = document["components"][kind][name]
    return node


def text(app: FastAPI) -> str:
    """The document as JSON, equal to `frontend/openapi.json`."""
    return json.dumps(app.openapi(), indent=2, ensure_ascii=False) + "\n"
