"""Exact match, patterns and JSON schemas."""

import sys
from typing import Any

import pytest
from pydantic import ValidationError

from tests.trainer.rewards.tools import answer
from trainer.errors import RewardError, SpecError
from trainer.rewards.exact import ExactMatch, JsonSchema, Regex, pattern_limit
from trainer.spec import ExactMatchReward, JsonSchemaReward, RegexReward


@pytest.mark.parametrize(
    ("text", "reference", "options", "score"),
    [
        ("Paris", "Paris", {}, 1.0),
        ("  New\n York ", "New York", {}, 1.0),
        ("  New\n York ", "New York", {"ignore_whitespace": False}, 0.0),
        ("paris", "Paris", {}, 0.0),
        ("STRASSE", "straße", {"ignore_case": True}, 1.0),
        ("Paris.", "Paris", {}, 0.0),
        ("", "Paris", {}, 0.0),
    ],
)  # fmt: skip
def test_exact_match(text: str, reference: str, options: dict[str, Any], score: float) -> None:
    assert ExactMatch(ExactMatchReward(type="exact_match", **options)).score([answer(text, reference)]) == [score]


def test_a_pattern_matches_a_part_or_the_whole() -> None:
    texts = [answer("yes"), answer("oh yes!"), answer("no")]
    assert Regex(RegexReward(type="regex", pattern="yes")).score(texts) == [1.0, 1.0, 0.0]
    assert Regex(RegexReward(type="regex", pattern="yes", whole=True)).score(texts) == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("pattern", ["(", "a{99999999999}", "(" * 900 + ")" * 900 + "*+*"])
def test_what_is_no_pattern_is_refused_with_the_spec(pattern: str) -> None:
    with pytest.raises(ValidationError, match="not a regular expression"):
        RegexReward(type="regex", pattern=pattern)


def test_a_pattern_that_backtracks_without_an_end_is_stopped() -> None:
    reward = Regex(RegexReward(type="regex", pattern="(a+)+b"))
    with pytest.raises(RewardError, match="backtracks without an end"), pattern_limit(0.05):
        reward._matches("a" * 60)
    assert reward.score([answer("aab")]) == [1.0]  # and the next search is not


SCHEMA = {"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}}, "required": ["age"]}


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ('{"age": 3}', 1.0),
        (' {"age": 3, "name": "x"}\n', 1.0),
        ('{"age": -3}', 0.0),
        ("{}", 0.0),
        ("[1]", 0.0),
        ('{"age": 3', 0.0),
        ('Here it is: {"age": 3}', 0.0),
        ('{"age": NaN}', 0.0),
        ("[" * 100_000, 0.0),
        ("", 0.0),
    ],
)  # fmt: skip
def test_json_that_a_schema_accepts(text: str, score: float) -> None:
    assert JsonSchema(JsonSchemaReward(type="json_schema", json_schema=SCHEMA)).score([answer(text)]) == [score]


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "objekt"}, "type: 'objekt' is not valid"),
        ({"properties": {"a": {"minimum": "x"}}}, "properties/a/minimum"),
        ({"$ref": "#"}, "refers to itself without an end"),
    ],
)
def test_a_schema_that_is_none_is_refused_before_training(schema: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        JsonSchema(JsonSchemaReward(type="json_schema", json_schema=schema))


def test_no_schema_is_fetched_from_anywhere() -> None:
    schema = {"properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}}
    reward = JsonSchema(JsonSchemaReward(type="json_schema", json_schema=schema))
    with pytest.raises(RewardError, match="refers to what it does not hold"):
        reward.score([answer('{"a": 1}')])


def test_a_missing_package_is_named_before_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(SpecError, match="needs the package `jsonschema`"):
        JsonSchema(JsonSchemaReward(type="json_schema", json_schema=SCHEMA))
