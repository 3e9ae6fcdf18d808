"""Null in TOML, in merge patches and in `--set`: a spec means the same in every form."""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from proximal.errors import ClientError
from proximal.sdk.spec_files import changed_patch, changed_spec, read_spec
from trainer.cli import load_spec
from trainer.spec import JobSpec
from trainer.spec.nulls import as_patch, merge_patch, with_nulls, without_nulls

Schema = dict[str, Any]

SCHEMA = JobSpec.model_json_schema()
BASE = {"model": {"path": "m"}, "data": {"preferences": "p.jsonl"}}
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.just("null") | TEXT, inner, max_size=3),
    max_leaves=8,
)


def toml(value: Any) -> str:
    """A value without null as TOML, with every table inline."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(name)} = {toml(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)


def document(spec: dict[str, Any]) -> str:
    return "".join(f"{toml(name)} = {toml(value)}\n" for name, value in without_nulls(spec).items())


def own(schema: Schema) -> Schema:
    return SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema


def leaves(schema: Schema, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Schema]]:
    """Every field of the schema that is no section, those of optional sections included."""
    for name, inner in schema["properties"].items():
        sections = [one for one in map(own, [inner, *inner.get("anyOf", [])]) if "properties" in one]
        if len(inner.get("anyOf", [])) > 1 or not sections:
            yield (*path, name), inner
        for section in sections:
            yield from leaves(section, (*path, name))


LEAVES = list(leaves(SCHEMA))


def values(schema: Schema) -> st.SearchStrategy[Any]:
    """Values that a JSON schema allows. Patterns are left to the validation."""
    schema = own(schema)
    if alternatives := schema.get("anyOf") or schema.get("oneOf"):
        return st.one_of([values(one) for one in alternatives])
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema.get("enum") or [schema["const"]])
    low, high = schema.get("minimum", schema.get("exclusiveMinimum")), schema.get("maximum")
    match schema.get("type"):
        case "null":
            return st.none()
        case "boolean":
            return st.booleans()
        case "integer":
            return st.integers(0 if low is None else low, 2**31 - 1 if high is None else high)
        case "number":
            return st.floats(0 if low is None else low, high, allow_nan=False, allow_infinity=False)
        case "string":
            return TEXT
        case "array":
            return st.lists(values(schema["items"]), max_size=3)
        case _ if "properties" in schema:
            required = {name: values(schema["properties"][name]) for name in schema.get("required", ())}
            return st.fixed_dictionaries(required | kind_of(schema))
    return st.dictionaries(TEXT, JSON, max_size=2)


def kind_of(schema: Schema) -> dict[str, Any]:
    kind = schema["properties"].get("type", {})
    return {"type": st.just(kind["const"])} if "const" in kind else {}


def put(spec: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    name, *rest = path
    inner = spec.get(name)
    return {**spec, name: put(inner if isinstance(inner, dict) else {}, tuple(rest), value) if rest else value}


def is_valid(spec: dict[str, Any]) -> bool:
    try:
        JobSpec.model_validate(spec)
    except ValidationError:
        return False
    return True


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    """A valid spec with some fields of the whole schema, null included."""
    spec: dict[str, Any] = dict(BASE)
    for path, schema in draw(st.lists(st.sampled_from(LEAVES), max_size=12)):
        changed = put(spec, path, draw(values(schema)))
        spec = changed if is_valid(changed) else spec
    return spec


def flags(value: dict[str, Any], path: str = "") -> Iterator[str]:
    """The `--set` options of a spec: one for each field, or for an object with names that hold a dot."""
    for name, one in value.items():
        if (
            isinstance(one, dict)
            and one
            and all(inner and "." not in inner and "=" not in inner and inner == inner.strip() for inner in one)
        ):
            yield from flags(one, f"{path}{name}.")
        else:
            yield f"{path}{name}={json.dumps(one)}"


@given(JSON)
def test_any_json_survives_toml(value: Any) -> None:
    """An object that looks like the notation, such as the schema `{"properties": {"null": true}}`, does too."""
    assert tomllib.loads(document({"value": value})) == {"value": without_nulls(value)}
    assert with_nulls(tomllib.loads(document({"value": value}))) == {"value": value}


@settings(deadline=None, max_examples=60)
@given(specs())
def test_a_spec_is_the_same_as_json_toml_and_options(
    tmp_path_factory: pytest.TempPathFactory, spec: dict[str, Any]
) -> None:
    folder = tmp_path_factory.getbasetemp()
    as_json, as_toml = folder / "spec.json", folder / "spec.toml"
    as_json.write_text(json.dumps(spec), encoding="utf-8")
    as_toml.write_text(document(spec), encoding="utf-8")
    assert load_spec(as_toml) == load_spec(as_json)
    assert read_spec(as_toml) == read_spec(as_json) == changed_spec(None, list(flags(spec))) == spec


@settings(deadline=None, max_examples=60)
@given(specs(), specs())
def test_a_patch_sets_null(before: dict[str, Any], after: dict[str, Any]) -> None:
    """The patch of a spec, over one without its fields, gives the spec. `--set` makes the same patch."""
    assert merge_patch({}, as_patch(after)) == after
    assert merge_patch(merge_patch(before, as_patch(after)), as_patch(after)) == merge_patch(before, as_patch(after))
    assert merge_patch({}, changed_patch(None, list(flags(after)))) == after


@pytest.mark.parametrize("path", [path for path, schema in LEAVES if {"type": "null"} in schema.get("anyOf", [])])
def test_every_field_reads_the_notation_as_null(path: tuple[str, ...]) -> None:
    noted, plain = put(BASE, path, {"null": True}), put(BASE, path, None)
    assert is_valid(noted) == is_valid(plain)
    if is_valid(plain):
        assert JobSpec.model_validate(noted) == JobSpec.model_validate(plain)


def test_null_is_off_where_the_default_is_a_number() -> None:
    clip = JobSpec.model_validate(BASE | {"ppo": {"critic": {"value_clip_range": {"null": True}}}})
    assert clip.ppo.critic.value_clip_range is None
    assert JobSpec.model_validate(BASE).ppo.critic.value_clip_range == 0.2
    stored = {"ppo": {"critic": {"value_clip_range": 0.2, "kind": "separate"}}}
    assert merge_patch(stored, {"ppo": {"critic": {"value_clip_range": {"null": True}}}}) == {
        "ppo": {"critic": {"value_clip_range": None, "kind": "separate"}}
    }
    assert merge_patch(stored, {"ppo": {"critic": {"value_clip_range": None}}}) == {
        "ppo": {"critic": {"kind": "separate"}}
    }


def test_a_schema_of_a_reward_keeps_a_property_named_null() -> None:
    """The schema allows the property `null`; the notation has no meaning inside of JSON that belongs to a field."""
    reward = {"type": "json_schema", "json_schema": {"properties": {"null": True}}}
    (read,) = JobSpec.model_validate(BASE | {"rewards": [reward]}).rewards
    assert read.model_dump()["json_schema"] == {"properties": {"null": True}}
    assert document({"a": {"null": True}}) == '"a" = {"null" = [true]}\n'
    assert document({"a": {"null": [True]}, "b": None}) == '"a" = {"null" = [[true]]}\n"b" = {"null" = true}\n'


@pytest.mark.parametrize(("text", "value"), [("null", None), ("1e-5", 1e-5), ("NaN", "NaN"), ("1e999", "1e999"), ('{"a": 1, "a": 2}', '{"a": 1, "a": 2}'), ('"null"', "null"), ("abc", "abc"), ("a=b", "a=b"), ("", "")])  # fmt: skip
def test_an_option_is_json_or_text(text: str, value: object) -> None:
    assert changed_spec(None, [f"name={text}"]) == {"name": value}


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("s.toml", "a = inf", "inf is no finite number"),
        ("s.toml", "a = [{ b = -nan }]", "-nan is no finite number"),
        ("s.json", '{"a": NaN}', "NaN is no finite number"),
        ("s.json", '{"a": -1e999}', "-1e999 is no finite number"),
        ("s.json", '{"a": {"b": 1, "c": 2, "b": 3}}', "the name 'b' stands twice"),
    ],
)
def test_a_file_with_what_json_cannot_hold_is_refused(name: str, text: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ClientError, match=f"{name}: {fault}"):
        read_spec(tmp_path / name)


def test_null_in_a_json_patch_restores_the_default(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text('{"seed": null}')
    (tmp_path / "p.toml").write_text("seed = { null = true }")
    assert changed_patch(tmp_path / "p.json", ["name=null"]) == {"seed": None, "name": {"null": True}}
    assert changed_patch(tmp_path / "p.toml", []) == {"seed": {"null": True}}


DASHBOARD = Path(__file__).parents[2] / "frontend/spec_texts.json"
"""Specs and the TOML that the dashboard writes for them. Its own test compares the same texts."""


@pytest.mark.parametrize("case", json.loads(DASHBOARD.read_text(encoding="utf-8")))
def test_the_dashboards_toml_is_read(case: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(case["toml"], encoding="utf-8")
    assert read_spec(tmp_path / "spec.toml") == case["spec"]
