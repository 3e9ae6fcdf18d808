"""Writes what these pages take from the code: `docs/reference/spec.md`, `docs/reference/metrics.md`, the settings in `docs/how-to/deploy.md`, and
the formats in `docs/reference/formats.md`.

    python docs/generate.py            (or `make reference`)

tests/test_docs.py fails when the pages and the code have drifted apart.
"""

import json
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
from data.findings import CODES  # noqa: E402
from data.formats import FORMATS  # noqa: E402
from data.formats.base import Format  # noqa: E402
from data.formats.shown import examples, mapping  # noqa: E402
from trainer.metrics import METRICS, Metric  # noqa: E402
from trainer.spec import STAGES, JobSpec  # noqa: E402

Schema = dict[str, Any]
REFERENCE = ROOT / "docs" / "reference"
SPEC, METRICS_PAGE, FORMATS_PAGE = (REFERENCE / f"{name}.md" for name in ("spec", "metrics", "formats"))
DEPLOYMENT = ROOT / "docs" / "how-to" / "deploy.md"
README = ROOT / "README.md"
INTRODUCTION = """\
# The job spec

<!-- Written by docs/generate.py from trainer/spec/: change it there, then run `make reference`. -->

The job spec describes a run. It is the body of `POST /v1/jobs` and the TOML or JSON file that `python -m trainer run` takes. Only
`model` and a dataset are required; `stages` lists what is done with them. Unknown fields are refused, with the nearest known name.
`python -m trainer schema` and `GET /v1/schema/job` return the same description as a JSON schema.

```json
{"model": "Qwen/Qwen2.5-0.5B", "data": {"preferences": "ds_…"}}
```

Over REST the fields of `data` are dataset ids; in a file they are paths of JSONL files, relative to that file. What those
may hold is in [datasets.md](datasets.md).
"""

KINDS = ("Reward", "Judge")
KINDS_INTRODUCTION = """\
## Rewards and judges

An entry of `rewards` is one of these, by its `type`; so are `ppo.online.label_by` and `evaluation.judge`, which may also name
an installed judge. What they send, expect and do in trouble is in [rewards.md](rewards.md).
"""

