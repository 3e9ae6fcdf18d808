"""Words for JSON schemas: types, bounds and defaults."""

import re
from collections.abc import Callable
from typing import Any

Schema = dict[str, Any]
Link = Callable[[str], str]  # Markdown for the name of a definition
SIGNS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
NAMES = {
    "string": "text",
    "integer": "integer",
    "number": "number",
    "boolean": "true or false",
    "object": "object",
    "null": "null",
}


def type_of(field: Schema, link: Link) -> str:
    """The type of a field with its bounds. Definitions become links."""
    if options := field.get("anyOf", field.get("oneOf")):
        return " or ".join(dict.fromkeys(type_of(option, link) for option in options))
    if "$ref" in field:
        name = definition(field)
        return link(name) if name else "any value"
    if "const" in field or "enum" in field:
        return ", ".join(f"`{value}`" for value in field.get("enum", [field.get("const")]))
    kind = field.get("type")
    if kind == "array":
        return f"list of {type_of(field.get('items', {}), link)}{bounds(field)}"
    inner = field.get("additionalProperties")
    if kind == "object" and isinstance(inner, dict) and (of := type_of(inner, link)) != "any value":
        return f"object of {of}s" if "type" in inner else f"object of {of}"
    return f"{NAMES[kind]}{bounds(field)}" if kind else "any value"


def bounds(field: Schema) -> str:
    found = [f"{sign} {number(field[key])}" for key, sign in SIGNS.items() if key in field]
    if "maxLength" in field:
        found.append(f"at most {field['maxLength']} characters")
    if "minItems" in field:
        found.append(f"at least {field['minItems']} of them")
    return f" {', '.join(found)}" if found else ""


def definition(field: Schema) -> str | None:
    """The name of the definition that a field refers to, directly or as an option; None without one."""
    for option in (field, *field.get("anyOf", [])):
        name: str = option.get("$ref", "").rpartition("/")[2]
        if name and name != "JsonValue":
            return name
    return None


def words(name: str) -> str:
    """`HealthRule` as "Health rule"."""
    return re.sub(r"(?<=[a-z])[A-Z]", lambda found: f" {found[0].lower()}", name)


def number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def one_line(text: str) -> str:
    """A text for a table's cell."""
    return " ".join(text.split()).replace("|", "\\|")


def anchor(heading: str) -> str:
    """The anchor of a heading, on the site and on GitHub."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
