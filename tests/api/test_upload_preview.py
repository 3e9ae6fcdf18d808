"""The preview of an upload, before it becomes a dataset."""

import gzip
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx import Response

from core.settings import Settings
from tests.api.problem_checks import problem
from tests.api.test_uploads import create, stored
from tests.core.factories import jsonl

PAIRS = jsonl([{"prompt": f"p{n}", "chosen": "good", "rejected": "bad" if n != 2 else ""} for n in range(1, 4)])


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"upload_part_bytes": 50})


def upload(client: TestClient, content: bytes, filename: str, *, whole: bool = True) -> str:
    """In parts of 50 bytes."""
    made = create(client, bytes=len(content), filename=filename)
    for number in range(1, made["parts"] + whole):
        part = content[(number - 1) * 50 : number * 50]
        assert client.put(f"/v1/uploads/{made['id']}/parts/{number}", content=part).status_code == 200
    if whole:
        assert client.post(f"/v1/uploads/{made['id']}/complete").status_code == 200
    return str(made["id"])


def look(client: TestClient, upload_id: str, **said: Any) -> Response:
    return client.post(f"/v1/uploads/{upload_id}/preview", json=said)


@pytest.mark.parametrize(
    ("content", "compression"), [(PAIRS, "none"), (gzip.compress(PAIRS), "gzip")], ids=["plain", "gzip"]
)
def test_the_first_rows_are_shown_as_they_would_be_stored(
    client: TestClient, settings: Settings, content: bytes, compression: str
) -> None:
    upload_id = upload(client, content, "pairs.jsonl")
    before = stored(settings)
    seen = look(client, upload_id).json()
    assert (seen["object"], seen["container"], seen["compression"]) == ("upload.preview", "jsonl", compression)
    assert (seen["plan"]["format"], seen["plan"]["kind"]) == ("trl_explicit", "preferences")
    assert seen["rows"][0]["row"] == {"prompt": "p1", "a": "good", "b": "bad", "label": "a"}
    assert (seen["rows"][1]["line"], seen["rows"][1]["row"]) == (2, None) and seen["rows"][1]["problem"]
    assert client.post(f"/v1/uploads/{upload_id}/preview").json() == seen
    assert stored(settings) == before


def test_upload_preview_uses_the_requested_format(client: TestClient) -> None:
    upload_id = upload(client, b"q,good,bad\nWhy?,Because.,No.\n", "x.csv")
    fields = {"prompt": "q", "chosen": "good", "rejected": "bad"}
    seen = look(client, upload_id, format="custom", kind="preferences", mapping={"fields": fields}).json()
    assert seen["rows"][0]["row"] == {"prompt": "Why?", "a": "Because.", "b": "No.", "label": "a"}
    problem(look(client, upload_id, formt="custom"), 422, "invalid_request")


def test_upload_preview_of_incomplete_upload_is_refused(client: TestClient) -> None:
    problem(look(client, upload(client, PAIRS, "x.jsonl", whole=False)), 409, "upload_not_complete")
    problem(look(client, "up_gone"), 404, "not_found")


def test_upload_preview_unreadable_file_is_reported(client: TestClient, settings: Settings) -> None:
    cut_off = gzip.compress(PAIRS * 100)[:-20]
    upload_id = upload(client, cut_off, "x.jsonl.gz")
    before = stored(settings)
    problem(look(client, upload_id), 422, "invalid_dataset")
    assert stored(settings) == before
