"""The contract with other programs: complete, described, and as committed."""

import json
import re
import subprocess
import sys
import typing
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from jsonschema import Draft202012Validator

from api.app import create_app
from api.openapi import Node, describe, followed, text
from api.problems import documented
from core.errors import NotFound
from core.settings import Settings
from tests.api.compatibility import COMMITTED, committed
from trainer.events import Event

REPOSITORY = Path(__file__).parents[2]
SCHEMA = committed()
EVENTS = typing.get_args(Event)[0]
OPERATIONS = [(method, path) for path, item in SCHEMA["paths"].items() for method in item]
REFERENCE = re.compile(r'"\$ref": "#/components/([^"]+)"')


def responses_of(method: str, path: str) -> Node:
    """The responses by status, with references followed."""
    return {status: followed(SCHEMA, one) for status, one in SCHEMA["paths"][path][method]["responses"].items()}


def parameters_of(method: str, path: str) -> list[Node]:
    return [followed(SCHEMA, one) for one in SCHEMA["paths"][path][method].get("parameters", [])]


def test_the_committed_schema_is_the_generated_one() -> None:
    assert text(create_app()) == COMMITTED.read_text(), "run: python -m api openapi > frontend/openapi.json"


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_error_is_a_documented_problem(method: str, path: str) -> None:
    errors = {status: answer for status, answer in responses_of(method, path).items() if int(status) >= 400}
    if path.startswith("/v1"):
        assert {"500", "503", "507"} <= errors.keys()
        for answer in errors.values():
            (content,) = answer["content"].items()
            assert content[0] == "application/problem+json"
            assert content[1]["schema"] == {"$ref": "#/components/schemas/Problem"}
            assert set(content[1]["examples"]) == set(re.findall(r"^`(\w+)`:", answer["description"], re.M))
        is_made_by_name = (method, path) == ("put", "/v1/view-settings/{name}")
        assert "401" in errors and ("404" in errors) >= ("{" in path and not is_made_by_name)


def _wrong_examples() -> Iterator[str]:
    """Each request body or error whose examples are missing or do not fit their schema."""
    for method, path in (one for one in OPERATIONS if one[1].startswith("/v1")):
        operation = SCHEMA["paths"][path][method]
        bodies = operation.get("requestBody", {}).get("content", {})
        errors = [
            one["content"]
            for status, one in responses_of(method, path).items()
            if int(status) >= 400 and "content" in one
        ]
        for media, content in ((media, one) for group in (bodies, *errors) for media, one in group.items()):
            examples = content.get("examples") or {}
            if not examples:
                yield f"{method} {path}: {media} has no example"
            for name, example in examples.items():
                if "$ref" in example:
                    example = SCHEMA["components"]["examples"][name]
                if media == "application/octet-stream":
                    continue
                validator = Draft202012Validator(content["schema"] | {"components": SCHEMA["components"]})
                yield from (
                    f"{method} {path}: {name}: {one.message}" for one in validator.iter_errors(example["value"])
                )


@pytest.mark.parametrize(
    ("method", "path"), [one for one in OPERATIONS if "requestBody" in SCHEMA["paths"][one[1]][one[0]]]
)
def test_operation_with_a_body_documents_400_and_413(method: str, path: str) -> None:
    responses = responses_of(method, path)
    for status, code in (("400", "bad_request"), ("413", "too_large")):
        assert code in responses[status]["content"]["application/problem+json"]["examples"]


def test_every_body_and_error_has_a_valid_example() -> None:
    assert list(_wrong_examples()) == []


def test_conditions_and_etags_are_documented() -> None:
    """Each PATCH, and each DELETE of an object with an ETag."""
    conditional = [(method, path) for method, path in OPERATIONS if "412" in SCHEMA["paths"][path][method]["responses"]]
    assert {path for method, path in OPERATIONS if method == "patch"} <= {path for _, path in conditional}
    for method, path in conditional:
        (condition,) = [one for one in parameters_of(method, path) if one["name"] == "If-Match"]
        assert condition["in"] == "header" and not condition.get("required")
        assert method == "delete" or "ETag" in responses_of(method, path)["200"]["headers"]
        assert "ETag" in responses_of("get", path)["200"]["headers"]


def test_documented_headers_are_sent(client: TestClient) -> None:
    listed = client.get("/v1/templates").headers
    assert [name for name in responses_of("get", "/v1/templates")["200"]["headers"] if name not in listed] == []
    key = {"Idempotency-Key": "one-1"}
    first, again = (client.post("/v1/templates", json={"name": "one"}, headers=key) for _ in range(2))
    replayed = {"Idempotency-Replayed"}
    names = set(responses_of("post", "/v1/templates")["201"]["headers"])
    assert {name for name in names if name in again.headers} == names
    assert {name for name in names if name in first.headers} == names - replayed


def _undescribed(shapes: dict[str, Any]) -> Iterator[str]:
    for name, shape in shapes.items():
        for field, schema in shape.get("properties", {}).items():
            # A field without a description takes that of the schema that it refers to.
            target = shapes.get(schema.get("$ref", "").rpartition("/")[2], {})
            if not (schema.get("description") or target.get("description")):
                yield f"{name}.{field}"


