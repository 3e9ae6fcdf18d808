"""The API changes by additions only: the present document is compared with the released one."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.api.compatibility import RELEASED, changes, committed, stripped

Node = dict[str, Any]
OLD: Node = {
    "paths": {
        "/a": {
            "post": {
                "operationId": "create_a",
                "parameters": [{"in": "query", "name": "q", "schema": {"type": "integer", "maximum": 10}}],
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/In"}}}},
                "responses": {
                    "201": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Out"}}}}
                },
            }
        }
    },
    "components": {
        "schemas": {
            "In": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string"},
                    "kind": {"type": "string", "enum": ["x", "y"]},
                    "part": {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
                    "size": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                },
            },
            "Out": {
                "type": "object",
                "required": ["id"],
                "properties": {"id": {"type": "string"}, "parent": {"$ref": "#/components/schemas/Out"}},
            },
        }
    },
}


def test_the_api_is_compatible_with_the_released_one() -> None:
    found = changes(json.loads(RELEASED.read_text()), stripped(committed()))
    assert found == [], "docs/explanation/compatibility.md describes the allowed changes"


def changed(change: Callable[[Node, Node, Node], object]) -> list[str]:
    """The changes after `change(operation, In, Out)`."""
    new = copy.deepcopy(OLD)
    shapes = new["components"]["schemas"]
    change(new["paths"]["/a"]["post"], shapes["In"], shapes["Out"])
    return changes(OLD, new)


@pytest.mark.parametrize(
    "change",
    [
        lambda post, body, answer: None,
        lambda post, body, answer: body["properties"].update(more={"type": "string"}),
        lambda post, body, answer: answer["properties"].update(more={"type": "string"}),
        lambda post, body, answer: body["properties"]["kind"]["enum"].append("z"),
        lambda post, body, answer: body.update(required=[]),
        lambda post, body, answer: answer["required"].append("parent"),
        lambda post, body, answer: post["parameters"][0]["schema"].update(maximum=20),
        lambda post, body, answer: post["parameters"][0]["schema"].update(exclusiveMaximum=11),
        lambda post, body, answer: body["properties"]["part"].pop("exclusiveMaximum"),
        lambda post, body, answer: (body["properties"]["part"].pop("exclusiveMaximum"), body["properties"]["part"].update(maximum=1)),
        lambda post, body, answer: post["parameters"].append({"in": "query", "name": "r", "schema": {}}),
        lambda post, body, answer: body["properties"]["name"].update(
            {"anyOf": [{"type": "string"}, {"type": "null"}]}
        ),
    ],
)  # fmt: skip
def test_compatibility_allows_additions(change: Callable[[Node, Node, Node], object]) -> None:
    assert changed(change) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda post, body, answer: post.update(operationId="b"), "operationId create_a became b"),
        (lambda post, body, answer: post["parameters"].clear(), "parameter q removed"),
        (lambda post, body, answer: post["parameters"][0].update(required=True), "parameter q is now required"),
        (lambda post, body, answer: post["parameters"][0]["schema"].update(maximum=5), "maximum is now 5"),
        (
            lambda post, body, answer: post["parameters"][0]["schema"].update(exclusiveMaximum=10),
            "exclusiveMaximum is now 10",
        ),
        (lambda post, body, answer: body["properties"]["part"].update(exclusiveMinimum=0), "exclusiveMinimum is now 0"),
        (lambda post, body, answer: body["required"].append("size"), "field size is now required"),
        (lambda post, body, answer: body["properties"].pop("size"), "field size removed"),
        (lambda post, body, answer: body["properties"]["kind"]["enum"].remove("y"), "values ['y'] are no longer"),
        (lambda post, body, answer: body["properties"]["name"].update(type="integer"), "string became integer"),
        (lambda post, body, answer: body["properties"]["size"]["anyOf"].pop(), "null is no longer accepted"),
        (lambda post, body, answer: body.update(additionalProperties=False), "further fields"),
        (lambda post, body, answer: answer["properties"].pop("id"), "field id removed"),
        (lambda post, body, answer: answer["required"].clear(), "field id may now be missing"),
        (
            lambda post, body, answer: answer["properties"].update(
                id={"anyOf": [{"type": "string"}, {"type": "null"}]}
            ),
            "null is new in a response",
        ),
        (lambda post, body, answer: post["responses"].clear(), "response 201 removed"),
    ],
)
def test_compatibility_reports_each_breaking_change(
    change: Callable[[Node, Node, Node], object], expected: str
) -> None:
    (found,) = changed(change)
    assert expected in found


def test_compatibility_follows_references_to_components() -> None:
    new = copy.deepcopy(OLD)
    post = new["paths"]["/a"]["post"]
    new["components"] |= {"parameters": {"q": post["parameters"][0]}, "responses": {"Out": post["responses"]["201"]}}
    post["parameters"] = [{"$ref": "#/components/parameters/q"}]
    post["responses"] = {"201": {"$ref": "#/components/responses/Out"}}
    assert changes(OLD, new) == []
    new["components"]["responses"]["Out"]["content"].clear()
    assert changes(OLD, new) == ["POST /a 201: application/json removed"]


def test_compatibility_reports_a_removed_route() -> None:
    assert changes(OLD, {"paths": {}, "components": {"schemas": {}}}) == ["POST /a: removed"]
