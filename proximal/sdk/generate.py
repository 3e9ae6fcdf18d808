"""Writes the methods of the SDK, one for each operation of the API: `python -m proximal.sdk.generate`, in `make openapi`.

`operations.py` has them for `Client`, `async_operations.py` for `AsyncClient`. The layer by hand adds what OpenAPI cannot
describe: streams, downloads, uploads in parts, and waiting. `nulls.py` is the trainer's, which is not installed with the client.
"""

import json
import keyword
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proximal.sdk import types

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
NULLS = ROOT / "trainer" / "spec" / "nulls.py"
SPEC_FIELDS = '"""Fields of a job spec that name files. `make openapi` generates this file; do not edit it."""\n'
COPIED = "# `make openapi` generates this file from trainer/spec/nulls.py; do not edit it.\n\n"
FOR_BROWSERS = {"sign_in", "sign_out"}
"""A program sends its key with every request, so it needs no session."""
BY_HAND = {"put_upload_part"}
"""An operation whose body is not JSON."""
RENAMED = {"upload_dataset": "import_upload"}
"""`upload_dataset` takes a form or JSON. The form is written by hand; with JSON, it makes a dataset of an upload."""
SLOW = {"complete_upload", "preview_upload"}
"""Operations that read a whole file. They have no timeout."""
NULL_HAS_A_MEANING = {"set_project_quotas"}
"""Operations, beside PATCH, in whose body null differs from a field that is left out."""
KEYWORDS = {"create_job_commands"}
"""Operations whose body has no natural order. Callers must name its fields, however many there are."""
COMMA_SEPARATED = {"names", "types", "ids"}
"""Parameters that take several names, which the request joins."""
MOST_FIELDS = 8
"""A body with more fields is passed as a whole."""
SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "object": "Mapping[str, Any]"}
HEADER = '"""{about} `make openapi` generates this file; do not edit it."""\n\n# ruff: noqa: A002, E501, PLR0913\n'
Schema = Mapping[str, Any]


@dataclass
class Argument:
    """A parameter of a method."""

    name: str
    """Its name in the request."""
    kind: str
    """Its type in Python."""
    place: str
    """`path`, `query`, `body`, `whole` for the whole body, or `condition` for `If-Match`."""
    default: str | None = None
    """None: it is required."""
    named: bool = False
    """Whether the operation is one of `KEYWORDS`."""

    @property
    def variable(self) -> str:
        return f"{self.name}_" if keyword.iskeyword(self.name) else self.name

    @property
    def keyword_only(self) -> bool:
        """Whether callers must name it. A parameter that a later version adds then breaks no call."""
        return self.named or self.place in ("query", "condition")

    @property
    def declaration(self) -> str:
        return f"{self.variable}: {self.kind}" + (f" = {self.default}" if self.default is not None else "")


@dataclass
class Operation:
    """An operation of the API as a method."""

    name: str
    method: str
    path: str
    about: str
    returns: str
    """The type of the result; of an item for lists."""
    shape: str
    """`object`, `list` (one response), `pages` or `nothing`."""
    arguments: list[Argument] = field(default_factory=list)


def operations(document: Schema) -> Iterator[Operation]:
    """Every operation that takes and returns JSON."""
    components = document["components"]["schemas"]
    for path, methods in document["paths"].items():
        for method, listed in methods.items():
            described = _without_references(listed, document)
            name: str = described["operationId"]
            result = _result(described, components)
            if name not in FOR_BROWSERS | BY_HAND and result is not None:
                shape, returns = result
                arguments = list(_arguments(path, method, described, components))
                if shape == "list" and any(one.name == "limit" for one in arguments):
                    shape = "pages"
                if shape == "pages":
                    arguments = [one for one in arguments if one.name != "limit" and _is_position(one)]
                about = described.get("description") or described["summary"]
                yield Operation(RENAMED.get(name, name), method.upper(), path, about, returns, shape, arguments)


def _without_references(listed: Schema, document: Schema) -> Schema:
    """The operation with the shared responses and parameters that it refers to. References to schemas stay."""
    responses = {status: _followed(one, document) for status, one in listed["responses"].items()}
    parameters = [_followed(one, document) for one in listed.get("parameters", ())]
    return {**listed, "responses": responses, "parameters": parameters}


def _followed(node: Schema, document: Schema) -> Schema:
    if "$ref" not in node:
        return node
    kind, name = node["$ref"].split("/")[2:]
    found: Schema = document["components"][kind][name]
    return found


def _is_position(one: Argument) -> bool:
    """False for a cursor that only the previous page has. A number, such as that of an event, is known without it."""
    return one.name != "after" or one.kind.startswith("int")