METRICS_INTRODUCTION = """\
# Metrics

<!-- Written by docs/generate.py from trainer/metrics/: change it there, then run `make reference`. -->

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
    parts = [_section(schema, "## The whole", "", schema), *_nested(schema, "", schema)]
    return "\n".join([INTRODUCTION, *parts, *_shared(schema), *_kinds(schema)])


def deployment_page(text: str) -> str:
    """The page with a fresh table between its marks."""
    return _between("settings", settings_table(), text)


def formats_page(text: str) -> str:
    """The page with every format and every finding of imports."""
    text = _between("formats", "\n".join(_format(one) for one in FORMATS.values()), text)
    rows = [f"| `{code}` | {severity} | {title} |" for code, (severity, title) in CODES.items()]
    return _between("findings", "\n".join(["| code | severity | what it is |", "|---|---|---|", *rows]) + "\n", text)


def readme(text: str) -> str:
    """The README with the number of formats that are recognised. `custom` is not: the user describes the columns."""
    return re.sub(r"\[\d+ formats\](?=\(docs/reference/formats\.md\))", f"[{len(FORMATS) - 1} formats]", text)


def _between(name: str, content: str, text: str) -> str:
    begin, end = f"<!-- {name}: written by docs/generate.py -->\n", f"<!-- end of {name} -->"
    pattern = f"(?<={re.escape(begin)}).*?(?={re.escape(end)})"
    return re.sub(pattern, lambda _: content, text, flags=re.DOTALL)


def _format(one: Format) -> str:
    link = f" [Source]({one.source})." if one.source else ""
    kinds = ", ".join(f"`{kind}`" for kind in one.kinds)
    blocks = [list(one.example), examples()[one.id]] + ([[mapping(one.id)]] if mapping(one.id) else [])
    shown = ["\n".join(json.dumps(row, ensure_ascii=False) for row in block) for block in blocks]
    becomes = f"becomes\n\n```json\n{shown[1]}\n```\n" + (
        f"\nwith the mapping\n\n```json\n{shown[2]}\n```\n" if shown[2:] else ""
    )
    return f"### `{one.id}`\n\n**{one.title}** ({kinds}). {one.about}{link}\n\n```json\n{shown[0]}\n```\n\n{becomes}"


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
    return f"`{value}`" if value not in ("", []) else "empty"


def _nested(schema: Schema, prefix: str, root: Schema) -> Iterator[str]:
    """The sections that stand at one place of the spec, each under its path."""
    for name, field in schema["properties"].items():
        found = _definition(field)
        if found and found.endswith("Spec"):
            path = f"{prefix}{name}"
            yield _section(root["$defs"][found], f"## `{path}`", path, root)
            yield from _nested(root["$defs"][found], f"{path}.", root)


def _shared(root: Schema) -> Iterator[str]:
    """The sections that stand at many places, each under its own name."""
    for name in root["$defs"]:
        if "properties" in root["$defs"][name] and not name.endswith(("Spec", *KINDS)):
            yield _section(root["$defs"][name], f"## {_words(name)}", "", root)


def _kinds(root: Schema) -> Iterator[str]:
    """Rewards and judges: one section for each `type`."""
    found = [(suffix, one) for suffix in KINDS for name, one in root["$defs"].items() if name.endswith(suffix)]
    yield KINDS_INTRODUCTION
    yield "".join(f"- [`{_tag(one)}`](#{suffix.lower()}-{_tag(one)})\n" for suffix, one in found)
    for suffix, one in found:
        yield _section(one, f"### {suffix} `{_tag(one)}`", "", root)


def _section(schema: Schema, title: str, path: str, root: Schema) -> str:
    rows = [
        _row(name, field, name in schema.get("required", []), path, root)
        for name, field in schema["properties"].items()
    ]
    head = "| field | type | default | meaning |\n|---|---|---|---|"
    return "\n".join([title, "", _one_line(schema["description"]), "", head, *rows, ""])


def _row(name: str, field: Schema, required: bool, path: str, root: Schema) -> str:
    found = _definition(field)
    own = found is not None and found.endswith("Spec")
    kind = _link(f"{path}.{name}" if path else name) if own else _type(field, root)
    # A section's description of itself stands at its own heading.
    meaning = field.get("description") or (root["$defs"][found]["description"] if found else "")
    return f"| `{name}` | {kind} | {_default(field, required, own)} | {_one_line(meaning)} |"


def _default(field: Schema, required: bool, is_section: bool) -> str:
    if required:
        return "**required**"
    value = field.get("default")
    if value is None:
        return "left out" if "default" in field else "empty"
    if is_section:
        return "all defaults"
    if isinstance(value, dict):
        return "; ".join(f"`{key}` `{_number(part)}`" for key, part in value.items())
    if isinstance(value, list):
        return ", ".join(f"`{part}`" for part in value) or "none"
    if value == "":
        return "empty"
    return f"`{str(value).lower() if isinstance(value, bool) else _number(value)}`"


def _type(field: Schema, root: Schema) -> str:
    if options := field.get("anyOf"):
        return " or ".join(_type(option, root) for option in options)
    if options := field.get("oneOf"):
        judges = any(option["$ref"].endswith("Judge") for option in options)
        return f"[{'reward or judge' if judges else 'reward'}](#rewards-and-judges)"
    if "$ref" in field:
        return _reference(field["$ref"].rpartition("/")[2])
    if "const" in field or "enum" in field:
        return ", ".join(f"`{value}`" for value in field.get("enum", [field.get("const")]))
    if field["type"] == "array":
        return f"list of {_type(field['items'], root)}{_bounds(field)}"
    if field["type"] == "object" and "type" in field.get("additionalProperties", {}):
        return f"object of {_type(field['additionalProperties'], root)}s"
    names = {"string": "text", "integer": "integer", "number": "number", "boolean": "true or false"}
    names |= {"object": "object", "null": "null"}
    return f"{names[field['type']]}{_bounds(field)}"


def _reference(name: str) -> str:
    return f"[{_words(name).lower()}](#{_words(name).lower().replace(' ', '-')})"


def _tag(schema: Schema) -> str:
    return str(schema["properties"]["type"]["const"])


def _words(name: str) -> str:
    """`HealthRule` as "Health rule"."""
    return re.sub(r"(?<=[a-z])[A-Z]", lambda found: f" {found[0].lower()}", name)


def _bounds(field: Schema) -> str:
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    found = [f"{sign} {_number(field[key])}" for key, sign in signs.items() if key in field]
    if "maxLength" in field:
        found.append(f"at most {field['maxLength']} characters")
    if "minItems" in field:
        found.append(f"at least {field['minItems']} of them")
    return f" {', '.join(found)}" if found else ""


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _definition(field: Schema) -> str | None:
    """The name of the one section that a field holds, if it holds one."""
    for option in (field, *field.get("anyOf", [])):
        name: str = option.get("$ref", "").rpartition("/")[2]
        if name and name != "JsonValue":
            return name
    return None


def _link(path: str) -> str:
    return f"[`{path}`](#{path.replace('.', '')})"


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    SPEC.write_text(spec_page(), encoding="utf-8")
    METRICS_PAGE.write_text(metrics_page(), encoding="utf-8")
    DEPLOYMENT.write_text(deployment_page(DEPLOYMENT.read_text(encoding="utf-8")), encoding="utf-8")
    README.write_text(readme(README.read_text(encoding="utf-8")), encoding="utf-8")
    FORMATS_PAGE.write_text(formats_page(FORMATS_PAGE.read_text(encoding="utf-8")), encoding="utf-8")
