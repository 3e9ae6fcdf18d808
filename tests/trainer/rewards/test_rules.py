"""Exact match, patterns and JSON schemas."""

import math
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.trainer.rewards.tools import answer, assert_missing
from trainer.errors import DataError, SpecError
from trainer.rewards.missing import NoValue
from trainer.rewards.rules import (
    ExactMatch,
    JsonSchema,
    Length,
    Lexicon,
    Regex,
    build_lexicon,
    pattern_limit,
    read_lexicon,
)
from trainer.spec import ExactMatchReward, JsonSchemaReward, LengthReward, LexiconReward, RegexReward


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
    texts = [answer("yes"), answer("oh yes!"), answer("no"), answer("yes!"), answer("oh yes")]
    assert Regex(RegexReward(type="regex", pattern="yes")).score(texts) == [1.0, 1.0, 0.0, 1.0, 1.0]
    assert Regex(RegexReward(type="regex", pattern="yes", whole=True)).score(texts) == [1.0, 0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("pattern", ["(", "a{99999999999}", "(" * 900 + ")" * 900 + "*+*"])
def test_pattern_reward_invalid_regex_is_refused(pattern: str) -> None:
    with pytest.raises(ValidationError, match="not a regular expression"):
        RegexReward(type="regex", pattern=pattern)


def test_pattern_limit_stops_a_pattern_that_backtracks() -> None:
    reward = Regex(RegexReward(type="regex", pattern="(a+)+b"))
    with pytest.raises(NoValue) as caught, pattern_limit(0.05):
        reward._matches("a" * 60)
    assert_missing(caught.value.missing, "time_out", "because it backtracks")
    assert reward.score([answer("aab")]) == [1.0]  # and the next search is not


def nested(depth: int) -> dict[str, Any]:
    return {"allOf": [nested(depth - 1)]} if depth else {}


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
        ({"$ref": "#"}, "refers to itself endlessly"),
        ({"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"$ref": "#/$defs/a"}}}, "refers to itself endlessly"),
        ({"$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}}}, "itself endlessly"),
        ({"if": {"type": "string"}, "then": {"$ref": "#"}}, "refers to itself endlessly"),
        (nested(100), "nested too deeply"),
        ({"properties": {"a": {"pattern": "["}}}, "is not a 'regex'"),
        ({"$ref": "#/$defs/none"}, "'#/\\$defs/none' cannot be resolved"),
        ({"properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}}, "nothing is fetched"),
        ({"$ref": "#/definitions/a", "definitions": {"a": {"items": {"$ref": "#/b"}}}}, "'#/b' cannot be resolved"),
        ({"title": "a", "not": {"$ref": "#/title"}}, "leads to no schema"),
    ],
)
def test_a_schema_that_is_none_is_refused_by_the_spec(
    schema: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValidationError, match=said):
        JsonSchemaReward(type="json_schema", json_schema=schema)
    monkeypatch.setattr("trainer.spec.rewards.schema_problem", lambda _: None)  # a machine without the package
    with pytest.raises(SpecError, match=said):
        JsonSchema(JsonSchemaReward(type="json_schema", json_schema=schema))


def test_integer_too_large_to_divide_scores_nothing() -> None:
    reward = JsonSchema(JsonSchemaReward(type="json_schema", json_schema={"multipleOf": 0.5}))
    assert reward.score([answer("1" * 400), answer("1.5"), answer("1.2")]) == [0, 1, 0]


def test_schema_may_refer_to_its_own_parts() -> None:
    tree = {"type": "object", "properties": {"left": {"$ref": "#/$defs/tree"}, "value": {"$ref": "#number"}}}
    schema = {"$ref": "#/$defs/tree", "$defs": {"tree": tree, "number": {"$anchor": "number", "type": "number"}}}
    reward = JsonSchema(JsonSchemaReward(type="json_schema", json_schema=schema))
    assert reward.score([answer('{"left": {"value": 1}}'), answer('{"left": {"value": "1"}}')]) == [1, 0]


def test_a_missing_package_is_named_before_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(SpecError, match="needs the package `jsonschema`"):
        JsonSchema(JsonSchemaReward(type="json_schema", json_schema=SCHEMA))


# Length and sentiment.
@pytest.mark.parametrize(
    ("unit", "finished", "score"),
    [
        ("words", True, -0.25),  # 3 of 4
        ("characters", True, -1.75),  # 11 of 4
        ("tokens", True, -1.75),  # 11 and an EOS, which is not counted
        ("tokens", False, -1.75),  # 11 and no EOS
    ],
)
def test_distance_from_the_target(unit: str, finished: bool, score: float) -> None:
    reward = Length(LengthReward.model_validate({"type": "length", "target": 4, "unit": unit}))
    assert reward.score([answer("one two six", finished=finished)]) == [score]
    assert reward.score([answer("")]) == [-1.0]


def test_the_normalised_sum_of_valences() -> None:
    reward = Lexicon({"good": 1.9, "bad": -2.5, ":)": 2.0})
    scores = reward.score([answer("Good, GOOD!"), answer("a bad day :)"), answer("nothing"), answer("")])
    assert scores[0] == pytest.approx(3.8 / math.sqrt(3.8**2 + 15))
    assert scores[1] == pytest.approx(-0.5 / math.sqrt(0.25 + 15))
    assert scores[2:] == [0.0, 0.0]


@given(st.lists(st.sampled_from(["good", "bad", "day"]), max_size=200))
def test_sentiment_stays_within_1_and_turns_with_its_words(words: list[str]) -> None:
    score = Lexicon({"good": 1.9, "bad": -1.9}).score([answer(" ".join(words))])[0]
    turned = Lexicon({"good": -1.9, "bad": 1.9}).score([answer(" ".join(words))])[0]
    assert -1 < score < 1 and turned == pytest.approx(-score)
    assert (score > 0) == (words.count("good") > words.count("bad"))


def test_a_lexicon_in_vaders_layout_reads_as_it_is(tmp_path: Path) -> None:
    """A line has the word, its mean valence, the deviation, and the ratings of ten people."""
    path = tmp_path / "lexicon.txt"
    path.write_text(
        ":)\t2.0\t1.18322\t[2, 2, 1, 1, 1, 1, 4, 3, 4, 1]\ngood\t1.9\t0.9434\t[2, 1, 1, 3, 2, 4, 2, 2, 1, 1]\n"
    )
    assert read_lexicon(path) == {":)": 2.0, "good": 1.9}
    reward = build_lexicon(LexiconReward(type="lexicon", path=str(path)))
    # Published for VADER itself, in a sentence without negation, capitals or emphasis.
    assert reward.score([answer("The book was good.")])[0] == pytest.approx(0.4404, abs=1e-4)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("good\t1.9\nbad", "line 2: needs a word, a tab and its valence"),
        ("good\tvery", "line 1: needs a word"),
        ("good\tnan", "line 1: nan is not a finite number"),
        ("\n", "no words in it"),
    ],
)
def test_a_lexicon_that_is_none_names_its_line(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "words.txt").write_text(content)
    with pytest.raises(DataError, match=said):
        read_lexicon(tmp_path / "words.txt")


def test_a_lexicon_that_is_not_there() -> None:
    with pytest.raises(DataError, match=r"/nowhere\.txt: No such file"):
        build_lexicon(LexiconReward(type="lexicon", path="/nowhere.txt"))


@pytest.mark.parametrize("source", [{}, {"path": "x", "words": {"a": 1.0}}])
def test_lexicon_with_path_and_words_or_neither_is_refused(source: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="give either `path` or `words`"):
        LexiconReward.model_validate({"type": "lexicon", **source})


@pytest.mark.parametrize(("given", "read"), [(10**22, 1e22), (-(2**64), -(2.0**64)), (2**63 - 1, 2**63 - 1), (10**22 + 1, 10**22 + 1), (10**400, 10**400), (True, True)])  # fmt: skip
def test_a_large_float_of_a_schema_survives_the_database(given: int, read: float) -> None:
    """PostgreSQL returns the float 1e22 of a JSON column as an integer, and the platform refuses integers above 64 bits."""
    reward = JsonSchemaReward.model_validate({"type": "json_schema", "json_schema": {"enum": [None, {"a": given}]}})
    (_, read_back) = reward.model_dump()["json_schema"]["enum"]
    assert repr(read_back) == repr({"a": read})
