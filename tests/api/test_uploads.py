"""Uploads in parts, called in the process; tests/api/test_upload_connections.py has what needs a socket."""

import asyncio
import base64
import hashlib
import resource
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx import Response
from sqlalchemy.orm import Session

from api.app import create_app
from core import tasks
from core.blobs import blob_store
from core.models import ApiKey, DataTask
from core.settings import Settings
from core.uploads import store
from core.uploads.reading import opener
from tests.api.problem_checks import problem
from tests.core.factories import make_key

CONTENT = b"0123456789abcdefghij"
PARTS = {1: b"01234567", 2: b"89abcdef", 3: b"ghij"}
SUM = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"upload_part_bytes": 8, "import_urls": ["https://data.example/"]})


def create(client: TestClient, **body: Any) -> dict[str, Any]:
    response = client.post("/v1/uploads", json={"filename": "pairs.jsonl", "bytes": len(CONTENT)} | body)
    assert response.status_code == 201, response.text
    made: dict[str, Any] = response.json()
    return made


def put(client: TestClient, upload: dict[str, Any], number: int | str, content: bytes, **headers: str) -> Response:
    return client.put(f"/v1/uploads/{upload['id']}/parts/{number}", content=content, headers=headers)


def complete(client: TestClient, upload: dict[str, Any], **body: Any) -> Response:
    return client.post(f"/v1/uploads/{upload['id']}/complete", json=body)


def send(client: TestClient) -> dict[str, Any]:
    """An upload that is complete."""
    upload = create(client)
    for number, content in PARTS.items():
        assert put(client, upload, number, content).status_code == 200
    made: dict[str, Any] = complete(client, upload).json()
    return made


