"""Checks the JSON schema of a reward, without the network: a schema may refer to its own parts only.

The package `jsonschema` does the work. A bare training machine may lack it, so it is imported when a schema is checked.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from referencing import Resource
    from referencing._core import Resolver

_REFERENCES = ("$ref", "$dynamicRef")
_IN_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
"""Keywords, beside `dependentSchemas`, whose schemas are applied to the same value, not to a part of it."""
_LARGEST = 2**63 - 1
_FLOATS_UNTIL = 2**1023
"""`float` takes every integer up to this one."""


def with_floats(value: Any) -> Any:
    """The JSON value with floats in place of the equal integers above 64 bits: JSON in PostgreSQL returns 1e22 as an integer."""
    if isinstance(value, dict):
        return {name: with_floats(item) for name, item in value.items()}
    if isinstance(value, list):
        return [with_floats(item) for item in value]
    is_large = isinstance(value, int) and _LARGEST < abs(value) <= _FLOATS_UNTIL
    return float(value) if is_large and float(value) == value else value


def schema_problem(schema: dict[str, Any]) -> str | None:
    """The reason why no response can be checked by this schema; None for a usable one.

    Raises ImportError without the package `jsonschema`.
    """
    from jsonschema import Draft202012Validator, SchemaError
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    try:
        Draft202012Validator.check_schema(schema)
        resource = DRAFT202012.create_resource(schema)
        registry = Registry().with_resource(resource.id() or "", resource)
        if problem := _faulty_reference(resource, registry.resolver(resource.id() or ""), set(), set()):
            return problem
        Draft202012Validator(schema, registry=registry).is_valid(None)
    except SchemaError as error:
        where = "/".join(str(part) for part in error.absolute_path)
        return f"it is not a JSON schema: {f'{where}: ' if where else ''}{error.message}"
    except Unresolvable as error:
        return _unresolved(error.ref)
    except RecursionError:
        return "it is nested too deeply"
    return None


def _faulty_reference(
    resource: "Resource[Any]", resolver: "Resolver[Any]", seen: set[int], acyclic: set[int]
) -> str | None:
    """The first reference that leads to no schema or back to its own, in this schema and in all that it refers to."""
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    schema = resource.contents
    if not isinstance(schema, dict) or id(schema) in seen:
        return None
    seen.add(id(schema))
    for reference in (schema[name] for name in _REFERENCES if name in schema):
        try:
            found = resolver.lookup(reference)
        except Unresolvable:
            return _unresolved(reference)
        if not isinstance(found.contents, dict | bool):
            return f"its reference {reference!r} leads to no schema"
        target = DRAFT202012.create_resource(found.contents)
        if problem := _faulty_reference(target, found.resolver, seen, acyclic):
            return problem
    parts = [(part, resolver.in_subresource(part)) for part in resource.subresources()]
    if problem := next(filter(None, (_faulty_reference(*part, seen, acyclic) for part in parts)), None):
        return problem
    return "it refers to itself endlessly" if _is_endless(schema, resolver, frozenset(), acyclic) else None


def _is_endless(schema: dict[str, Any], resolver: "Resolver[Any]", above: frozenset[int], acyclic: set[int]) -> bool:
    """Whether the schema is applied to a value again before a part of the value is taken. `above`: the schemas so far."""
    if id(schema) in above:
        return True
    if id(schema) in acyclic:
        return False
    inner = list(_applied_in_place(schema, resolver))
    if any(_is_endless(*one, above | {id(schema)}, acyclic) for one in inner):
        return True
    acyclic.add(id(schema))
    return False


def _applied_in_place(
    schema: dict[str, Any], resolver: "Resolver[Any]"
) -> Iterator[tuple[dict[str, Any], "Resolver[Any]"]]:
    from referencing.jsonschema import DRAFT202012

    for reference in (schema[name] for name in _REFERENCES if name in schema):
        found = resolver.lookup(reference)
        if isinstance(found.contents, dict):
            yield found.contents, found.resolver
    dependent = list(schema.get("dependentSchemas", {}).values())
    for value in (dependent, *(schema[name] for name in _IN_PLACE if name in schema)):
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, dict):
                yield part, resolver.in_subresource(DRAFT202012.create_resource(part))


def _unresolved(reference: str) -> str:
    return (
        f"its reference {reference!r} cannot be resolved. A schema may refer to its own parts only, as #/$defs/name; "
        "nothing is fetched"
    )
