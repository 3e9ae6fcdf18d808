"""Checks the JSON schema of a reward, without the network: a schema may refer to its own parts only.

The package `jsonschema` does the work. A bare training machine may lack it, so it is imported when a schema is checked.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from referencing import Resource
    from referencing._core import Resolver

_REFERENCES = ("$ref", "$dynamicRef")


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
        if problem := _dangling(resource, registry.resolver(resource.id() or ""), set()):
            return problem
        Draft202012Validator(schema, registry=registry).is_valid(None)
    except SchemaError as error:
        where = "/".join(str(part) for part in error.absolute_path)
        return f"it is not a JSON schema: {f'{where}: ' if where else ''}{error.message}"
    except Unresolvable as error:
        return _unresolved(error.ref)
    except RecursionError:
        return "it refers to itself endlessly"
    return None


def _dangling(resource: "Resource[Any]", resolver: "Resolver[Any]", seen: set[int]) -> str | None:
    """The first reference that leads to no schema, in this schema and in all that it refers to."""
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
        if problem := _dangling(DRAFT202012.create_resource(found.contents), found.resolver, seen):
            return problem
    parts = ((part, resolver.in_subresource(part)) for part in resource.subresources())
    return next((problem for part in parts if (problem := _dangling(*part, seen))), None)


def _unresolved(reference: str) -> str:
    return (
        f"its reference {reference!r} cannot be resolved. A schema may refer to its own parts only, as #/$defs/name; "
        "nothing is fetched"
    )
