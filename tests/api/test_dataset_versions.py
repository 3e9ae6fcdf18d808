"""Versions, their rows, and what is being done to them."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select
from sqlalchemy.orm import Session

from core import tasks
from core.blobs import blob_store
from core.datasets import publish, reports, u64, versions
from core.models import ApiKey, Dataset, DatasetVersion, DataTask
from core.settings import Settings
from tests.api.problem_checks import problem
from tests.core.factories import make_dataset, make_index, make_key


@pytest.fixture
def path(dataset: Dataset) -> str:
    return f"/v1/datasets/{dataset.id}"


@pytest.fixture
def second(session: Session, settings: Settings, dataset: Dataset) -> DatasetVersion:
    """A second version, with the rows of the first."""
    first = session.scalars(select(DatasetVersion).filter_by(dataset_id=dataset.id)).one()
    made = publish.same_rows(session, blob_store(settings), first, {"type": "fix", "version": 1, "findings": ["x"]})
    session.commit()
    return made


def test_versions_are_newest_first_with_lineage_and_jobs(
    client: TestClient, path: str, second: DatasetVersion, body: dict[str, object]
) -> None:
    job = client.post("/v1/jobs", json=body).json()
    assert job["spec"]["data"]["preferences"] == f"{second.dataset_id}@sha256:{second.sha256}"
    newest, first = client.get(f"{path}/versions").json()["data"]
    assert (newest["object"], newest["id"], newest["number"], newest["parent"]) == ("dataset.version", second.id, 2, 1)
    assert (first["number"], first["parent"], first["jobs"]) == (1, None, [])
    assert (newest["jobs"], newest["rows"], newest["sha256"]) == ([job["id"]], 3, first["sha256"])
    assert newest["origin"] == {"type": "fix", "version": 1, "findings": ["x"]}
    assert client.get(f"{path}/versions/2").json() == newest
    assert client.get(f"{path}/versions?limit=1&order=asc").json()["data"] == [first]
    assert client.get(path).json()["version"] == 2


def test_a_job_may_name_any_version(client: TestClient, dataset: Dataset, second: DatasetVersion) -> None:
    job = {"model": "m", "data": {"preferences": f"{dataset.id}@1"}, "ppo": {}}
    made = client.post("/v1/jobs", json=job).json()
    assert client.get(f"/v1/datasets/{dataset.id}/versions/1").json()["jobs"] == [made["id"]]
    for wrong, status in (("@3", 404), ("@x", 422), ("@sha256:00000000", 404)):
        job["data"] = {"preferences": f"{dataset.id}{wrong}"}
        assert client.post("/v1/jobs", json=job).json()["param"] == "data.preferences"
        assert client.post("/v1/jobs", json=job).status_code == status


@pytest.mark.parametrize("number", ["0", "3", "99999999999999999999", "x"])
def test_a_version_that_there_is_not(client: TestClient, path: str, number: str) -> None:
    assert client.get(f"{path}/versions/{number}").status_code in (404, 422)


def test_rows_are_read_page_by_page(client: TestClient, path: str) -> None:
    first = client.get(f"{path}/rows?limit=2").json()
    assert [(row["line"], row["row_number"]) for row in first["data"]] == [(1, 1), (2, 2)] and first["has_more"]
    assert first["data"][0]["row"] == {"prompt": "p0", "a": "good", "b": "bad", "label": "a"}
    assert (first["total"], first["data"][0]["split"]) == (3, None)
    rest = client.get(f"{path}/rows?limit=2&after={first['last_id']}").json()
    assert [row["row_number"] for row in rest["data"]] == [3] and not rest["has_more"]
    assert client.get(f"{path}/rows?after=99").json()["data"] == []


def test_rows_have_their_source_line(client: TestClient) -> None:
    content = b'\n{"prompt": "a"}\r\n\n\n{"prompt": "b"}'
    made = client.post("/v1/datasets", files={"file": ("p.jsonl", content)}, data={"kind": "prompts"}).json()
    rows = client.get(f"/v1/datasets/{made['id']}/rows").json()["data"]
    assert [(row["line"], row["row_number"], row["row"]["prompt"]) for row in rows] == [(2, 1, "a"), (5, 2, "b")]


def test_rows_search_split_and_sample_need_the_index(
    client: TestClient, session: Session, path: str, dataset: Dataset
) -> None:
    response = client.get(f"{path}/rows?search=p1")
    problem(response, 409, "search_not_ready")
    assert response.headers["x-should-retry"] == "true" and "retry-after" in response.headers
    make_index(session, versions.get(session, dataset.owner_id, dataset.id))
    session.commit()
    found = client.get(f"{path}/rows?search=p1").json()
    assert [row["row_number"] for row in found["data"]] == [2] and found["total"] == 1
    sides = [client.get(f"{path}/rows?split={side}").json()["data"] for side in ("train", "eval")]
    assert sorted(row["row_number"] for side in sides for row in side) == [1, 2, 3]
    assert {row["split"] for row in sides[1]} == {"eval"}
    assert len(client.get(f"{path}/rows?sample=2&seed=5").json()["data"]) == 2


@pytest.mark.parametrize(
    "query", ["split=both", "sample=0", "sample=101", "eval_fraction=1", "version=0", "seed=-1", "after=-1"]
)
def test_a_question_that_makes_no_sense(client: TestClient, path: str, query: str) -> None:
    problem(client.get(f"{path}/rows?{query}"), 422, "invalid_request")


def test_rows_of_a_finding_and_what_it_counts_for(
    client: TestClient, session: Session, settings: Settings, path: str, dataset: Dataset, tmp_path: Path
) -> None:
    report = reports.request(session, versions.get(session, dataset.owner_id, dataset.id))
    report.result = {"findings": [{"severity": "warning"}, {"severity": "blocking"}, {"severity": "info"}]}
    session.commit()
    (tmp_path / "rows").write_bytes(u64.packed([3]))
    blob_store(settings).put_file(reports.rows_key(report.id, "empty"), tmp_path / "rows")
    rows = client.get(f"{path}/rows?finding=empty").json()["data"]
    assert [row["row_number"] for row in rows] == [3]
    problem(client.get(f"{path}/rows?finding=../x"), 404, "not_found")
    assert client.get(path).json()["findings"] == {"blocking": 1, "warning": 1}


def test_an_import_shows_its_progress_and_can_be_stopped(
    client: TestClient, session: Session, owner: tuple[ApiKey, str]
) -> None:
    dataset = versions.new_dataset(session, owner[0].owner_id, "slow", "sft")
    version = versions.new_version(session, dataset, {"type": "upload"})
    task = tasks.enqueue(session, owner[0].owner_id, "import", {"dataset": dataset.id, "version": version.id})
    claim = tasks.claim(session, "dwk_test")
    assert claim is not None and claim.task_id == task.id
    tasks.report_progress(session, claim, 0.25, "half of the half")
    session.commit()
    path = f"/v1/datasets/{dataset.id}"
    shown = client.get(path).json()
    assert (shown["status"], shown["rows"]) == ("importing", None)
    assert shown["progress"] == {"fraction": 0.25, "note": "half of the half", "place": None}
    problem(client.get(f"{path}/rows"), 409, "dataset_not_ready")
    (told,) = client.get(f"{path}/tasks").json()["data"]
    assert (told["object"], told["id"], told["status"]) == ("data.task", task.id, "running")
    assert client.post(f"{path}/tasks/{task.id}/cancel").json()["status"] == "cancelled"
    failed = client.get(path).json()
    assert (failed["status"], failed["progress"], failed["error"]["code"]) == ("failed", None, "cancelled")
    problem(client.get(f"{path}/rows"), 422, "dataset_failed")


def test_another_key_s_tasks_are_absent(client: TestClient, session: Session, path: str) -> None:
    theirs = make_dataset(session, make_key(session).owner_id)
    session.commit()
    (task, *_) = session.scalars(select(DataTask.id).where(tasks.argument("dataset") == theirs.id)).all()
    problem(client.get(f"/v1/datasets/{theirs.id}/tasks"), 404, "not_found")
    problem(client.post(f"{path}/tasks/{task}/cancel"), 404, "not_found")
