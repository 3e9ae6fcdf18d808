import asyncio
import gzip
import json
from collections.abc import MutableMapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx import Response
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from api.app import create_app
from api.datasets import views
from api.deps import refresh
from core.blobs import LocalBlobs, blob_store
from core.datasets import retention, versions
from core.db import session_scope
from core.errors import DiskFull, NotFound
from core.models import ApiKey, Dataset
from core.settings import Settings, get_settings
from data.schema import DatasetKind
from tests.api.problem_checks import problem
from tests.core.factories import ROWS, dataset_id_of, jsonl, make_dataset, make_job, make_key

GOOD = jsonl(ROWS[DatasetKind.PREFERENCES])


def _upload(client: TestClient, content: bytes = GOOD, kind: str = "preferences", **data: str) -> Response:
    return client.post("/v1/datasets", files={"file": ("pairs.jsonl", content)}, data={"kind": kind, **data})


def test_an_upload_is_a_dataset(client: TestClient) -> None:
    response = _upload(client, name="mine")
    made = response.json()
    assert response.status_code == 201
    assert (made["object"], made["name"], made["kind"], made["rows"]) == ("dataset", "mine", "preferences", 3)
    assert made["id"].startswith("ds_") and len(made["sha256"]) == 64 and made["created_at"].endswith("Z")
    assert (made["status"], made["version"], made["progress"], made["error"]) == ("ready", 1, None, None)
    assert made["findings"] == {"blocking": 0, "warning": 0}
    assert (made["origin"]["type"], made["origin"]["filename"]) == ("upload", "pairs.jsonl")
    assert client.get(f"/v1/datasets/{made['id']}").json() == made
    assert client.get("/v1/datasets").json()["data"] == [made]


def test_dataset_without_a_name_gets_the_file_name(client: TestClient) -> None:
    assert _upload(client).json()["name"] == "pairs.jsonl"


def test_a_long_name_of_a_file_is_cut(client: TestClient) -> None:
    made = client.post("/v1/datasets", files={"file": (f"{'x' * 249}.jsonl", GOOD)})
    assert (made.status_code, made.json()["name"]) == (201, "x" * 200)


def test_form_with_too_large_file_must_be_sent_in_parts(settings: Settings, owner: tuple[ApiKey, str]) -> None:
    few = settings.model_copy(update={"max_request_upload_bytes": 500})
    rows = jsonl([{"prompt": "p" * 2500, "chosen": "good", "rejected": "bad"}])
    with TestClient(create_app(few), headers={"Authorization": f"Bearer {owner[1]}"}) as client:
        response = client.post("/v1/datasets", files={"file": ("pairs.jsonl.gz", gzip.compress(rows))})
    assert "POST /v1/uploads" in problem(response, 413, "too_large")["detail"]


def test_dataset_deleted_meanwhile_is_not_found(session: Session, dataset: Dataset) -> None:
    unfinished = versions.new_dataset(session, dataset.owner_id, "no version", "sft")
    session.commit()
    assert [shown.id for shown in views.datasets(session, [dataset, unfinished])] == [dataset.id]
    dataset.name = "changed"
    with session_scope() as other:
        retention.delete(other, blob_store(get_settings()), dataset.id)
    with pytest.raises(NotFound, match="deleted meanwhile"):
        refresh(session, dataset)


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
        ({"files": {"file": ("x", b"")}, "data": {"kind": "x"}}, "#/kind"),
        ({"files": {"file": ("x", GOOD)}, "data": {"bad_rows": "ignore"}}, "#/bad_rows"),
        ({"files": {"file": ("x", GOOD)}, "data": {"mapping": "{"}}, "#/mapping"),
        ({"files": {"file": ("x", GOOD)}, "data": {"mapping": "[]"}}, "#/mapping"),
        (
            {"files": {"file": ("x", GOOD)}, "data": {"mapping": '{"fields": {"prompt": "a\\u0000b"}}'}},
            "#/mapping/fields/prompt",
        ),
        ({"files": {"file": ("..", GOOD)}}, "#/filename"),
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


