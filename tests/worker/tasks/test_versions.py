"""From an upload in parts to a version that jobs can use, through the real API and the real handlers."""

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from core import tasks
from core.datasets import search
from core.datasets.importing import Imported
from core.db import after_commit, session_scope
from core.models import DatasetPrompt, DatasetVersion, DataTask
from core.settings import Settings, get_settings
from tests.api.problem_checks import problem
from tests.core.factories import jsonl
from tests.worker.tasks.tools import drain_all
from worker.sweeper import sweep_data
from worker.tasks import attempt, index
from worker.tasks.context import TaskContext

PAIRS = [{"prompt": f"question {n}", "chosen": f"good {n}", "rejected": f"bad {n}"} for n in range(2500)]
Make = Callable[..., dict[str, Any]]


@pytest.fixture
def settings(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("PROXIMAL_UPLOAD_PART_BYTES", "50000")
    get_settings.cache_clear()
    # Reports have tests of their own.
    monkeypatch.setitem(attempt.HANDLERS, "report", lambda task: None)
    return get_settings()


def upload(client: TestClient, content: bytes, filename: str = "pairs.jsonl") -> str:
    made = client.post("/v1/uploads", json={"filename": filename, "bytes": len(content)}).json()
    size = made["part_bytes"]
    for number, start in enumerate(range(0, len(content), size), 1):
        part = client.put(f"/v1/uploads/{made['id']}/parts/{number}", content=content[start : start + size])
        assert part.status_code == 200, part.text
    assert client.post(f"/v1/uploads/{made['id']}/complete", json={}).status_code == 200
    return str(made["id"])


def imported(client: TestClient, settings: Settings, content: bytes, **wanted: Any) -> dict[str, Any]:
    """The dataset after all queued tasks were run."""
    response = client.post("/v1/datasets", json={"upload": upload(client, content), **wanted})
    assert response.status_code == 202, response.text
    assert (response.json()["status"], response.json()["rows"]) == ("importing", None)
    drain_all(settings)
    found: dict[str, Any] = client.get(f"/v1/datasets/{response.json()['id']}").json()
    return found


def test_an_upload_becomes_rows_that_are_found(client: TestClient, settings: Settings) -> None:
    made = imported(client, settings, gzip.compress(jsonl(PAIRS)), name="mine")
    assert (made["status"], made["name"], made["kind"], made["rows"]) == ("ready", "mine", "preferences", 2500)
    origin = made["origin"]
    assert (origin["compression"], origin["filename"], origin["upload"][:3]) == ("gzip", "pairs.jsonl", "up_")
    rows = client.get(f"/v1/datasets/{made['id']}/rows", params={"search": '"question 2499"'}).json()["data"]
    assert [(row["line"], row["row"]["a"]) for row in rows] == [(2500, "good 2499")]
    sides = [client.get(f"/v1/datasets/{made['id']}/rows", params={"split": side}).json() for side in ("train", "eval")]
    assert sides[0]["total"] + sides[1]["total"] == 2500 and 200 < sides[1]["total"] < 300
    with session_scope() as session:
        assert set(session.scalars(select(DataTask.status))) == {"succeeded"}


def test_import_bad_record_blocks_until_resolved(client: TestClient, settings: Settings) -> None:
    made = imported(client, settings, jsonl(PAIRS[:3]) + b'{"prompt": "p" "chosen"\n' + jsonl(PAIRS[3:5]))
    assert (made["status"], made["rows"], made["findings"]["blocking"]) == ("blocked", 5, 1)
    (version,) = client.get(f"/v1/datasets/{made['id']}/versions").json()["data"]
    assert (version["left_out"], version["findings"][0]["lines"]) == (1, [4])
    rows = client.get(f"/v1/datasets/{made['id']}/rows").json()["data"]
    assert [row["line"] for row in rows] == [1, 2, 3, 5, 6]


@pytest.mark.parametrize(("bad_rows", "status"), [("refuse", "failed"), ("leave_out", "ready")])
def test_import_bad_rows_option_decides_about_bad_records(
    client: TestClient, settings: Settings, bad_rows: str, status: str
) -> None:
    made = imported(client, settings, jsonl(PAIRS[:3]) + b"no\n", bad_rows=bad_rows)
    assert made["status"] == status
    if status == "failed":
        assert (made["error"]["code"], made["error"]["errors"][0]["line"]) == ("invalid_dataset", 4)
        assert list((settings.blob_dir / "contents").rglob("*")) == []


def test_import_of_truncated_file_fails_and_leaves_no_file(client: TestClient, settings: Settings) -> None:
    made = imported(client, settings, gzip.compress(jsonl(PAIRS))[:-2000])
    assert (made["status"], made["error"]["code"], made["rows"]) == ("failed", "invalid_dataset", None)
    assert list((settings.data_dir / "scratch").iterdir()) == []
    problem(client.get(f"/v1/datasets/{made['id']}/rows"), 422, "dataset_failed")


def test_import_of_unusable_upload_is_refused_without_a_dataset(client: TestClient) -> None:
    problem(client.post("/v1/datasets", json={"upload": "up_nope"}), 404, "not_found")
    opened = client.post("/v1/uploads", json={"filename": "x", "bytes": 10}).json()
    problem(client.post("/v1/datasets", json={"upload": opened["id"]}), 409, "upload_not_complete")
    unclear = upload(client, json.dumps({"left": "a", "right": "b"}).encode())
    problem(client.post("/v1/datasets", json={"upload": unclear}), 422, "format_unclear")
    assert client.get("/v1/datasets").json()["data"] == []


def test_import_of_deleted_dataset_leaves_no_task_and_no_rows(client: TestClient, settings: Settings) -> None:
    made = client.post("/v1/datasets", json={"upload": upload(client, jsonl(PAIRS))}).json()
    assert client.delete(f"/v1/datasets/{made['id']}").status_code == 204
    assert drain_all(settings) == 0
    assert list((settings.blob_dir / "contents").rglob("*")) == []


def test_one_that_is_cancelled_on_its_way_stops(
    client: TestClient, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = client.post("/v1/datasets", json={"upload": upload(client, jsonl(PAIRS))}).json()
    path = f"/v1/datasets/{made['id']}"
    report = TaskContext.report

    def cancelled_at_the_first_word(task: TaskContext, fraction: float, note: str = "") -> None:
        client.post(f"{path}/tasks/{task.task_id}/cancel")
        task._reported_at = 0.0
        report(task, fraction, note)

    monkeypatch.setattr(TaskContext, "report", cancelled_at_the_first_word)
    drain_all(settings)
    assert client.get(path).json()["error"]["code"] == "cancelled"
    assert list((settings.blob_dir / "contents").rglob("*")) == []


def test_index_resumes_where_its_worker_was_lost(
    client: TestClient, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "_MOST_ROWS", 1000)
    monkeypatch.setattr("worker.process.StopRequest.pause", lambda self, seconds: None)
    add = search.add
    calls: list[int] = []

    def lost_at_the_second(*arguments: Any) -> bool:
        calls.append(arguments[3])
        if len(calls) == 2:
            raise OSError("lost")
        return add(*arguments)

    monkeypatch.setattr(search, "add", lost_at_the_second)
    made = imported(client, settings, jsonl(PAIRS))
    assert calls == [1, 1001, 1001, 2001]
    found = client.get(f"/v1/datasets/{made['id']}/rows", params={"search": "question"}).json()
    assert found["total"] == 2500


def test_index_yields_to_foreground_tasks(
    client: TestClient, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    add = search.add

    def asked_for_meanwhile(*arguments: Any) -> bool:
        done.append(f"rows from {arguments[3]}")
        if len(done) == 1:
            with session_scope() as session:
                owner = session.scalars(select(DataTask.owner_id)).first()
                assert owner is not None
                tasks.enqueue(session, owner, "urgent", {})
        return add(*arguments)

    monkeypatch.setattr(search, "add", asked_for_meanwhile)
    monkeypatch.setitem(attempt.HANDLERS, "urgent", lambda task: done.append("urgent"))
    imported(client, settings, jsonl(PAIRS))
    assert done == ["rows from 1", "urgent", "rows from 1001", "rows from 2001"]
    with session_scope() as session:
        assert set(session.scalars(select(DataTask.status))) == {"succeeded"}


def test_index_without_bands_gets_them_at_first_comparison(client: TestClient, settings: Settings) -> None:
    made = imported(client, settings, jsonl(PAIRS))
    with session_scope() as session:
        session.execute(delete(DatasetPrompt))  # as an older release left it
    compared = {"dataset": made["id"], "other": made["id"]}
    assert client.get("/v1/datasets/overlap", params=compared).json()["near"] is None
    drain_all(settings)
    found = client.get("/v1/datasets/overlap", params=compared).json()
    assert (found["near"]["prompts"], found["exact"]["prompts"]) == (0, 2500)


def test_two_imports_of_one_upload_share_their_rows(client: TestClient, settings: Settings) -> None:
    upload_id = upload(client, jsonl(PAIRS[:5]))
    for _ in range(2):
        assert client.post("/v1/datasets", json={"upload": upload_id}).status_code == 202
    drain_all(settings)
    sums = {row["sha256"] for row in client.get("/v1/datasets").json()["data"]}
    assert len(sums) == 1 and len(list((settings.blob_dir / "contents").iterdir())) == 1
    sweep_data(settings)
    assert len(client.get("/v1/datasets").json()["data"]) == 2


def test_import_upload_is_deletable_once_the_version_is_ready(
    client: TestClient, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user who sees the version as ready may delete the upload."""
    statuses: list[int] = []
    fill = Imported.fill

    def deleted_meanwhile(self: Imported, session: Session, *arguments: Any) -> DatasetVersion:
        version = fill(self, session, *arguments)
        upload_id = version.origin["upload"]
        after_commit(session, lambda: statuses.append(client.delete(f"/v1/uploads/{upload_id}").status_code))
        return version

    monkeypatch.setattr(Imported, "fill", deleted_meanwhile)
    assert imported(client, settings, jsonl(PAIRS[:5]))["status"] == "ready"
    assert statuses == [204]


def test_import_of_file_with_long_name_truncates_it_to_200(client: TestClient, settings: Settings) -> None:
    upload_id = upload(client, jsonl(PAIRS[:5]), "x" * 255)
    assert client.post("/v1/datasets", json={"upload": upload_id}).json()["name"] == "x" * 200
