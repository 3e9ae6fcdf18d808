import asyncio
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx import Response
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from api.app import create_app
from core.models import ApiKey, Dataset
from core.models.dataset import DatasetKind
from core.settings import Settings
from tests.api.problem_checks import problem
from tests.core.factories import ROWS, jsonl, make_dataset, make_job, make_key

GOOD = jsonl(ROWS[DatasetKind.PREFERENCES])


def _upload(client: TestClient, content: bytes = GOOD, kind: str = "preferences", **data: str) -> Response:
    return client.post("/v1/datasets", files={"file": ("pairs.jsonl", content)}, data={"kind": kind, **data})


def test_an_upload_is_a_dataset(client: TestClient) -> None:
    response = _upload(client, name="mine")
    made = response.json()
    assert response.status_code == 201
    assert (made["object"], made["name"], made["kind"], made["rows"]) == ("dataset", "mine", "preferences", 3)
    assert made["id"].startswith("ds_") and len(made["sha256"]) == 64 and made["created_at"].endswith("Z")
    assert client.get(f"/v1/datasets/{made['id']}").json() == made
    assert client.get("/v1/datasets").json()["data"] == [made]


def test_a_dataset_without_a_name_takes_the_file_s(client: TestClient) -> None:
    assert _upload(client).json()["name"] == "pairs.jsonl"


def test_a_bad_row_is_named_and_nothing_is_stored(client: TestClient, session: Session, settings: Settings) -> None:
    response = _upload(client, GOOD + b'{"prompt": "p" "chosen": "c"}\n{"prompt": "p", "chosen": "c"}\n')
    document = problem(response, 422, "invalid_dataset")
    assert document["error_count"] == 2
    first, second = document["errors"]
    assert (first["line"], first["column"]) == (4, 16)
    assert (second["line"], second["pointer"]) == (5, "/rejected")
    assert session.scalar(select(func.count()).select_from(Dataset)) == 0
    assert [path for path in settings.data_dir.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("arguments", "pointer"),
    [
        ({"files": {"file": ("x", b"")}}, "#/kind"),
        ({"files": {"file": ("x", b"")}, "data": {"kind": "x"}}, "#/kind"),
        ({"files": {"other": ("x", b"")}, "data": {"kind": "sft"}}, "#/file"),
        ({"files": {"kind": (None, "sft"), "file": (None, "text")}}, "#/file"),
        ({"content": b"no form", "headers": {"Content-Type": "multipart/form-data; boundary=x"}}, "#"),
        ({"content": b"no form", "headers": {"Content-Type": "multipart/form-data"}}, "#"),
        ({"files": {"file": ("x", GOOD)}, "data": {"kind": "preferences", "name": "a\x00"}}, "#/name"),
        ({"files": {"file": ("x", GOOD)}, "data": {"kind": "preferences", "name": "a\nb"}}, "#/name"),
        ({"files": {"file": ("x", GOOD)}, "data": {"kind": "preferences", "name": "a" * 201}}, "#/name"),
        ({"files": [("file", ("x", b"1")), ("file", ("y", b"2"))], "data": {"kind": "sft"}}, "#"),
    ],
)
def test_a_form_that_is_wrong(client: TestClient, arguments: dict[str, Any], pointer: str) -> None:
    document = problem(client.post("/v1/datasets", **arguments), 422, "invalid_request")
    assert document["errors"][0]["pointer"] == pointer


def test_an_upload_that_is_no_form(client: TestClient) -> None:
    problem(client.post("/v1/datasets", json={"kind": "sft"}), 415, "wrong_media_type")


def test_an_upload_that_is_too_large(settings: Settings, owner: tuple[ApiKey, str]) -> None:
    small = settings.model_copy(update={"max_upload_bytes": 1000})
    with TestClient(create_app(small), headers={"Authorization": f"Bearer {owner[1]}"}) as client:
        problem(_upload(client, GOOD * 1000), 413, "too_large")
        assert _upload(client, GOOD).status_code == 201


