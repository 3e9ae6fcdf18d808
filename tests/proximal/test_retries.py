"""The SDK repeats a request after a temporary error, with the same `Idempotency-Key`."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import httpx
import pytest

from proximal.errors import ApiError, Unreachable
from proximal.sdk import AsyncClient, Client
from tests.proximal.conftest import Up, free_port

NOW = {"Retry-After": "0"}
FINE = (200, {}, {"id": "job_1"})
BUSY = (503, NOW, {"code": "unavailable"})
LOST = (0, {}, {})
"""The connection is closed without a response."""


@dataclass
class Server:
    """Returns the scripted responses in order, and keeps the requests. With `platform`, it passes requests on first."""

    responses: list[tuple[int, dict[str, str], dict[str, Any]]]
    platform: str = ""
    url: str = ""
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    """The method and the `Idempotency-Key`."""


@contextmanager
def serving(*responses: tuple[int, dict[str, str], dict[str, Any]], platform: str = "") -> Iterator[Server]:
    server = Server(list(responses), platform)

    class Handler(BaseHTTPRequestHandler):
        def reply(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            server.requests.append((self.command, self.headers["Idempotency-Key"]))
            status, headers, content = server.responses.pop(0)
            if server.platform:
                passed = {name: value for name, value in self.headers.items() if name.lower() != "host"}
                real = httpx.request(self.command, server.platform + self.path, headers=passed, content=body)
                status, content = status and real.status_code, real.json()
            if not status:
                self.connection.close()
                return
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        do_GET = do_POST = do_DELETE = reply

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{http.server_address[1]}"
    thread = Thread(target=http.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


def test_post_is_repeated_with_the_same_key() -> None:
    with (
        serving(BUSY, LOST, (409, NOW, {"code": "request_in_flight"}), FINE) as server,
        Client(server.url, "k") as client,
    ):
        assert client.create_job({})["id"] == "job_1"
    keys = {key for _, key in server.requests}
    assert len(server.requests) == 4 and len(keys) == 1 and None not in keys


def test_rate_limited_request_waits_as_long_as_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr("tenacity.nap.time.sleep", waited.append)
    limited = (429, {"Retry-After": "7", "x-should-retry": "true"}, {"code": "rate_limited"})
    with serving(limited, limited, FINE) as server, Client(server.url, "k") as client:
        assert client.get_job("job_1")["id"] == "job_1"
    assert waited == [7, 7]


def test_each_creation_has_its_own_key() -> None:
    with serving(FINE, FINE) as server, Client(server.url, "k") as client:
        client.create_job({})
        client.create_job({})
    assert len({key for _, key in server.requests}) == 2


def test_attempts_are_bounded_and_the_last_error_is_raised() -> None:
    with serving(*[BUSY] * 9) as server, Client(server.url, "k") as client, pytest.raises(ApiError) as raised:
        client.get_job("job_1")
    assert raised.value.status == 503 and len(server.requests) == 4


@pytest.mark.parametrize(
    "response",
    [
        (422, {}, {"code": "invalid_spec"}),
        (409, {"x-should-retry": "true"}, {"code": "dataset_not_ready"}),
        (429, {"x-should-retry": "false"}, {"code": "quota_exceeded"}),
        (429, {"Retry-After": "3600"}, {"code": "too_many_tries"}),
    ],
)
def test_lasting_errors_are_not_repeated(response: tuple[int, dict[str, str], dict[str, Any]]) -> None:
    with serving(response, FINE) as server, Client(server.url, "k") as client, pytest.raises(ApiError):
        client.create_job({})
    assert len(server.requests) == 1


def test_readiness_is_reported_at_once() -> None:
    with serving(BUSY, FINE) as server, Client(server.url, "k") as client, pytest.raises(ApiError):
        client.is_ready()


def test_unreachable_platform_is_reported() -> None:
    with Client(f"http://127.0.0.1:{free_port()}", "k") as client, pytest.raises(Unreachable):
        client.get_job("job_1")


def test_async_client_repeats_too() -> None:
    async def create(url: str) -> Any:
        async with AsyncClient(url, "k") as client:
            return await client.create_job({})

    with serving(BUSY, FINE) as server:
        assert asyncio.run(create(server.url))["id"] == "job_1"
    assert len(server.requests) == 2 and server.requests[0] == server.requests[1]


def test_lost_response_creates_one_upload(up: Up) -> None:
    """The platform carries out the first request, and its response is lost."""
    key = up.client()._options["headers"]["Authorization"].removeprefix("Bearer ")
    with serving(LOST, FINE, platform=up.url) as server, Client(server.url, key) as client:
        made = client.create_upload("lost.jsonl", 10)
    with up.client() as direct:
        assert [one["id"] for one in direct.list_uploads() if one["filename"] == "lost.jsonl"] == [made["id"]]