def _result(described: Schema, components: Schema) -> tuple[str, str] | None:
    """Shape and type of a successful response; None if it is not JSON."""
    success = next(response for status, response in described["responses"].items() if status.startswith("2"))
    if "content" not in success:
        return "nothing", "None"
    if "application/json" not in success["content"]:
        return None
    name = _reference(success["content"]["application/json"]["schema"])
    if name is None:
        return "object", "dict[str, Any]"
    properties = components[name].get("properties", {})
    if {"data", "has_more", "last_id"} <= set(properties):
        return "list", _reference(properties["data"]["items"]) or "Any"
    return "object", name


def _arguments(path: str, method: str, described: Schema, components: Schema) -> Iterator[Argument]:
    """Keyword-only ones last, and otherwise required ones first. The order of the path is kept, and that of the body."""
    known = {one["name"]: one for one in described.get("parameters", ())}
    found = [Argument(name, _type(known[name]["schema"], components), "path") for name in re.findall(r"{(\w+)", path)]
    found += _body(method, described, components)
    found += [_query(one, components) for one in known.values() if one["in"] == "query"]
    if "If-Match" in known:
        found.append(Argument("if_match", "str | None", "condition", "None"))
    yield from sorted(found, key=lambda one: (one.keyword_only, one.default is not None))


def _query(described: Schema, components: Schema) -> Argument:
    name = described["name"]
    kind = "Sequence[str]" if name in COMMA_SEPARATED else _type(described["schema"], components)
    if described.get("required"):
        return Argument(name, kind, "query")
    return Argument(name, _or_none(kind), "query", "None")


def _body(method: str, described: Schema, components: Schema) -> Iterator[Argument]:
    content = described.get("requestBody", {}).get("content", {})
    schema = next((one["schema"] for name, one in content.items() if name.endswith("json")), None)
    if schema is None:
        return
    schema = next((one for one in schema.get("anyOf", ()) if "$ref" in one), schema)  # a body that may be left out
    whole = _resolved(schema, components)
    properties, named = whole.get("properties", {}), described["operationId"] in KEYWORDS
    if not properties or (len(properties) > MOST_FIELDS and not named):
        yield Argument("spec" if _reference(schema) == "JobSpec" else "body", "Body", "whole")
        return
    for name, inner in properties.items():
        kind = _type(inner, components)
        if name in whole.get("required", ()):
            yield Argument(name, kind, "body")
        elif method == "patch" or described["operationId"] in NULL_HAS_A_MEANING:
            yield Argument(name, f"Omitted | {kind}", "body", "OMITTED")
        else:
            yield Argument(name, _or_none(kind), "body", "None", named)


def _type(schema: Schema, components: Schema) -> str:
    """The Python type of a value that is sent."""
    if (name := _reference(schema)) is not None:
        inner = components[name]
        if "enum" in inner or not hasattr(types, name):
            return _type(inner, components)
        return "Mapping[str, Any]" if inner.get("type") == "object" else _type(inner, components)
    if "anyOf" in schema or "oneOf" in schema:
        parts = [_type(one, components) for one in schema.get("anyOf") or schema["oneOf"]]
        return " | ".join(dict.fromkeys(parts))
    if "const" in schema or "enum" in schema:
        return f"Literal[{', '.join(repr(value) for value in schema.get('enum', [schema.get('const')]))}]"
    if schema.get("type") == "array":
        return f"Sequence[{_type(schema['items'], components)}]"
    return "None" if schema.get("type") == "null" else SIMPLE.get(schema.get("type", ""), "Any")


def _or_none(kind: str) -> str:
    return kind if kind == "Any" or kind.endswith("None") else f"{kind} | None"


def _reference(schema: Schema) -> str | None:
    return str(schema["$ref"]).rpartition("/")[2] if "$ref" in schema else None


def _resolved(schema: Schema, components: Schema) -> Schema:
    name = _reference(schema)
    inner: Schema = components[name] if name else schema
    return inner


def source(document: Schema, *, concurrent: bool) -> str:
    """The module, for `AsyncClient` if `concurrent`."""
    found = list(operations(document))
    names = sorted({one.returns for one in found if hasattr(types, one.returns)})
    connection = "AsyncConnection" if concurrent else "Connection"
    iterator = "AsyncIterator" if concurrent else "Iterator"
    lines = [
        HEADER.format(about=f"The operations of the API as methods of `{'AsyncClient' if concurrent else 'Client'}`."),
        f"from collections.abc import {iterator}, Mapping, Sequence",
        "from typing import Any, Literal",
        f"from proximal.sdk.connection import OMITTED, {connection}, Body, Omitted, commas, escaped, given, unchanged",
        f"from proximal.sdk.types import {', '.join(names)}",
        f"class {'Async' if concurrent else ''}Operations({connection}):",
        '    """One method for each operation. A list is read page by page."""',
    ]
    for one in found:
        lines += [*_method(one, concurrent=concurrent), ""]
    return "\n".join(lines)