def test_every_field_and_parameter_is_described() -> None:
    assert list(_undescribed(SCHEMA["components"]["schemas"])) == []
    parameters = [
        f"{method} {path} {parameter['name']}"
        for method, path in OPERATIONS
        for parameter in parameters_of(method, path)
        if not parameter.get("description") and parameter["in"] != "path"
    ]
    assert parameters == []
    assert [path for method, path in OPERATIONS if not SCHEMA["paths"][path][method].get("description")] == []


def test_every_reference_leads_somewhere() -> None:
    text = COMMITTED.read_text()
    components = {f"{kind}/{name}" for kind, group in SCHEMA["components"].items() for name in group}
    assert set(REFERENCE.findall(text)) <= components
    assert len(REFERENCE.findall(text)) == text.count('"$ref"')


def _inline(kind: str) -> Iterator[Node]:
    """The responses, or the header parameters, that operations hold themselves."""
    for operation in (one for item in SCHEMA["paths"].values() for one in item.values()):
        held = operation["responses"].values() if kind == "responses" else operation.get("parameters", [])
        yield from (one for one in held if "$ref" not in one and one.get("in", "header") == "header")


@pytest.mark.parametrize("kind", ["responses", "parameters"])
def test_what_operations_repeat_is_a_shared_component(kind: str) -> None:
    inline = Counter(json.dumps(one, sort_keys=True) for one in _inline(kind))
    assert [one for one, count in inline.items() if count > 1] == []
    shared = {json.dumps(one, sort_keys=True) for one in SCHEMA["components"][kind].values()}
    assert len(shared) == len(SCHEMA["components"][kind]) and not shared & inline.keys()


@pytest.mark.parametrize("kind", ["responses", "parameters", "headers", "examples"])
def test_every_shared_component_is_used(kind: str) -> None:
    uses = Counter(REFERENCE.findall(COMMITTED.read_text()))
    least = 2 if kind in ("responses", "parameters") else 1
    assert [name for name in SCHEMA["components"][kind] if uses[f"{kind}/{name}"] < least] == []


def test_errors_of_the_same_codes_are_the_same_response() -> None:
    """A second order of the codes would be a second component, with a name that differs in the order alone."""
    orders: dict[frozenset[str], set[tuple[str, ...]]] = {}
    for method, path in OPERATIONS:
        for answer in responses_of(method, path).values():
            codes = answer.get("content", {}).get("application/problem+json", {}).get("examples", {})
            orders.setdefault(frozenset(codes), set()).add(tuple(codes))
    assert [different for different in orders.values() if len(different) > 1] == []


def test_two_shared_responses_may_not_have_one_name() -> None:
    app = FastAPI()
    describe(app)
    for number, description in enumerate(["a job", "a job", "a dataset", "a dataset"]):
        missing = documented(NotFound)[404] | {"description": description}
        app.add_api_route(f"/{number}/{{id}}", lambda id: None, responses={404: missing})
    with pytest.raises(ValueError, match="have the name not_found"):
        app.openapi()


@pytest.mark.parametrize(
    ("name", "codes"), [("not_found", {"not_found"}), ("unavailable-query_timeout", {"unavailable", "query_timeout"})]
)
def test_a_shared_error_is_named_by_its_codes(name: str, codes: set[str]) -> None:
    response = SCHEMA["components"]["responses"][name]
    assert set(response["content"]["application/problem+json"]["examples"]) == codes


def test_every_kind_of_event_has_a_schema() -> None:
    kinds = {str(typing.get_args(kind.model_fields["type"].annotation)[0]) for kind in typing.get_args(EVENTS)}
    described = SCHEMA["components"]["schemas"]["JobEvent"]["discriminator"]["mapping"]
    assert set(described) == kinds | {"status_changed"}


def test_the_reference_for_people_needs_nothing_from_elsewhere(settings: Settings) -> None:
    with TestClient(create_app(settings)) as client:
        page = client.get("/docs")
        assert client.get("/openapi.json").json() == SCHEMA
    assert page.status_code == 200 and "<script" not in page.text and "https://" not in page.text
    for _, path in OPERATIONS:
        assert path in page.text
    assert "clip_range" in page.text


def test_reference_shows_the_responses_by_status(client: TestClient) -> None:
    """References to shared responses are followed."""
    rows = client.get("/docs").text.partition('<h3 id="cancel_job">')[2].partition("</table>")[0].split("<tr>")
    shown = {row[7:10]: row for row in rows if row.startswith("<td><b>")}
    assert list(shown) == sorted(SCHEMA["paths"]["/v1/jobs/{job_id}/cancel"]["post"]["responses"])
    assert "invalid_transition" in shown["409"] and 'href="#Problem"' in shown["409"] and 'href="#Job"' in shown["200"]


def test_import_of_the_api_loads_no_torch_and_connects_nowhere() -> None:
    code = (
        "import api.app, sys; assert not {'torch', 'transformers', 'worker'} & set(sys.modules); api.app.create_app()"
    )
    subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, check=True, env={"PATH": ""})


def test_the_schema_is_printed_without_any_setting(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "api", "openapi"]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True, env={"PATH": ""})
    assert done.stdout == COMMITTED.read_text()
