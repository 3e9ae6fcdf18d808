"""Uploads over a real socket: connections that break, and several at once."""

import hashlib
import logging
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import httpx
import pytest
from fastapi import FastAPI

from core.models import ApiKey
from core.settings import Settings
from tests.api.serving import serving
from tests.waiting import eventually

PART = 64 * 1024
CONTENT = bytes(range(256)) * 256 * 8


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"upload_part_bytes": PART})


@pytest.fixture
def http(app: FastAPI, owner: tuple[ApiKey, str]) -> Iterator[httpx.Client]:
    with serving(app) as port:
        headers = {"Authorization": f"Bearer {owner[1]}"}
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, trust_env=False) as client:
            yield client


def create(http: httpx.Client) -> str:
    made = http.post("/v1/uploads", json={"filename": "x.jsonl", "bytes": len(CONTENT)}).json()
    return str(made["id"])


def put(http: httpx.Client, upload_id: str, number: int, content: bytes | None = None) -> int:
    part = CONTENT[(number - 1) * PART : number * PART] if content is None else content
    return http.put(f"/v1/uploads/{upload_id}/parts/{number}", content=part).status_code


def hang_up_halfway(http: httpx.Client, upload_id: str) -> None:
    """Promise the first part, send half of it, and go."""
    head = f"PUT /v1/uploads/{upload_id}/parts/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: {PART}\r\n"
    head += f"Authorization: {http.headers['Authorization']}\r\n\r\n"
    with socket.create_connection((http.base_url.host, http.base_url.port or 0)) as connection:
        connection.sendall(head.encode() + CONTENT[: PART // 2])


def files(settings: Settings) -> list[Path]:
    return [path for path in settings.blob_dir.rglob("*") if path.is_file()]


def test_part_with_lost_connection_is_dropped_and_can_be_resent(
    http: httpx.Client, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    upload_id = create(http)
    hang_up_halfway(http, upload_id)
    eventually(lambda: f"PUT /v1/uploads/{upload_id}/parts/1 400" in caplog.text)
    eventually(lambda: not files(settings))
    assert http.get(f"/v1/uploads/{upload_id}").json()["received"] == []
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert put(http, upload_id, 1) == 200


def test_parts_may_come_all_at_once(http: httpx.Client) -> None:
    upload_id = create(http)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: put(http, upload_id, number), range(8, 0, -1)))
    assert answers == [200] * 8
    body = {"sha256": hashlib.sha256(CONTENT).hexdigest()}
    assert http.post(f"/v1/uploads/{upload_id}/complete", json=body).json()["status"] == "complete"


def test_concurrent_parts_with_other_bytes_refuse_one(http: httpx.Client) -> None:
    upload_id, barrier = create(http), Barrier(2)

    def send(byte: bytes) -> int:
        barrier.wait()
        return put(http, upload_id, 2, byte * PART)

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(send, [b"a", b"b"])) == [200, 409]


def test_two_uploads_of_the_same_content_at_once_do_not_meet(http: httpx.Client, settings: Settings) -> None:
    ids = [create(http), create(http)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda pair: put(http, *pair), [(id_, number) for number in range(1, 9) for id_ in ids]))
    sums = {http.post(f"/v1/uploads/{id_}/complete").json()["sha256"] for id_ in ids}
    assert sums == {hashlib.sha256(CONTENT).hexdigest()}
    http.delete(f"/v1/uploads/{ids[0]}").raise_for_status()
    assert len(files(settings)) == 8


def test_an_upload_that_is_deleted_while_a_part_comes(http: httpx.Client, settings: Settings) -> None:
    upload_id = create(http)

    def slowly() -> Iterator[bytes]:
        yield CONTENT[: PART // 2]
        http.delete(f"/v1/uploads/{upload_id}").raise_for_status()
        yield CONTENT[PART // 2 : PART]

    answer = http.put(f"/v1/uploads/{upload_id}/parts/1", content=slowly(), headers={"Content-Length": str(PART)})
    assert answer.status_code == 404
    assert files(settings) == []
