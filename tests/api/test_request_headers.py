"""Headers that all routes share: ids and deprecation."""

import logging
from datetime import UTC, datetime

import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from api.response_headers import deprecated
from core.settings import Settings
from tests.api.problem_checks import problem


def test_request_id_of_the_client_is_kept_and_logged(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "api"):
        response = client.get("/v1/jobs/job_x", headers={"X-Request-Id": "0af7651916cd43dd-8448eb211c80319c"})
    assert problem(response, 404, "not_found")["request_id"] == "0af7651916cd43dd-8448eb211c80319c"
    assert "0af7651916cd43dd-8448eb211c80319c" in caplog.text


@pytest.mark.parametrize("sent", ["", "short", "x" * 129, "with a space", "<script>alert(1)</script>", "ümlaut-ümlaut"])
def test_malformed_request_id_is_replaced(client: TestClient, sent: str) -> None:
    response = client.get("/v1/jobs", headers=[(b"x-request-id", sent.encode())])
    assert response.headers["x-request-id"].startswith("req_")


def test_deprecated_route_announces_its_end(settings: Settings) -> None:
    app = create_app(settings)
    since, sunset = datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)

    @app.get("/old", **deprecated(since, sunset, "/v1/new"))
    def old() -> str:
        return "still here"

    headers = TestClient(app).get("/old", headers={"Host": "localhost"}).headers
    assert headers["deprecation"] == "@1767225600"  # 2026-01-01T00:00:00Z
    assert headers["sunset"] == "Fri, 01 Jan 2027 00:00:00 GMT"
    assert headers["link"] == '</v1/new>; rel="successor-version"'
    assert app.openapi()["paths"]["/old"]["get"]["deprecated"] is True
