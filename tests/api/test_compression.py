"""Compression of responses, entity tags, and the compressed copies of the dashboard's files."""

import gzip
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
import zstandard
from fastapi import FastAPI, Header, Response
from fastapi.testclient import TestClient
from starlette.middleware import Middleware
from starlette.responses import StreamingResponse

from api.app import create_app
from api.compression import Compression
from core.models import Job
from core.settings import Settings
from tests.api.live.conftest import Serve, finish
from tests.api.live.conftest import job as job
from tests.api.live.conftest import serve as serve

REFERENCE = "/v1/reference/metrics"
"""A large JSON document."""


def _raw(client: httpx.Client, path: str, accept: str | None, **headers: str) -> tuple[httpx.Response, bytes]:
    """The response and its bytes as sent, for exactly this `Accept-Encoding`."""
    request = client.build_request("GET", path, headers=headers)
    del request.headers["Accept-Encoding"]
    if accept is not None:
        request.headers["Accept-Encoding"] = accept
    response = client.send(request, stream=True)
    return response, b"".join(response.iter_raw())


@pytest.mark.parametrize(
    ("accept", "coding"),
    [
        ("gzip", "gzip"),
        ("gzip, deflate, br, zstd", "zstd"),
        ("zstd;q=0, gzip;q=0.5", "gzip"),
        ("gzip;q=0", None),
        ("identity", None),
        ("br", None),
        (None, None),
    ],
)
def test_json_is_compressed_as_accepted(client: TestClient, accept: str | None, coding: str | None) -> None:
    plain = _raw(client, REFERENCE, None)[1]
    response, sent = _raw(client, REFERENCE, accept)
    assert response.headers.get("content-encoding") == coding
    assert response.headers["vary"] == "Accept-Encoding" and int(response.headers["content-length"]) == len(sent)
    decoders: dict[str | None, Any] = {"gzip": gzip.decompress, "zstd": zstandard.decompress, None: bytes}
    assert decoders[coding](sent) == plain and (coding is None or len(sent) < len(plain) / 3)


def test_httpx_reads_a_compressed_response(client: TestClient) -> None:
    response = client.get(REFERENCE)
    assert response.headers["content-encoding"] in ("zstd", "gzip") and json.loads(response.content)["data"]


def test_small_responses_are_not_compressed(client: TestClient) -> None:
    response, sent = _raw(client, "/healthz", "gzip")
    assert "content-encoding" not in response.headers and json.loads(sent) == {"status": "ok", "version": "0.1.0"}


def test_event_streams_are_sent_as_they_are(serve: Serve, job: Job) -> None:
    finish(job)
    with serve() as client:
        response, sent = _raw(client, f"/v1/jobs/{job.id}/stream", "gzip, zstd")
        listed = _raw(client, f"/v1/jobs/{job.id}/events", "gzip")[0]
    assert "content-encoding" not in response.headers and sent.startswith(b"retry: 2000\n\n")
    assert sent.endswith(b"event: done\ndata: {}\n\n")
    assert listed.headers["content-encoding"] == "gzip"


def _tagged(compressible: str) -> TestClient:
    app = FastAPI(middleware=[Middleware(Compression)])

    @app.get("/")
    def read(if_match: str = Header("")) -> Response:
        return Response("x" * 1000, headers={"ETag": '"v1"', "If-Match-Seen": if_match}, media_type=compressible)

    @app.get("/parts")
    def parts() -> StreamingResponse:
        return StreamingResponse(iter([b"x" * 1000] * 3), media_type=compressible, headers={"Content-Length": "3000"})

    return TestClient(app)


def test_the_tag_of_a_compressed_response_becomes_weak() -> None:
    client = _tagged("text/plain")
    compressed = client.get("/", headers={"Accept-Encoding": "gzip", "If-Match": 'W/"v1", "v2"'}).headers
    assert compressed["etag"] == 'W/"v1"' and compressed["if-match-seen"] == '"v1", "v2"'
    assert client.get("/", headers={"Accept-Encoding": "identity"}).headers["etag"] == '"v1"'


@pytest.mark.parametrize("media_type", ["application/zip", "application/octet-stream"])
def test_downloads_keep_their_bytes_and_length(media_type: str) -> None:
    response, sent = _raw(_tagged(media_type), "/parts", "gzip, zstd")
    assert "content-encoding" not in response.headers
    assert response.headers["content-length"] == "3000" and sent == b"x" * 3000


def test_a_streamed_response_is_compressed_without_a_length() -> None:
    response, sent = _raw(_tagged("application/json"), "/parts", "gzip")
    assert "content-length" not in response.headers and gzip.decompress(sent) == b"x" * 3000


@pytest.fixture
def dashboard(settings: Settings, tmp_path: Path) -> TestClient:
    folder = tmp_path / "dist"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<title>Proximal</title>" + " " * 1000)
    for name in ("page-abc.js", "alone-abc.js"):
        (folder / "assets" / name).write_text("let a = 1;\n" * 100)
    (folder / "assets" / "page-abc.js.gz").write_bytes(gzip.compress(b"let a = 1;\n" * 100))
    (folder / "assets" / "page-abc.js.br").write_bytes(b"brotli")
    return TestClient(create_app(settings.model_copy(update={"dashboard_dir": folder})))


@pytest.mark.parametrize(
    ("accept", "coding"), [("gzip, br", "br"), ("gzip", "gzip"), ("br;q=0, gzip", "gzip"), (None, None)]
)
def test_assets_are_sent_from_compressed_copies(dashboard: TestClient, accept: str | None, coding: str | None) -> None:
    response, sent = _raw(dashboard, "/assets/page-abc.js", accept)
    assert response.headers.get("content-encoding") == coding
    assert (
        response.headers["content-type"].startswith("text/javascript") and response.headers["vary"] == "Accept-Encoding"
    )
    assert response.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert int(response.headers["content-length"]) == len(sent)
    again, nothing = _raw(dashboard, "/assets/page-abc.js", accept, **{"If-None-Match": response.headers["etag"]})
    assert (again.status_code, nothing) == (304, b"")


def test_an_asset_without_a_copy_is_compressed_when_sent(dashboard: TestClient) -> None:
    response, sent = _raw(dashboard, "/assets/alone-abc.js", "gzip, br")
    assert response.headers["content-encoding"] == "gzip" and gzip.decompress(sent) == b"let a = 1;\n" * 100
    assert dashboard.get("/assets/none.js").status_code == 404


def test_the_page_is_compressed_and_not_cached(dashboard: TestClient) -> None:
    response, sent = _raw(dashboard, "/jobs/job_1", "gzip")
    assert response.headers["cache-control"] == "no-cache" and gzip.decompress(sent).startswith(b"<title>Proximal")
