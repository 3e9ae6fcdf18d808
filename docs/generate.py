"""Writes what these pages take from the code: `docs/spec.md`, `docs/metrics.md`, and the settings in `docs/deployment.md`.

    python docs/generate.py            (or `make docs`)

tests/test_docs.py fails when the pages and the code have drifted apart.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from pydantic import AliasChoices  # noqa: E402
from pydantic_core import PydanticUndefined  # noqa: E402

from core.settings import Settings  # noqa: E402
from trainer.metrics import METRICS, Metric  # noqa: E402
from trainer.spec import STAGES, JobSpec  # noqa: E402

Schema = dict[str, Any]
SPEC, METRICS_PAGE, DEPLOYMENT = (ROOT / "docs" / f"{name}.md" for name in ("spec", "metrics", "deployment"))
BEGIN, END = "<!-- settings: written by docs/generate.py -->", "<!-- end of settings -->"
INTRODUCTION = """\
# The job spec

<!-- Written by docs/generate.py from trainer/spec.py: change it there, then run `make docs`. -->

One description of a run, read by everybody: it is the body of `POST /v1/jobs`, the TOML or JSON file that
`python -m trainer run` takes, the form in the dashboard, and this page. Only `model`, `data.preferences` and `ppo` (which
may be `{}`) have to be given. Unknown fields are refused, with the nearest known name. The same as a JSON schema:
`python -m trainer schema`, or `GET /v1/schema/job`.

```json
{"model": "Qwen/Qwen2.5-0.5B", "data": {"preferences": "ds_…"}, "ppo": {}}
```

Over REST the fields of `data` are dataset ids; in a file they are paths of JSONL files, relative to that file. What those
may hold is in [datasets.md](datasets.md).
"""


METRICS_INTRODUCTION = """\
# Metrics

<!-- Written by docs/generate.py from trainer/metrics/: change it there, then run `make docs`. -->

Every number that a run reports, as the dashboard shows it and `GET /v1/reference/metrics` lists it. Names follow TRL and the
N+ implementation details paper. Means over tokens are over response tokens only; padding never counts. What a healthy range
says is a rule of thumb, not a verdict. Everything under `time/` is a clock reading; all else is the same, bit for bit, when a
CPU run is repeated or resumed.
"""


def metrics_page() -> str:
    return "\n".join([METRICS_INTRODUCTION, *(_stage_metrics(stage) for stage in STAGES)])


def _stage_metrics(stage: str) -> str:
    rows = [_metric_row(metric) for metric in METRICS if metric.stage == stage]
    return "\n".join([f"## `{stage}`", "", "| metric | formula | meaning | healthy |", "|---|---|---|---|", *rows, ""])


def _metric_row(metric: Metric) -> str:
    meaning = _one_line(f"{metric.meaning} {metric.advice}")
    return f"| `{metric.name}`<br>{metric.label} | {_one_line(metric.formula)} | {meaning} | {_range(metric.healthy)} |"


def _range(healthy: tuple[float | None, float | None] | None) -> str:
    if healthy is None:
        return ""
    low, high = healthy
    return f"≤ {high:g}" if low is None else f"≥ {low:g}" if high is None else f"{low:g} to {high:g}"


def spec_page() -> str:
    schema = JobSpec.model_json_schema()
    sections = [_section(schema, "", schema), *_nested(schema, "", schema)]
    return "\n".join([INTRODUCTION, *sections])


def deployment_page(text: str) -> str:
    """The page with a fresh table between its marks."""
    return re.sub(f"(?<={re.escape(BEGIN)}\n).*?(?={re.escape(END)})", settings_table(), text, flags=re.DOTALL)


def settings_table() -> str:
    lines = ["| variable | default | meaning |", "|---|---|---|"]
    for name, field in Settings.model_fields.items():
        alias = field.validation_alias
        variable = alias.choices[0] if isinstance(alias, AliasChoices) else f"PROXIMAL_{name.upper()}"
        lines.append(f"| `{variable}` | {_setting_default(field.default)} | {field.description} |")
    return "\n".join(lines) + "\n"


def _setting_default(value: Any) -> str:
    if value is PydanticUndefined:
        return "required"
    if isinstance(value, Path) and value.is_relative_to(ROOT):
        return f"`{value.relative_to(ROOT).as_posix()}` beside the code"
    return f"`{value}`" if value != "" else "empty"


def _nested(schema: Schema, prefix: str, root: Schema) -> Iterator[str]:
    for name, field in schema["properties"].items():
        if section := _definition(field, root):
            path = f"{prefix}{name}"
            yield _section(section, path, root)
            yield from _nested(section, f"{path}.", root)


def _section(schema: Schema, path: str, root: Schema) -> str:
    title = f"## `{path}`" if path else "## The whole"
    rows = [
        _row(name, field, name in schema.get("required", []), path, root)
        for name, field in schema["properties"].items()
    ]
    head = "| field | type | default | meaning |\n|---|---|---|---|"
    return "\n".join([title, "", _one_line(schema["description"]), "", head, *rows, ""])


def _row(name: str, field: Schema, required: bool, path: str, root: Schema) -> str:
    section = _definition(field, root)
    kind = _link(f"{path}.{name}" if path else name) if section else _type(field, root)
    # A section's description of itself stands at its own heading.
    meaning = field.get("description") or (section or {}).get("description", "")
    return f"| `{name}` | {kind} | {_default(field, required, bool(section))} | {_one_line(meaning)} |"


def _default(field: Schema, required: bool, is_section: bool) -> str:
    if required:
        return "**required**"
    if is_section:
        return "left out" if field["default"] is None else "all defaults"
    value = field["default"]
    if value is None:
        return "left out"
    if value == "":
        return "empty"
    return f"`{str(value).lower() if isinstance(value, bool) else _number(value)}`"


def _type(field: Schema, root: Schema) -> str:
    if options := field.get("anyOf"):
        return " or ".join(_type(option, root) for option in options)
    if "const" in field or "enum" in field:
        return ", ".join(f"`{value}`" for value in field.get("enum", [field.get("const")]))
    names = {"string": "text", "integer": "integer", "number": "number", "boolean": "true or false"}
    names |= {"object": "object", "null": "null"}
    return f"{names[field['type']]}{_bounds(field)}"


def _bounds(field: Schema) -> str:
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    found = [f"{sign} {_number(field[key])}" for key, sign in signs.items() if key in field]
    if "maxLength" in field:
        found.append(f"at most {field['maxLength']} characters")
    return f" {', '.join(found)}" if found else ""


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _definition(field: Schema, root: Schema) -> Schema | None:
    """The section that a field holds, if it holds one."""
    for option in (field, *field.get("anyOf", [])):
        name = option.get("$ref", "").rpartition("/")[2]
        if name.endswith("Spec"):
            found: Schema = root["$defs"][name]
            return found
    return None


def _link(path: str) -> str:
    return f"[`{path}`](#{path.replace('.', '')})"


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    SPEC.write_text(spec_page(), encoding="utf-8")
    METRICS_PAGE.write_text(metrics_page(), encoding="utf-8")
    DEPLOYMENT.write_text(deployment_page(DEPLOYMENT.read_text(encoding="utf-8")), encoding="utf-8")
