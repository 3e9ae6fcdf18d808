"""`docs/reference/spec.md`: every field of the job spec."""

from collections.abc import Iterator

from schemas import Schema, anchor, definition, number, one_line, type_of, words

from trainer.spec import JobSpec
from trainer.spec.facts import LiveKnob, facts_of

INTRODUCTION = """\
# The job spec

<!-- Written by docs/generate from trainer/spec/: change it there, then run `make reference`. -->

The job spec describes a run. It is the body of `POST /v1/jobs` and the TOML or JSON file that `python -m trainer run` takes. Only
`model` and a dataset are required. `stages` lists the stages to run. Unknown fields are refused, with the nearest known name.
`python -m trainer schema` and `GET /v1/schema/job` return the same description as a JSON schema.

```json
{"model": "Qwen/Qwen2.5-0.5B", "data": {"preferences": "ds_…"}}
```

Null turns a field off whose default is a number, such as `ppo.critic.value_clip_range`. TOML has no null: `value_clip_range = { null = true }`
stands for it. JSON may hold `{"null": true}` in place of any field, too. In a merge patch it is the only way to set null, because null itself
restores the default there (RFC 7396). On the command line write `--set ppo.critic.value_clip_range=null`. In TOML and in patches an object that
really is `{"null": true}`, as in a JSON schema with a property named `null`, is written `{ null = [true] }`.

Over REST the fields of `data` are dataset ids. In a file they are paths of JSONL files, relative to that file.
[Datasets](datasets.md) describes their rows.
"""

KINDS = ("Reward", "Judge")
KINDS_INTRODUCTION = """\
## Rewards and judges

An entry of `rewards` is one of these, by its `type`; so are `ppo.online.label_by` and `evaluation.judge`, which may also name
an installed judge. [Rewards and judges](rewards.md) describes their protocols and failures.
"""


KNOBS_INTRODUCTION = """\
## Live knobs

These fields can be changed while their stage runs, by `proximal jobs set`, over REST and in the dashboard.
[PPO](../explanation/ppo.md#live-knobs) describes their effect.

| knob | name | field | largest value of a request |
|---|---|---|---|
"""


def spec_page() -> str:
    schema = JobSpec.model_json_schema()
    parts = [_section(schema, "## The whole", "", schema), *_nested(schema, "", schema)]
    return "\n".join([INTRODUCTION, *parts, *_shared(schema), _knobs(), *_kinds(schema)])


def _nested(schema: Schema, prefix: str, root: Schema) -> Iterator[str]:
    """The sections that stand at one place of the spec, each under its path."""
    for name, field in schema["properties"].items():
        found = definition(field)
        if found and found.endswith("Spec"):
            path = f"{prefix}{name}"
            yield _section(root["$defs"][found], f"## `{path}`", path, root)
            yield from _nested(root["$defs"][found], f"{path}.", root)


def _shared(root: Schema) -> Iterator[str]:
    """The sections that stand at many places, each under its own name."""
    for name in root["$defs"]:
        if "properties" in root["$defs"][name] and not name.endswith(("Spec", *KINDS)):
            yield _section(root["$defs"][name], f"## {words(name)}", "", root)


def _kinds(root: Schema) -> Iterator[str]:
    """Rewards and judges: one section for each `type`."""
    found = [(suffix, one) for suffix in KINDS for name, one in root["$defs"].items() if name.endswith(suffix)]
    yield KINDS_INTRODUCTION
    yield "".join(f"- [`{_tag(one)}`](#{suffix.lower()}-{_tag(one)})\n" for suffix, one in found)
    for suffix, one in found:
        yield _section(one, f"### {suffix} `{_tag(one)}`", "", root)


def _knobs() -> str:
    rows = [
        f"| `{knob.name}` | {knob.label} | `{'.'.join(path)}` | {'that of the field' if knob.most is None else number(knob.most)} |\n"
        for path, knob in facts_of(JobSpec, LiveKnob).items()
    ]
    return KNOBS_INTRODUCTION + "".join(rows)


def _section(schema: Schema, title: str, path: str, root: Schema) -> str:
    rows = [
        _row(name, field, name in schema.get("required", []), path, root)
        for name, field in schema["properties"].items()
    ]
    head = "| field | type | default | meaning |\n|---|---|---|---|"
    return "\n".join([title, "", one_line(schema["description"]), "", head, *rows, ""])


def _row(name: str, field: Schema, required: bool, path: str, root: Schema) -> str:
    found = definition(field)
    own = found is not None and found.endswith("Spec")
    kind = _link(f"{path}.{name}" if path else name) if own else _type(field)
    # A section's description of itself stands at its own heading.
    meaning = field.get("description") or (root["$defs"][found]["description"] if found else "")
    return f"| `{name}` | {kind} | {_default(field, required, own)} | {one_line(meaning)} |"


def _default(field: Schema, required: bool, is_section: bool) -> str:
    if required:
        return "**required**"
    value = field.get("default")
    if value is None:
        return "left out" if "default" in field else "empty"
    if is_section:
        return "all defaults"
    if isinstance(value, dict):
        return "; ".join(f"`{key}` `{number(part)}`" for key, part in value.items())
    if isinstance(value, list):
        return ", ".join(f"`{part}`" for part in value) or "none"
    if value == "":
        return "empty"
    return f"`{str(value).lower() if isinstance(value, bool) else number(value)}`"


def _type(field: Schema) -> str:
    if options := field.get("oneOf"):
        return _kind_link(options)
    if field.get("type") == "array" and (options := field["items"].get("oneOf")):
        return f"list of {_kind_link(options)}"
    if field.get("anyOf") and any("oneOf" in option for option in field["anyOf"]):
        return " or ".join(_type(option) for option in field["anyOf"])
    return type_of(field, _reference)


def _kind_link(options: list[Schema]) -> str:
    judges = any(option["$ref"].endswith("Judge") for option in options)
    return f"[{'reward or judge' if judges else 'reward'}](#rewards-and-judges)"


def _reference(name: str) -> str:
    return f"[{words(name).lower()}](#{anchor(words(name))})"


def _tag(schema: Schema) -> str:
    return str(schema["properties"]["type"]["const"])


def _link(path: str) -> str:
    return f"[`{path}`](#{path.replace('.', '')})"
