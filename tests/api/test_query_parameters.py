"""Unknown query parameters: refused by every route, with the nearest known name."""

from typing import Annotated, Any

import pytest
from fastapi import Depends, FastAPI, Query
from fastapi.testclient import TestClient
from pydantic import BaseModel

from api.openapi import followed
from api.validation import refuse_unknown_query
from tests.api.compatibility import committed
from tests.api.problem_checks import problem

SCHEMA = committed()
PATHS: dict[str, Any] = SCHEMA["paths"]
OPERATIONS = [(method, path) for path, item in PATHS.items() if path.startswith("/v1") for method in item]


@pytest.mark.parametrize(
    ("path", "detail"),
    [
        ("/v1/jobs?limt=3", "?limt: unknown parameter 'limt'; did you mean 'limit'?"),
        ("/v1/jobs/job_x?verbose=1", "?verbose: unknown parameter 'verbose'; known here: none."),
        ("/v1/jobs/job_x/stream?aftr=3", "?aftr: unknown parameter 'aftr'; did you mean 'after'?"),
        ("/v1/stream?job=job_x", "?job: unknown parameter 'job'; did you mean 'jobs'?"),
        ("/v1/jobs/job_x/metrics?from_=3", "?from_: unknown parameter 'from_'; did you mean 'from'?"),
    ],
)
def test_unknown_query_parameter_is_refused(client: TestClient, path: str, detail: str) -> None:
    refused = problem(client.get(path), 422, "invalid_request")
    assert refused["detail"] == detail
    assert refused["param"] == detail[1 : detail.index(":")]


def test_every_unknown_parameter_is_listed_once(client: TestClient) -> None:
    refused = problem(client.get("/v1/jobs?limt=3&limt=4&limit=3&oder=asc"), 422, "invalid_request")
    assert refused["detail"].endswith("(1 more)")
    assert [error["pointer"] for error in refused["errors"]] == ["?limt", "?oder"]


def test_each_route_refuses_exactly_the_unknown(anonymous: TestClient) -> None:
    for method, path in OPERATIONS:
        parameters = [followed(SCHEMA, one) for one in PATHS[path][method].get("parameters", [])]
        documented = [one["name"] for one in parameters if one["in"] == "query"]
        query = dict.fromkeys([*documented, "nonsense"], "1")
        refused = problem(anonymous.request(method, path, params=query), 422, "invalid_request")
        assert [error["pointer"] for error in refused["errors"]] == ["?nonsense"], (method, path)
        assert "unknown parameter 'nonsense'" in refused["detail"]


def test_misspelled_parameter_of_a_post_creates_nothing(client: TestClient, body: dict[str, object]) -> None:
    refused = problem(client.post("/v1/jobs?priorty=5", json=body), 422, "invalid_request")
    assert "did you mean 'priority'?" in refused["detail"]
    assert client.get("/v1/jobs").json()["data"] == []


def test_repeated_known_parameter_is_accepted(client: TestClient) -> None:
    assert client.get("/v1/jobs?limit=3&status=queued&status=running&order=asc").status_code == 200


def test_health_check_with_a_parameter_succeeds(anonymous: TestClient) -> None:
    assert anonymous.get("/healthz?probe=7").status_code == 200


class _Filter(BaseModel):
    size: int = 1


def test_parameters_of_a_query_model_are_known() -> None:
    app = FastAPI(dependencies=[Depends(refuse_unknown_query)])

    @app.get("/sizes")
    def sizes(chosen: Annotated[_Filter, Query()]) -> int:
        return chosen.size

    assert TestClient(app).get("/sizes?size=7").json() == 7
