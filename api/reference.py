"""The API reference: the OpenAPI document, and one HTML page that is made from it.

The page has no scripts and loads nothing from other servers, so it works offline and under a strict content policy.
"""

import json
from collections.abc import Iterator
from functools import lru_cache
from html import escape

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import HTMLResponse

from api.openapi import Node, followed

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #1c2024 }
code { font: 13px ui-monospace, monospace; background: #f2f3f5; padding: .1em .3em; border-radius: 3px }
h2 { margin-top: 2.5rem; border-bottom: 1px solid #ddd } h3 { margin: 1.8rem 0 .3rem; font-size: 1rem }
.method { display: inline-block; min-width: 4rem; font-weight: 700 } p { margin: .3rem 0 }
table { border-collapse: collapse; width: 100%; margin: .4rem 0 } td, th { text-align: left; vertical-align: top;
padding: .25rem .8rem .25rem 0; border-bottom: 1px solid #eee } th { font-weight: 600; color: #555 } a { color: #0b62c4 }
nav { columns: 3; margin: 1rem 0 } nav a { display: block }
@media (prefers-color-scheme: dark) { body { background: #111418; color: #dfe3e8 } code { background: #22272e }
td, th { border-color: #2a2f36 } h2 { border-color: #333 } a { color: #6cb0ff } }
"""


def page(schema: Node) -> str:
    """The whole page."""
    return "".join(_page(schema))


def _page(schema: Node) -> Iterator[str]:
    info, shapes = schema["info"], schema["components"]["schemas"]
    yield f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(info["title"])} API</title>'
    yield f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style><h1>{escape(info["title"])} API</h1>'
    yield f"{_prose(info['description'])}<p>For programs: <a href='/openapi.json'>openapi.json</a>.</p><nav>"
    operations = [(path, method, node) for path, item in schema["paths"].items() for method, node in item.items()]
    for path, method, node in operations:
        yield f'<a href="#{escape(node["operationId"])}">{method.upper()} {escape(path)}</a>'
    yield "</nav>"
    tag = None
    for path, method, node in operations:
        if node["tags"][0] != tag:
            tag = node["tags"][0]
            yield f"<h2>{escape(tag)}</h2>"
        yield from _operation(schema, path, method, node)
    yield "<h2>Shapes</h2>"
    for name, shape in sorted(shapes.items()):
        yield from _shape(name, shape)
    yield "</html>"


def _operation(schema: Node, path: str, method: str, node: Node) -> Iterator[str]:
    yield f'<h3 id="{escape(node["operationId"])}"><span class="method">{method.upper()}</span>{escape(path)}</h3>'
    yield _prose(node.get("description", ""))
    rows = [
        (f"<code>{escape(p['name'])}</code> in {p['in']}", _type(p["schema"]), _prose(p.get("description", "")))
        for p in (followed(schema, one) for one in node.get("parameters", []))
    ]
    for media, content in node.get("requestBody", {}).get("content", {}).items():
        rows.append((f"body, {escape(media)}", _type(content["schema"]), _fields(content["schema"])))
    for status, response in sorted(node["responses"].items()):
        answer = followed(schema, response)
        answered: Node = next(iter(answer.get("content", {}).values()), {})
        rows.append((f"<b>{status}</b>", _type(answered.get("schema", {})), _prose(answer["description"])))
    yield _table(rows)


def _shape(name: str, shape: Node) -> Iterator[str]:
    yield f'<h3 id="{escape(name)}">{escape(name)}</h3>{_prose(shape.get("description", ""))}{_fields(shape)}'
    if "oneOf" in shape:
        yield f"<p>{_type(shape)}</p>"
    if "enum" in shape:
        yield f"<p>{' '.join(f'<code>{escape(str(value))}</code>' for value in shape['enum'])}</p>"


def _fields(shape: Node) -> str:
    rows = []
    for name, field in shape.get("properties", {}).items():
        default = f" Default: <code>{escape(str(field['default']))}</code>." if field.get("default") is not None else ""
        rows.append((f"<code>{escape(name)}</code>", _type(field), _prose(field.get("description", "")) + default))
    return _table(rows)


def _table(rows: list[tuple[str, str, str]]) -> str:
    lines = "".join(f"<tr><td>{first}<td>{second}<td>{third}" for first, second, third in rows)
    return f"<table>{lines}</table>" if rows else ""


def _type(schema: Node) -> str:
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    if options := schema.get("anyOf", schema.get("oneOf")):
        return " | ".join(map(_type, options))
    if schema.get("type") == "array":
        return f"{_type(schema.get('items', {}))}[]"
    return escape(str(schema.get("format") or schema.get("const") or schema.get("type", "")))


def _prose(text: str) -> str:
    """Paragraphs, and `code` between backticks."""
    parts = escape(text).split("`")
    marked = "".join(f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts))
    return "".join(f"<p>{paragraph}</p>" for paragraph in marked.split("\n\n") if paragraph.strip())


router = APIRouter(include_in_schema=False)


@router.get("/docs")
async def reference(request: Request) -> HTMLResponse:
    """The reference for people. Programs read `/openapi.json`."""
    return HTMLResponse(_documents(request.app)[0])


@router.get("/openapi.json")
async def openapi_document(request: Request) -> Response:
    """Return the description of all routes for programs: OpenAPI 3.1."""
    return Response(_documents(request.app)[1], media_type="application/json")


@lru_cache(maxsize=1)
def _documents(app: FastAPI) -> tuple[bytes, bytes]:
    """The page and the document, made once: they need no key, and making them takes longer than most requests."""
    schema = app.openapi()
    return page(schema).encode(), json.dumps(schema, ensure_ascii=False, separators=(",", ":")).encode()