def test_dataset_request_neither_form_nor_json_is_refused(client: TestClient) -> None:
    headers = {"Content-Type": "text/csv"}
    problem(client.post("/v1/datasets", content=b"prompt", headers=headers), 415, "wrong_media_type")


@pytest.mark.parametrize(
    ("content", "pointer"),
    [
        (b"{", "#"),
        (b"[]", "#"),
        (b"\xff", "#"),
        (b"{}", "#/upload"),
        (b'{"upload": 7}', "#/upload"),
        (b'{"upload": "up_x", "kind": "x"}', "#/kind"),
        (b'{"upload": "up_x", "bad_rows": "x"}', "#/bad_rows"),
        (b'{"upload": "up_x", "nmae": "x"}', "#/nmae"),
    ],
)
def test_json_that_is_wrong(client: TestClient, content: bytes, pointer: str) -> None:
    response = client.post("/v1/datasets", content=content, headers={"Content-Type": "application/json"})
    assert problem(response, 422, "invalid_request")["errors"][0]["pointer"] == pointer


def test_json_with_a_key_twice(client: TestClient) -> None:
    body = b'{"upload": "up_x", "upload": "up_y"}'
    response = client.post("/v1/datasets", content=body, headers={"Content-Type": "application/json"})
    assert "twice" in problem(response, 422, "invalid_request")["detail"]


def test_dataset_without_a_kind_has_it_detected(client: TestClient) -> None:
    made = client.post("/v1/datasets", files={"file": ("pairs.jsonl", GOOD)}).json()
    assert (made["kind"], made["rows"]) == ("preferences", 3)


def test_bad_rows_may_be_reported_in_place_of_refused(client: TestClient) -> None:
    made = _upload(client, GOOD + b'{"prompt": "p", "chosen": "", "rejected": "r"}\n', bad_rows="report").json()
    assert (made["status"], made["rows"], made["findings"]["blocking"]) == ("blocked", 3, 1)
    (version,) = client.get(f"/v1/datasets/{made['id']}/versions").json()["data"]
    assert (version["left_out"], version["findings"][0]["lines"]) == (1, [4])
    job = {"model": "m", "data": {"preferences": made["id"]}, "ppo": {}}
    document = problem(client.post("/v1/jobs", json=job), 422, "dataset_blocked")
    assert document["param"] == "data.preferences"


def test_an_upload_that_is_too_large(settings: Settings, owner: tuple[ApiKey, str]) -> None:
    small = settings.model_copy(update={"max_request_upload_bytes": 1000})
    with TestClient(create_app(small), headers={"Authorization": f"Bearer {owner[1]}"}) as client:
        assert "/v1/uploads" in problem(_upload(client, GOOD * 1000), 413, "too_large")["detail"]
        assert _upload(client, GOOD).status_code == 201


def test_concurrent_uploads_of_the_same_rows_share_content(client: TestClient, settings: Settings) -> None:
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda number: _upload(client, name=f"{number}"), range(8)))
    assert {answer.status_code for answer in answers} == {201}
    (sha256,) = {answer.json()["sha256"] for answer in answers}
    for answer in answers[1:]:
        assert client.delete(f"/v1/datasets/{answer.json()['id']}").status_code == 204
    assert len(client.get(f"/v1/datasets/{answers[0].json()['id']}/rows").json()["data"]) == 3
    assert [folder.name for folder in (settings.blob_dir / "contents").iterdir()] == [sha256]


