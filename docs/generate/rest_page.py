"""`docs/reference/rest.md`: every route and every object of the REST API, from the OpenAPI document."""

from collections.abc import Iterator
from typing import Any

from schemas import Schema, anchor, number, one_line, type_of

from api.app import create_app
from api.openapi import followed

INTRODUCTION = """\
# REST API

<!-- Written by docs/generate from api/: change it there, then run `make reference`. -->

Every route of the API, with the objects that it takes and returns. A running platform serves the same reference at `/docs` and the
OpenAPI document at `/openapi.json`. [Use the REST API](../how-to/use-the-rest-api.md) shows the routes in a working order.

Every route can also return 401, 500 and 503. [Errors](../how-to/use-the-rest-api.md#when-something-is-wrong) have one format.
"""
COMMON = {"401", "500", "503"}


def rest_page() -> str:
    document = create_app().openapi()
    routes: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            routes.setdefault(route["tags"][0], []).append(_route(document, method, path, route))
    parts = [INTRODUCTION]
    for tag in sorted(routes):
        parts += [f"## {tag}\n", *routes[tag]]
    schemas = document["components"]["schemas"]
    parts += [
        "## Objects\n",
        *(_object(name, schemas[name]) for name in sorted(_used(document)) if _is_object(schemas[name])),
    ]
    return "\n".join(parts)


def _is_object(schema: Schema) -> bool:
    return bool(schema.get("properties")) or "enum" in schema or "oneOf" in schema


def _used(document: Schema) -> set[str]:
    """The objects of requests and responses. The job spec's parts are left out: they have a page of their own."""
    schemas = document["components"]["schemas"]
    found: set[str] = set()
    waiting = list(_references([document["paths"], document["components"]["responses"]]))
    while waiting:
        name = waiting.pop()
        if name not in found and not _is_spec(name):
            found.add(name)
            waiting += _references(schemas[name])
    return found


def _is_spec(name: str) -> bool:
    return name.partition("-")[0] == "JobSpec"


def _references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if part.get("$ref", "").startswith("#/components/schemas/"):
            yield part["$ref"].rpartition("/")[2]
        for inner in part.values():
            yield from _references(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from _references(inner)


def _route(document: Schema, method: str, path: str, route: Schema) -> str:
    lines = [f"### `{method.upper()} {path}`", "", route.get("description", route["summary"]).strip(), ""]
    if parameters := route.get("parameters"):
        lines += ["| parameter | in | type | default | meaning |", "|---|---|---|---|---|"]
        lines += [_parameter(followed(document, one)) for one in parameters]
        lines.append("")
    for media, content in route.get("requestBody", {}).get("content", {}).items():
        lines += [f"Body (`{media}`): {_type(content.get('schema', {}))}", ""]
    lines += [f"- {line}" for line in _responses(document, route["responses"])]
    return "\n".join([*lines, ""])


def _parameter(one: Schema) -> str:
    schema = one["schema"]
    default = "**required**" if one.get("required") else _default(schema)
    return f"| `{one['name']}` | {one['in']} | {_type(schema)} | {default} | {one_line(one.get('description', ''))} |"


def _responses(document: Schema, responses: Schema) -> Iterator[str]:
    for status, listed in sorted(responses.items()):
        if status in COMMON:
            continue
        response = followed(document, listed)
        kinds = [_type(content.get("schema", {})) for content in response.get("content", {}).values()]
        if int(status) < 400:
            yield f"**{status}** {' or '.join(kind for kind in kinds if kind != 'any value') or 'no object'}"
        else:
            yield f"**{status}** {one_line(response['description'])}"


def _object(name: str, schema: Schema) -> str:
    lines = [f"### {name}", ""]
    if description := schema.get("description"):
        lines += [one_line(description), ""]
    if "enum" in schema:
        return "\n".join([*lines, ", ".join(f"`{value}`" for value in schema["enum"]), ""])
    if "oneOf" in schema:
        return "\n".join([*lines, f"One of: {_type(schema)}.", ""])
    lines += ["| field | type | meaning |", "|---|---|---|"]
    for field, value in schema["properties"].items():
        optional = (
            "" if field in schema.get("required", []) or "default" not in value else f", default {_default(value)}"
        )
        lines.append(f"| `{field}` | {_type(value)}{optional} | {one_line(value.get('description', ''))} |")
    return "\n".join([*lines, ""])


def _type(schema: Schema) -> str:
    return type_of(schema, _link)


def _link(name: str) -> str:
    return "[job spec](spec.md)" if _is_spec(name) else f"[{name}](#{anchor(name)})"


def _default(schema: Schema) -> str:
    value = schema.get("default")
    if value is None:
        return "none"
    return (
        f"`{str(value).lower() if isinstance(value, bool) else number(value)}`"
        if value not in ("", [], {})
        else "empty"
    )
