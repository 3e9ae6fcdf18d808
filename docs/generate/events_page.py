"""`docs/reference/events.md`: the events that a trainer writes and the platform streams."""

from typing import get_args

from pydantic import BaseModel
from schemas import Schema, anchor, one_line, type_of, words

from trainer.events import Event

INTRODUCTION = """\
# Events

<!-- Written by docs/generate from trainer/events/: change it there, then run `make reference`. -->

A trainer appends one JSON object a line to `events.jsonl`. The worker copies each into the job's events, with a number without gaps.
`GET /v1/jobs/{job_id}/events` lists them and `GET /v1/jobs/{job_id}/stream` sends them live.

Over REST an event has the fields `seq`, `attempt`, `type`, `created_at`, `stage` and `step`. Its `data` holds the fields below. The
platform adds the type `status_changed` with `from`, `to`, `reason` and `error`.
"""


def events_page() -> str:
    kinds = _kinds(Event)
    shared: dict[str, Schema] = {}
    parts = [INTRODUCTION]
    for kind in kinds:
        schema = kind.model_json_schema()
        shared |= schema.get("$defs", {})
        parts.append(_section(f"## `{schema['properties']['type']['const']}`", schema, leave_out={"type", "at"}))
    parts.append("## Parts of events\n")
    for name in sorted(shared):
        if "properties" in shared[name]:
            parts.append(_section(f"### {words(name)}", shared[name], leave_out=set()))
    return "\n".join(parts)


def _kinds(union: object) -> list[type[BaseModel]]:
    """The models of a discriminated union, in the order of the source."""
    found: list[type[BaseModel]] = []
    for part in get_args(union):
        if isinstance(part, type) and issubclass(part, BaseModel):
            found.append(part)
        else:
            found += _kinds(part)
    return found


def _section(heading: str, schema: Schema, leave_out: set[str]) -> str:
    lines = [heading, "", one_line(schema.get("description", "")), ""]
    fields = {name: field for name, field in schema["properties"].items() if name not in leave_out}
    if fields:
        lines += ["| field | type | meaning |", "|---|---|---|"]
        lines += [
            f"| `{name}` | {type_of(field, _link)} | {one_line(field.get('description', ''))} |"
            for name, field in fields.items()
        ]
        lines.append("")
    return "\n".join(lines)


def _link(name: str) -> str:
    return f"[{words(name).lower()}](#{anchor(words(name))})"