def test_dataset_on_full_disk_is_507_and_stores_nothing(
    client: TestClient, session: Session, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(blobs: LocalBlobs, key: str, source: Path) -> None:
        raise DiskFull()

    monkeypatch.setattr(LocalBlobs, "put_file", full)
    problem(_upload(client), 507, "disk_full")
    assert session.scalar(select(func.count()).select_from(Dataset)) == 0
    assert [path for path in settings.data_dir.rglob("*") if path.is_file()] == []


def test_dataset_upload_without_a_key_is_refused(settings: Settings) -> None:
    """The key is looked at before a byte of the body is read."""
    read: list[bytes] = []

    async def receive() -> dict[str, Any]:
        read.append(b"")
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    sent: list[MutableMapping[str, Any]] = []
    headers = [(b"host", b"localhost"), (b"content-type", b"multipart/form-data; boundary=x")]
    scope = {"type": "http", "method": "POST", "path": "/v1/datasets", "query_string": b"", "headers": headers}
    asyncio.run(create_app(settings)(scope, receive, send))
    assert sent[0]["status"] == 401 and read == []


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "a/b", "..", "<script>", "5.00\u202fPM \U0001f469\u200d\U0001f4bb"]
)
def test_a_name_is_only_a_name(client: TestClient, settings: Settings, name: str) -> None:
    made = _upload(client, name=name).json()
    assert made["name"] == name
    found = sorted(path for path in settings.data_dir.rglob("*") if path.is_file())
    place = settings.blob_dir / "contents" / made["sha256"]
    assert found == [place / "rows.jsonl", place / "rows.u64"]


def test_datasets_are_listed_newest_first_by_cursor_and_by_kind(
    client: TestClient, session: Session, owner: tuple[ApiKey, str]
) -> None:
    ids = []
    for kind in (DatasetKind.PREFERENCES, DatasetKind.SFT, DatasetKind.PREFERENCES):
        ids.append(make_dataset(session, owner[0].owner_id, kind).id)
        session.commit()
    page = client.get("/v1/datasets?limit=2").json()
    assert [row["id"] for row in page["data"]] == [ids[2], ids[1]]
    assert (page["has_more"], page["first_id"], page["last_id"]) == (True, ids[2], ids[1])
    rest = client.get(f"/v1/datasets?limit=2&after={page['last_id']}").json()
    assert [row["id"] for row in rest["data"]] == [ids[0]] and not rest["has_more"]
    assert [row["id"] for row in client.get("/v1/datasets?order=asc").json()["data"]] == ids
    assert [row["id"] for row in client.get("/v1/datasets?kind=sft").json()["data"]] == [ids[1]]


def test_another_key_s_dataset_is_absent(client: TestClient, session: Session) -> None:
    theirs = make_dataset(session, make_key(session).owner_id)
    session.commit()
    for path in (f"/v1/datasets/{theirs.id}", f"/v1/datasets/{theirs.id}/rows"):
        problem(client.get(path), 404, "not_found")
    problem(client.delete(f"/v1/datasets/{theirs.id}"), 404, "not_found")
    assert client.get("/v1/datasets").json()["data"] == []
    assert client.get(f"/v1/datasets?after={theirs.id}").status_code == 422


def test_delete_dataset_removes_its_rows(client: TestClient, dataset: Dataset, settings: Settings) -> None:
    assert client.delete(f"/v1/datasets/{dataset.id}").status_code == 204
    problem(client.get(f"/v1/datasets/{dataset.id}"), 404, "not_found")
    assert [path for path in settings.blob_dir.rglob("*") if path.is_file()] == []


def test_a_dataset_in_use_stays(client: TestClient, session: Session, owner: tuple[ApiKey, str]) -> None:
    job = make_job(session, owner[0].owner_id)
    response = client.delete(f"/v1/datasets/{dataset_id_of(job)}")
    assert problem(response, 409, "dataset_in_use")["jobs"] == [job.id]
    assert response.headers["x-should-retry"] == "false"


def test_datasets_are_found_by_their_names(client: TestClient) -> None:
    for name in ("Reviews 100%", "Stories", "reviews_2"):
        _upload(client, name=name)

    def found(search: str) -> list[str]:
        return [row["name"] for row in client.get("/v1/datasets", params={"search": search}).json()["data"]]

    assert (found("REVIEWS"), found("%"), found("_"), found("x")) == (
        ["reviews_2", "Reviews 100%"],
        ["Reviews 100%"],
        ["reviews_2"],
        [],
    )