def stored(settings: Settings) -> list[str]:
    """The names of all files of the platform."""
    return sorted(path.name for path in settings.data_dir.rglob("*") if path.is_file())


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """No file may grow beyond `size` bytes: the kernel refuses, as it does when the disk is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_parts_in_any_order_make_the_file(client: TestClient, session: Session, settings: Settings) -> None:
    upload = create(client, sha256=SUM)
    assert (upload["part_bytes"], upload["parts"], upload["received"], upload["status"]) == (8, 3, [], "open")
    assert put(client, upload, 3, PARTS[3]).json() == {"object": "upload.part", "number": 3, "bytes": 4}
    assert put(client, upload, 1, PARTS[1]).status_code == 200
    halfway = client.get(f"/v1/uploads/{upload['id']}").json()
    assert (halfway["received"], halfway["bytes_received"], halfway["status"]) == ([1, 3], 12, "open")
    put(client, upload, 2, PARTS[2])
    made = complete(client, upload, sha256=SUM).json()
    assert (made["status"], made["sha256"], made["bytes_received"], made["error"]) == ("complete", SUM, 20, None)
    row = store.take(session, store.get(session, _owner(session), upload["id"]).owner_id, upload["id"])
    with opener(blob_store(settings), row)() as file:
        assert file.read() == CONTENT


def _owner(session: Session) -> str:
    return session.query(ApiKey).one().owner_id


def test_complete_upload_names_missing_parts(client: TestClient) -> None:
    upload = create(client)
    put(client, upload, 2, PARTS[2])
    document = problem(complete(client, upload), 409, "parts_missing")
    assert (document["missing"], document["missing_count"]) == ([1, 3], 2)


def test_the_same_part_again_changes_nothing(client: TestClient, settings: Settings) -> None:
    upload = create(client)
    for _ in range(2):
        assert put(client, upload, 1, PARTS[1]).status_code == 200
    assert client.get(f"/v1/uploads/{upload['id']}").json()["received"] == [1]
    assert stored(settings) == ["000001"]


def test_part_sent_again_with_other_bytes_is_refused(client: TestClient) -> None:
    upload = create(client)
    put(client, upload, 1, PARTS[1])
    assert problem(put(client, upload, 1, b"01234_67"), 409, "part_differs")["part"] == 1
    there = client.get(f"/v1/uploads/{upload['id']}/parts/1").json()
    assert there["sha256"] == hashlib.sha256(PARTS[1]).hexdigest()


def test_a_part_may_come_again_when_all_is_complete(client: TestClient) -> None:
    upload = send(client)
    assert put(client, upload, 2, PARTS[2]).status_code == 200
    problem(put(client, upload, 2, b"________"), 409, "part_differs")


@pytest.mark.parametrize("when", ["then", "now"])
def test_complete_upload_with_other_checksum_is_refused(client: TestClient, when: str) -> None:
    other = hashlib.sha256(b"other").hexdigest()
    upload = create(client, **({"sha256": other} if when == "then" else {}))
    for number, content in PARTS.items():
        put(client, upload, number, content)
    document = problem(
        complete(client, upload, **({"sha256": other} if when == "now" else {})), 422, "checksum_mismatch"
    )
    assert SUM in document["detail"] and other in document["detail"]
    assert client.get(f"/v1/uploads/{upload['id']}").json()["status"] == "open"


def test_completing_may_be_repeated_but_not_with_another_sum(client: TestClient) -> None:
    upload = send(client)
    assert complete(client, upload, sha256=SUM.upper()).json() == upload
    assert client.post(f"/v1/uploads/{upload['id']}/complete").json() == upload
    problem(complete(client, upload, sha256="0" * 64), 422, "checksum_mismatch")


def test_a_part_of_the_wrong_size_leaves_nothing(client: TestClient, settings: Settings) -> None:
    upload = create(client)
    for number, content in [(1, b"0123456"), (1, b"012345678"), (3, b"ghijk"), (2, b"")]:
        problem(put(client, upload, number, content), 422, "invalid_request")
        # Without a promise of its length, it is found out on the way.
        address = f"/v1/uploads/{upload['id']}/parts/{number}"
        problem(client.put(address, content=iter([content])), 422, "invalid_request")
    assert client.get(f"/v1/uploads/{upload['id']}").json()["received"] == []
    assert stored(settings) == []


def test_a_part_that_the_file_does_not_have(client: TestClient) -> None:
    upload = create(client)
    answers = {number: put(client, upload, number, b"x").status_code for number in ("4", "10000000000", "0", "-1", "x")}
    assert answers == {"4": 404, "10000000000": 404, "0": 422, "-1": 422, "x": 422}


def test_a_part_that_differs_from_its_digest_leaves_nothing(client: TestClient, settings: Settings) -> None:
    upload = create(client)
    good = base64.b64encode(hashlib.sha256(PARTS[1]).digest()).decode()
    problem(put(client, upload, 1, b"01234_67", **{"Content-Digest": f"sha-256=:{good}:"}), 422, "checksum_mismatch")
    problem(put(client, upload, 1, PARTS[1], **{"Content-Digest": "sha-256=:A:"}), 422, "invalid_request")
    assert stored(settings) == []
    several = {"Content-Digest": f"sha-512=:AAAA:, sha-256=:{good}:"}
    assert put(client, upload, 1, PARTS[1], **several).status_code == 200


def test_a_name_that_is_a_path_leads_nowhere(client: TestClient, settings: Settings) -> None:
    upload = create(client, filename="../../etc/passwd")
    put(client, upload, 1, PARTS[1])
    assert upload["filename"] == "passwd"
    files = [path for path in settings.data_dir.rglob("*") if path.is_file()]
    assert files == [settings.blob_dir / "uploads" / upload["id"] / "000001"]


def test_a_body_that_is_wrong(client: TestClient) -> None:
    bodies: dict[str, list[dict[str, object]]] = {
        "#/bytes": [{"bytes": 0}, {"bytes": "many"}, {"bytes": None}],
        "#/sha256": [{"sha256": "abc"}],
        "#/filename": [{"filename": ".."}, {"filename": "a\x00b"}, {"filename": None}],
        "#/filname": [{"filname": "x"}],
    }
    for pointer, wrong in bodies.items():
        for body in wrong:
            response = client.post("/v1/uploads", json={"filename": "x", "bytes": 1} | body)
            assert problem(response, 422, "invalid_request")["errors"][0]["pointer"] == pointer


def test_upload_above_the_limit_is_refused_at_creation(client: TestClient, settings: Settings) -> None:
    body = {"filename": "x", "bytes": settings.max_upload_bytes + 1}
    problem(client.post("/v1/uploads", json=body), 413, "too_large")


def test_upload_larger_than_free_disk_is_refused_at_creation(settings: Settings, owner: tuple[ApiKey, str]) -> None:
    boundless = settings.model_copy(update={"max_upload_bytes": 2**60})
    with TestClient(create_app(boundless), headers={"Authorization": f"Bearer {owner[1]}"}) as client:
        problem(client.post("/v1/uploads", json={"filename": "x", "bytes": 2**60}), 507, "disk_full")


def test_part_on_full_disk_is_507_and_leaves_no_file(settings: Settings, owner: tuple[ApiKey, str]) -> None:
    large = settings.model_copy(update={"upload_part_bytes": 64 * 1024})
    with TestClient(create_app(large), headers={"Authorization": f"Bearer {owner[1]}"}) as client:
        upload = create(client, bytes=100 * 1024)
        with room_for(40 * 1024):
            problem(put(client, upload, 1, b"x" * 64 * 1024), 507, "disk_full")
            assert put(client, upload, 2, b"x" * 36 * 1024).status_code == 200
        assert stored(settings) == ["000002"]
        assert put(client, upload, 1, b"x" * 64 * 1024).status_code == 200


def test_form_larger_than_free_disk_is_507(client: TestClient) -> None:
    with room_for(1024 * 1024):
        response = client.post(
            "/v1/datasets", files={"file": ("x.jsonl", b"x" * 3 * 1024 * 1024)}, data={"kind": "sft"}
        )
    problem(response, 507, "disk_full")


def test_upload_without_a_key_is_refused(settings: Settings) -> None:
    """The key is looked at before a byte of the part is read."""
    read: list[bytes] = []
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> dict[str, Any]:
        read.append(b"")
        return {"type": "http.request", "body": b"", "more_body": False}

    async def answer(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "PUT", "path": "/v1/uploads/up_x/parts/1", "query_string": b""}
    scope["headers"] = [(b"host", b"localhost")]
    asyncio.run(create_app(settings)(scope, receive, answer))
    assert sent[0]["status"] == 401 and read == []


def test_another_key_s_upload_is_absent(client: TestClient, session: Session, settings: Settings) -> None:
    blobs, stranger = blob_store(settings), make_key(session)
    theirs = store.create(session, blobs, settings, stranger.owner_id, "x", 20, None).id
    session.commit()
    for method, path in [("GET", ""), ("DELETE", ""), ("PUT", "/parts/1"), ("GET", "/parts/1"), ("POST", "/complete")]:
        problem(client.request(method, f"/v1/uploads/{theirs}{path}"), 404, "not_found")
    assert client.get("/v1/uploads").json()["data"] == []


def test_uploads_are_listed_newest_first_by_status(client: TestClient) -> None:
    first, second = send(client), create(client)
    put(client, second, 2, PARTS[2])
    listed = client.get("/v1/uploads").json()["data"]
    assert [upload["id"] for upload in listed] == [second["id"], first["id"]]
    assert [upload["received"] for upload in listed] == [[2], [1, 2, 3]]
    assert [upload["id"] for upload in client.get("/v1/uploads?status=open").json()["data"]] == [second["id"]]
    page = client.get(f"/v1/uploads?limit=1&after={second['id']}").json()
    assert [upload["id"] for upload in page["data"]] == [first["id"]] and not page["has_more"]


def test_delete_upload_removes_its_parts(client: TestClient, settings: Settings) -> None:
    upload = create(client)
    put(client, upload, 1, PARTS[1])
    assert client.delete(f"/v1/uploads/{upload['id']}").status_code == 204
    problem(put(client, upload, 2, PARTS[2]), 404, "not_found")
    assert stored(settings) == []


def test_an_upload_that_is_being_read_stays(client: TestClient, session: Session) -> None:
    upload = send(client)
    task = tasks.enqueue(session, _owner(session), "import", {"upload": upload["id"]})
    session.commit()
    document = problem(client.delete(f"/v1/uploads/{upload['id']}"), 409, "upload_in_use")
    assert document["task"] == task.id
    tasks.cancel(session, task)
    session.commit()
    assert client.delete(f"/v1/uploads/{upload['id']}").status_code == 204


def test_upload_limits_are_listed(client: TestClient, settings: Settings) -> None:
    told = client.get("/v1/reference/uploads").json()
    assert (told["part_bytes"], told["max_request_upload_bytes"]) == (8, settings.max_request_upload_bytes)
    assert (told["import_urls"], told["import_prefixes"]) == ("some", ["https://data.example/"])


def test_only_what_the_operator_allows_is_fetched(client: TestClient, session: Session) -> None:
    for url in (
        "https://elsewhere.example/x.jsonl",
        "http://data.example/x.jsonl",
        "https://data.example:8443/x.jsonl",
        "https://data.example@elsewhere.example/x",
        "https://data.example/../x",
        "file:///etc/passwd",
        "s3://bucket/key",
        "owner/name",
        "ftp://data.example/x",
        "x",
    ):
        response = client.post("/v1/uploads/from", json={"url": url})
        assert problem(response, 422, "import_refused")["errors"][0]["pointer"] == "#/url"
    assert session.query(DataTask).count() == 0


def test_an_address_that_is_allowed_waits_for_a_worker(client: TestClient, session: Session) -> None:
    url = "https://data.example/folder/pairs%20of%20two.jsonl?token=secret"
    response = client.post("/v1/uploads/from", json={"url": url})
    upload = response.json()
    assert (response.status_code, upload["status"], upload["filename"]) == (202, "fetching", "pairs of two.jsonl")
    assert (upload["bytes"], upload["parts"], upload["bytes_received"], upload["url"]) == (None, None, 0, url)
    task = session.query(DataTask).one()
    assert (task.kind, task.status, task.args) == ("fetch", "queued", {"upload": upload["id"]})
    problem(put(client, upload, 1, b"x"), 409, "upload_not_open")
    problem(complete(client, upload), 409, "upload_not_open")
    assert client.delete(f"/v1/uploads/{upload['id']}").status_code == 204
    session.refresh(task)
    assert task.status == "cancelled"