def _method(one: Operation, *, concurrent: bool) -> Iterator[str]:
    positional = [argument.declaration for argument in one.arguments if not argument.keyword_only]
    named = [argument.declaration for argument in one.arguments if argument.keyword_only]
    declared = ", ".join(["self", *positional, *(["*", *named] if named else [])])
    waits = concurrent and one.shape != "pages"
    yield f"    {'async ' if waits else ''}def {one.name}({declared}) -> {_annotation(one, concurrent=concurrent)}:"
    about = textwrap.indent(one.about.strip(), " " * 8).lstrip()
    yield f'        """{about}\n\n        `{one.method} {one.path}`\n        """'
    path = re.sub(r"{(\w+)[^}]*}", r"{escaped(\1)}", one.path)
    call = [f'"{one.method}"', f'f"{path}"' if path != one.path else f'"{path}"', *_request_parts(one)]
    if one.shape == "pages":
        yield f"        return self._pages({', '.join(call[1:])})"
        return
    request = f"{'await ' if waits else ''}self._json({', '.join(call)})"
    if one.shape == "nothing":
        yield f"        {request}"
    elif one.shape == "list":
        yield f'        return list(({request})["data"])'
    else:
        yield f"        found: {one.returns} = {request}"
        yield "        return found"


def _annotation(one: Operation, *, concurrent: bool) -> str:
    if one.shape == "pages":
        return f"{'Async' if concurrent else ''}Iterator[{one.returns}]"
    return f"list[{one.returns}]" if one.shape == "list" else one.returns


def _request_parts(one: Operation) -> Iterator[str]:
    if query := _pairs(one, "query"):
        yield f"params={query}"
    if fields := _pairs(one, "body"):
        # None has a meaning there, so it is sent, and OMITTED is left out.
        sends_null = one.method == "PATCH" or one.name in NULL_HAS_A_MEANING
        yield f"body={fields if sends_null else f'given({fields})'}"
    yield from (f"body={argument.variable}" for argument in one.arguments if argument.place == "whole")
    if any(argument.place == "condition" for argument in one.arguments):
        yield "headers=unchanged(if_match)"
    if one.name in SLOW:
        yield "timeout=None"


def _pairs(one: Operation, place: str) -> str:
    """The arguments of one place as the source of a dict; empty without any."""
    found = [argument for argument in one.arguments if argument.place == place]
    values = [f"commas({each.variable})" if each.name in COMMA_SEPARATED else each.variable for each in found]
    pairs = [f'"{each.name}": {value}' for each, value in zip(found, values, strict=True)]
    return f"{{{', '.join(pairs)}}}" if pairs else ""


def spec_fields(document: Schema) -> str:
    """The module with the fields of a job spec that name files."""
    found = list(_fields({"$ref": "#/components/schemas/JobSpec"}, document))
    datasets = {path.removeprefix("data."): one["x-dataset"] for path, one in found if "x-dataset" in one}
    paths = dict.fromkeys(path for path, one in found if one.get("x-names", "url") != "url")
    return f"""{SPEC_FIELDS}
DATASETS = {datasets}
\"\"\"The fields of `data` that name datasets, each with the kind of dataset that it takes.\"\"\"
PATHS = {tuple(paths)}
\"\"\"The fields that name models and word lists. `*` stands for every item of a list.\"\"\"
"""


def _fields(node: Schema, document: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Every field below a schema, by its path. `*` stands for every item of a list."""
    node = _followed(node, document)
    for name, inner in node.get("properties", {}).items():
        yield f"{path}{name}", inner
        yield from _fields(inner, document, f"{path}{name}.")
    for part in (*node.get("anyOf", ()), *node.get("oneOf", ())):
        yield from _fields(part, document, path)
    if "items" in node:
        yield from _fields(node["items"], document, f"{path}*.")


def formatted(text: str, file: Path) -> str:
    """The source as ruff would leave it in `file`."""
    for step in (["check", "--fix", "--quiet"], ["format", "--quiet"]):
        command = [sys.executable, "-m", "ruff", *step, "--stdin-filename", str(file), "-"]
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    return text


def main(arguments: list[str]) -> int:
    """Write the files. With `--check`, write nothing, and return 1 if a file is out of date."""
    document = json.loads((ROOT / "frontend" / "openapi.json").read_text())
    sources = {
        "operations.py": source(document, concurrent=False),
        "async_operations.py": source(document, concurrent=True),
        "spec_fields.py": spec_fields(document),
        "nulls.py": COPIED + NULLS.read_text(),
    }
    stale = 0
    for name, unformatted in sources.items():
        file = HERE / name
        text = formatted(unformatted, file)
        if "--check" not in arguments:
            file.write_text(text)
        elif file.read_text() != text:
            sys.stderr.write(f"{file.relative_to(ROOT)} is out of date: run `make openapi`\n")
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