def test_archived_dataset_is_hidden_from_lists_but_usable(client: TestClient, dataset: Dataset) -> None:
    put_aside = client.post(f"/v1/datasets/{dataset.id}/archive").json()
    assert put_aside["archived_at"] is not None
    assert client.post(f"/v1/datasets/{dataset.id}/archive").json() == put_aside
    assert client.get("/v1/datasets").json()["data"] == []
    assert [row["id"] for row in client.get("/v1/datasets?archived=true").json()["data"]] == [dataset.id]
    job = {"model": "m", "data": {"preferences": dataset.id}, "ppo": {}}
    assert client.post("/v1/jobs", json=job).status_code == 201
    assert client.post(f"/v1/datasets/{dataset.id}/unarchive").json()["archived_at"] is None
    assert len(client.get("/v1/datasets").json()["data"]) == 1


def test_a_dataset_is_renamed_and_kept_for_a_time(client: TestClient, dataset: Dataset) -> None:
    path = f"/v1/datasets/{dataset.id}"
    changed = client.patch(path, json={"name": "better", "expires_at": "2099-01-01T02:00:00+02:00"}).json()
    assert (changed["name"], changed["expires_at"]) == ("better", "2099-01-01T00:00:00Z")
    assert client.patch(path, json={}).json() == changed
    kept = client.patch(path, json={"expires_at": None}).json()
    assert kept == {**changed, "expires_at": None, "etag": kept["etag"]}


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"name": ""}, "#/name"),
        ({"name": "a\nb"}, "#/name"),
        ({"expires_at": "2001-01-01T00:00:00Z"}, "#/expires_at"),
        ({"expires_at": "2099-01-01T00:00:00"}, "#/expires_at"),
        ({"kind": "sft"}, "#/kind"),
    ],
)
def test_a_change_that_is_wrong(client: TestClient, dataset: Dataset, change: dict[str, Any], pointer: str) -> None:
    document = problem(client.patch(f"/v1/datasets/{dataset.id}", json=change), 422, "invalid_request")
    assert document["errors"][0]["pointer"] == pointer


def send(client: TestClient, content: bytes, **said: str) -> Response:
    return client.post("/v1/datasets", data=said, files={"file": ("x.jsonl", content)})


def test_unclear_file_error_suggests_a_mapping_that_works(client: TestClient) -> None:
    content = jsonl([{"query": "q", "left": {"text": "x"}, "right": {"text": "y"}, "vote": "left"}])
    body = problem(send(client, content), 422, "format_unclear")
    assert body["suggested"] == {
        "fields": {"prompt": "query", "a": "left.text", "b": "right.text", "label": "vote"},
        "labels": {"left": "a"},
    }
    made = send(client, content, format="custom", mapping=json.dumps(body["suggested"]))
    assert made.status_code == 201 and made.json()["rows"] == 1


def test_a_file_is_read_in_the_encoding_that_is_named(client: TestClient) -> None:
    text = '{"prompt": "Où est le garçon ?", "chosen": "À l’école, déjà très tôt.", "rejected": "No."}\n'
    body = problem(send(client, text.encode("cp1252"), kind="preferences"), 422, "invalid_dataset")
    assert "it looks like cp1252: set encoding to the right one" in body["detail"]
    assert (len(body["errors"]), body["encodings"][0]) == (1, "cp1252")
    made = send(client, text.encode("cp1252"), encoding="Windows-1252").json()
    assert made["origin"]["encoding"] == "cp1252"
    (row,) = client.get(f"/v1/datasets/{made['id']}/rows").json()["data"]
    assert row["row"]["prompt"] == "Où est le garçon ?"
    assert problem(send(client, b"{}", encoding="klingon"), 422, "invalid_request")["param"] == "encoding"