def test_who_has_no_key_uploads_nothing(settings: Settings) -> None:
    """The key is looked at before a byte of the body is read."""
    read: list[bytes] = []

    async def receive() -> dict[str, Any]:
        read.append(b"")
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    sent: list[MutableMapping[str, Any]] = []
    headers = [(b"content-type", b"multipart/form-data; boundary=x")]
    scope = {"type": "http", "method": "POST", "path": "/v1/datasets", "query_string": b"", "headers": headers}
    asyncio.run(create_app(settings)(scope, receive, send))
    assert sent[0]["status"] == 401 and read == []


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "a/b", "..", "<script>", "5.00\u202fPM \U0001f469\u200d\U0001f4bb"]
)
def test_a_name_is_only_a_name(client: TestClient, settings: Settings, name: str) -> None:
    made = _upload(client, name=name).json()
    assert made["name"] == name
    blobs = [path for path in settings.data_dir.rglob("*") if path.is_file()]
    assert blobs == [settings.blob_dir / "datasets" / f"{made['id']}.jsonl"]


def test_rows_are_read_page_by_page(client: TestClient, dataset: Dataset) -> None:
    first = client.get(f"/v1/datasets/{dataset.id}/rows?limit=2").json()
    assert [row["line"] for row in first["data"]] == [1, 2] and first["has_more"]
    assert first["data"][0]["row"] == {"prompt": "p0", "a": "good", "b": "bad", "label": "a"}
    rest = client.get(f"/v1/datasets/{dataset.id}/rows?limit=2&after={first['last_id']}").json()
    assert [row["line"] for row in rest["data"]] == [3] and not rest["has_more"]
    assert client.get(f"/v1/datasets/{dataset.id}/rows?after=99").json()["data"] == []


def test_datasets_are_listed_newest_first_by_cursor_and_by_kind(
    client: TestClient, session: Session, owner: tuple[ApiKey, str]
) -> None:
    ids = []
    for kind in (DatasetKind.PREFERENCES, DatasetKind.SFT, DatasetKind.PREFERENCES):
        ids.append(make_dataset(session, owner[0].id, kind).id)
        session.commit()
    page = client.get("/v1/datasets?limit=2").json()
    assert [row["id"] for row in page["data"]] == [ids[2], ids[1]]
    assert (page["has_more"], page["first_id"], page["last_id"]) == (True, ids[2], ids[1])
    rest = client.get(f"/v1/datasets?limit=2&after={page['last_id']}").json()
    assert [row["id"] for row in rest["data"]] == [ids[0]] and not rest["has_more"]
    assert [row["id"] for row in client.get("/v1/datasets?order=asc").json()["data"]] == ids
    assert [row["id"] for row in client.get("/v1/datasets?kind=sft").json()["data"]] == [ids[1]]


def test_another_key_s_dataset_is_absent(client: TestClient, session: Session) -> None:
    theirs = make_dataset(session, make_key(session).id)
    session.commit()
    for path in (f"/v1/datasets/{theirs.id}", f"/v1/datasets/{theirs.id}/rows"):
        problem(client.get(path), 404, "not_found")
    problem(client.delete(f"/v1/datasets/{theirs.id}"), 404, "not_found")
    assert client.get("/v1/datasets").json()["data"] == []
    assert client.get(f"/v1/datasets?after={theirs.id}").status_code == 422


def test_deleting_takes_the_rows_too(client: TestClient, dataset: Dataset, settings: Settings) -> None:
    assert client.delete(f"/v1/datasets/{dataset.id}").status_code == 204
    problem(client.get(f"/v1/datasets/{dataset.id}"), 404, "not_found")
    assert not Path(settings.blob_dir / dataset.blob_key).exists()


def test_a_dataset_in_use_stays(client: TestClient, session: Session, owner: tuple[ApiKey, str]) -> None:
    job = make_job(session, owner[0].id)
    response = client.delete(f"/v1/datasets/{job.spec['data']['preferences']}")
    assert problem(response, 409, "dataset_in_use")["jobs"] == [job.id]
    assert response.headers["x-should-retry"] == "false"
