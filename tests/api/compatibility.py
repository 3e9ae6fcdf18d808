"""The committed OpenAPI document, and a comparison of two: whether a client of the older one can use the newer one.

`python -m tests.api.compatibility` stores the present document as the released one. Run it for a release only.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from api.openapi import Node, followed

RELEASED = Path(__file__).parent / "released" / "openapi.json"
COMMITTED = Path(__file__).parents[2] / "frontend" / "openapi.json"
"""It equals the generated document, which takes a second to make; `test_openapi.py` compares them once."""
_TEXTS = ("description", "title", "summary", "examples", "example", "default")
_LIMITS = (
    (1, ("maximum", "exclusiveMaximum")), (1, ("maxLength",)), (1, ("maxItems",)),
    (-1, ("minimum", "exclusiveMinimum")), (-1, ("minLength",)), (-1, ("minItems",)),
)  # fmt: skip
"""The names of the limits on one thing. Its sign: a limit is tighter if sign × limit is smaller."""


def committed() -> Node:
    document: Node = json.loads(COMMITTED.read_text())
    return document


def changes(old: Node, new: Node) -> list[str]:
    """Each incompatible change as one line. Empty for additions alone."""
    return list(dict.fromkeys(_Comparison(old, new).run()))


def stripped(node: Any, *, of_properties: bool = False) -> Any:
    """The document without its texts, which may change."""
    if isinstance(node, dict):
        return {
            name: stripped(value, of_properties=name in ("properties", "schemas"))
            for name, value in node.items()
            if of_properties or name not in _TEXTS
        }
    return [stripped(value) for value in node] if isinstance(node, list) else node


class _Comparison:
    def __init__(self, old: Node, new: Node) -> None:
        self._old, self._new = old, new
        self._seen: set[tuple[str, str, bool]] = set()

    def run(self) -> Iterator[str]:
        for path, item in self._old["paths"].items():
            for method, operation in item.items():
                where = f"{method.upper()} {path}"
                now = self._new["paths"].get(path, {}).get(method)
                if now is None:
                    yield f"{where}: removed"
                    continue
                if operation["operationId"] != now["operationId"]:
                    yield f"{where}: operationId {operation['operationId']} became {now['operationId']}"
                yield from self._parameters(operation, now, where)
                yield from self._body(operation, now, where)
                yield from self._responses(operation, now, where)

    def _parameters(self, old: Node, new: Node, where: str) -> Iterator[str]:
        before, now = (_parameters(*side) for side in ((self._old, old), (self._new, new)))
        for key, parameter in before.items():
            if key not in now:
                yield f"{where}: parameter {key[1]} removed"
            else:
                yield from self._schema(parameter["schema"], now[key]["schema"], f"{where} ?{key[1]}", request=True)
        for key, parameter in now.items():
            if parameter.get("required") and not before.get(key, {}).get("required"):
                yield f"{where}: parameter {key[1]} is now required"

    def _body(self, old: Node, new: Node, where: str) -> Iterator[str]:
        before, now = old.get("requestBody", {}), new.get("requestBody", {})
        if now.get("required") and not before.get("required"):
            yield f"{where}: the body is now required"
        yield from self._content(before, now, f"{where} body", request=True)

    def _responses(self, old: Node, new: Node, where: str) -> Iterator[str]:
        for status, response in old["responses"].items():
            if status.startswith("2"):
                if status not in new["responses"]:
                    yield f"{where}: response {status} removed"
                    continue
                before, now = followed(self._old, response), followed(self._new, new["responses"][status])
                yield from self._content(before, now, f"{where} {status}", request=False)

    def _content(self, old: Node, new: Node, where: str, request: bool) -> Iterator[str]:
        for media, content in old.get("content", {}).items():
            if media not in new.get("content", {}):
                yield f"{where}: {media} removed"
                continue
            yield from self._schema(content.get("schema", {}), new["content"][media].get("schema", {}), where, request)

    def _schema(self, old: Node, new: Node, where: str, request: bool) -> Iterator[str]:
        """A request may accept more, and a response may hold more fields. Anything else is reported."""
        pair = (json.dumps(old, sort_keys=True), json.dumps(new, sort_keys=True), request)
        if pair in self._seen:
            return
        self._seen.add(pair)
        before, now = self._resolved(self._old, old), self._resolved(self._new, new)
        if not request and "discriminator" in followed(self._new, new) and len(now) >= len(before):
            return  # new kinds of events are allowed
        yield from self._options(before, now, where, request)
        if len(before) == len(now) == 1:
            yield from self._fields(before[0], now[0], where, request)

    def _options(self, before: list[Node], now: list[Node], where: str, request: bool) -> Iterator[str]:
        """Each alternative that one side may send must be one that the other side can read."""
        sent, read, lost = (before, now, "no longer accepted") if request else (now, before, "new in a response")
        if len(before) == len(now) == 1:
            if not self._same_type(sent[0], read[0]):
                yield f"{where}: type {before[0].get('type')} became {now[0].get('type')}"
            return
        for option in sent:
            if not any(self._fits(option, other, request) for other in read):
                yield f"{where}: {_short(option)} is {lost}"

    def _fits(self, sent: Node, read: Node, request: bool) -> bool:
        old, new = (sent, read) if request else (read, sent)
        copy = _Comparison(self._old, self._new)
        copy._seen = set(self._seen)
        return self._same_type(sent, read) and not any(copy._fields(old, new, "", request))

    @staticmethod
    def _same_type(sent: Node, read: Node) -> bool:
        numbers = sent.get("type") == "integer" and read.get("type") == "number"
        return "type" not in read or numbers or sent.get("type") == read.get("type")

    def _fields(self, old: Node, new: Node, where: str, request: bool) -> Iterator[str]:
        if request:
            yield from _narrowed(old, new, where)
        before, now = old.get("properties", {}), new.get("properties", {})
        for name in before.keys() - now.keys():
            yield f"{where}: field {name} removed"
        for name in set(new.get("required", [])) - set(old.get("required", [])) if request else ():
            yield f"{where}: field {name} is now required"
        for name in set(old.get("required", [])) - set(new.get("required", [])) if not request else ():
            yield f"{where}: field {name} may now be missing"
        for name in before.keys() & now.keys():
            yield from self._schema(before[name], now[name], f"{where}.{name}", request)
        if "items" in old and "items" in new:
            yield from self._schema(old["items"], new["items"], f"{where}[]", request)

    def _resolved(self, document: Node, schema: Node) -> list[Node]:
        """The alternatives of a schema, with references followed."""
        schema = followed(document, schema)
        options = schema.get("anyOf", schema.get("oneOf"))
        if options is None:
            return [schema]
        return [found for option in options for found in self._resolved(document, option)]


def _narrowed(old: Node, new: Node, where: str) -> Iterator[str]:
    values = [option["const"] for option in (old,) if "const" in option] or old.get("enum", [])
    accepted = [option["const"] for option in (new,) if "const" in option] or new.get("enum")
    if accepted is not None and (not values or set(values) - set(accepted)):
        yield f"{where}: values {sorted(map(str, set(values) - set(accepted)))} are no longer accepted"
    for sign, names in _LIMITS:
        before, (*now, name) = _tightest(old, sign, names)[:2], _tightest(new, sign, names)
        if tuple(now) < before:
            yield f"{where}: {name} is now {new[name]}"
    if "pattern" in new and new["pattern"] != old.get("pattern"):
        yield f"{where}: pattern is now {new['pattern']}"
    if new.get("additionalProperties") is False and old.get("additionalProperties") is not False:
        yield f"{where}: further fields are no longer accepted"


def _tightest(schema: Node, sign: int, names: Sequence[str]) -> tuple[float, bool, str]:
    """sign × limit, whether the limit itself is accepted, and its name. Between two equal ones, one that is not accepted is tighter."""
    found = [(sign * schema[name], not name.startswith("exclusive"), name) for name in names if name in schema]
    return min(found, default=(float("inf"), True, ""))


def _short(option: Node) -> str:
    return str(option.get("const", option.get("type", "an alternative")))


def _store() -> None:
    RELEASED.parent.mkdir(exist_ok=True)
    RELEASED.write_text(json.dumps(stripped(committed()), indent=1, sort_keys=True) + "\n")


def _parameters(document: Node, operation: Node) -> dict[tuple[str, str], Node]:
    return {_place(one): one for one in (followed(document, each) for each in operation.get("parameters", []))}


def _place(parameter: Node) -> tuple[str, str]:
    """Names of headers have no case."""
    kind, name = parameter["in"], parameter["name"]
    return kind, name.lower() if kind == "header" else name


if __name__ == "__main__":
    sys.exit(_store())
