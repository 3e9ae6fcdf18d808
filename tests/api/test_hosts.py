import pytest
from fastapi.testclient import TestClient

from api.middleware import is_own_host
from core.models import ApiKey
from tests.api.problem_checks import problem


def test_request_for_a_foreign_host_is_refused(anonymous: TestClient, owner: tuple[ApiKey, str]) -> None:
    """DNS rebinding: the name evil.example resolves to this machine."""
    headers = {"Host": "evil.example:8000", "Origin": "http://evil.example:8000", "Sec-Fetch-Site": "same-origin"}
    for path in ("/", "/v1/jobs", "/docs", "/openapi.json"):
        refused = problem(anonymous.get(path, headers=headers), 421, "wrong_host")
        assert "PROXIMAL_HOSTS" in refused["detail"] and "evil.example" not in str(refused)
    signed_in = anonymous.post("/v1/session", json={"token": owner[1]}, headers=headers)
    problem(signed_in, 421, "wrong_host")
    assert "set-cookie" not in signed_in.headers


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1", "[::1]:8000", "LOCALHOST", "localhost."])
def test_request_for_this_machine_is_allowed(client: TestClient, host: str) -> None:
    assert client.get("/v1/jobs", headers={"Host": host}).status_code == 200


def test_health_checks_need_no_host_name(anonymous: TestClient) -> None:
    assert anonymous.get("/healthz", headers={"Host": "10.1.2.3:8000"}).status_code == 200


@pytest.mark.parametrize(
    ("header", "own"),
    [
        ("proximal.example.org", True),
        ("Proximal.Example.org:443", True),
        ("a.lab.example", True),
        ("lab.example", False),
        ("evillab.example", False),
        ("proximal.example.org.evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("localhost@evil.example", False),
        ("[::2]", False),
        ("[::1]evil.example", False),
        ("", False),
    ],
)
def test_hosts_are_compared_by_their_whole_name(header: str, own: bool) -> None:
    assert is_own_host(header, ["proximal.example.org", "*.lab.example"]) is own


def test_star_allows_every_host() -> None:
    assert is_own_host("anything.example", ["*"])
