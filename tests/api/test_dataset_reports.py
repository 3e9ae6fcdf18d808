"""Reports and fixes over REST; the data worker's part is in tests/worker/tasks/test_reports.py."""

import pytest
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from core import tasks
from core.datasets import reports, versions
from core.models import Dataset, DatasetReport, DataTask
from core.models.tasks import TaskStatus
from tests.api.problem_checks import problem
from tests.core.factories import make_dataset, make_key

RESULT = {
    "summary": {"rows": 3},
    "findings": [
        {"code": "length_bias", "severity": "warning", "title": "t", "detail": "d", "count": 0, "share": None, "lines": [],
         "samples": [], "fix": None},
        {"code": "cycles", "severity": "warning", "title": "t", "detail": "d", "count": 1, "share": 1 / 3, "lines": [2],
         "samples": [{"line": 2, "row": 2, "text": "x"}], "fix": {"id": "drop", "label": "Drop"}},
    ],
    "histograms": [], "languages": [], "length_bias": None, "position": None, "agreement": None, "splits": None,
    "special_tokens": [],
}  # fmt: skip


@pytest.fixture
def path(dataset: Dataset) -> str:
    return f"/v1/datasets/{dataset.id}"


@pytest.fixture
def report(session: Session, dataset: Dataset) -> DatasetReport:
    """A finished one, without a model."""
    made = reports.request(session, versions.get(session, dataset.owner_id, dataset.id))
    made.result = RESULT
    tasks.end(session, session.get_one(DataTask, made.task_id), TaskStatus.SUCCEEDED)
    session.commit()
    return made


def test_every_version_has_a_report_once_it_has_rows(client: TestClient, path: str) -> None:
    (found,) = client.get(f"{path}/reports").json()["data"]
    assert (found["object"], found["version"], found["status"], found["settings"]) == (
        "dataset.report",
        1,
        "queued",
        {},
    )
    assert found["progress"]["note"] == "Waits for a data worker." and found["result"] is None
    again = client.post(f"{path}/reports", json={})
    assert (again.status_code, again.json()["id"]) == (202, found["id"])


def test_report_that_exists_is_returned_at_once(client: TestClient, path: str, report: DatasetReport) -> None:
    response = client.post(f"{path}/reports", json={"version": 1})
    assert response.status_code == 200
    found = client.get(f"{path}/reports/{report.id}").json()
    assert response.json() == found and found["status"] == "succeeded" and found["progress"] is None
    assert [finding["share"] for finding in found["result"]["findings"]] == [None, 1 / 3]


def test_reports_are_listed_newest_first_and_by_version(client: TestClient, path: str, report: DatasetReport) -> None:
    other = client.post(f"{path}/reports", json={"model": "some/model", "max_prompt_tokens": 64})
    assert other.status_code == 202
    assert other.json()["settings"] == {"model": "some/model", "max_prompt_tokens": 64}
    listed = client.get(f"{path}/reports").json()["data"]
    assert [found["id"] for found in listed] == [other.json()["id"], report.id]
    page = client.get(f"{path}/reports?limit=1").json()
    assert (
        page["has_more"] and client.get(f"{path}/reports?after={page['last_id']}").json()["data"][0]["id"] == report.id
    )
    assert client.get(f"{path}/reports?version=2").json()["data"] == []


def test_a_fix_of_a_report_makes_a_version(client: TestClient, path: str, report: DatasetReport) -> None:
    response = client.post(f"{path}/fixes", json={"version": 1, "report": report.id, "findings": ["cycles"]})
    made = response.json()
    assert (response.status_code, made["number"], made["status"], made["parent"]) == (202, 2, "importing", 1)
    assert made["origin"] == {"type": "fix", "version": 1, "report": report.id, "findings": ["cycles"]}
    problem(client.post(f"{path}/fixes", json={"findings": ["cycles"]}), 409, "dataset_not_ready")
    problem(client.post(f"{path}/reports", json={}), 409, "dataset_not_ready")


def test_leaving_out_is_done_at_once(client: TestClient) -> None:
    content = b'{"prompt": "p", "chosen": "c", "rejected": "r"}\nno\n'
    form = {"kind": "preferences", "bad_rows": "report"}
    made = client.post("/v1/datasets", files={"file": ("p.jsonl", content)}, data=form).json()
    assert made["status"] == "blocked"
    response = client.post(f"/v1/datasets/{made['id']}/fixes", json={"findings": ["leave_out"]})
    assert (response.status_code, response.json()["status"]) == (201, "ready")
    assert client.get(f"/v1/datasets/{made['id']}").json()["status"] == "ready"


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "findings"),
        ({"findings": []}, "findings"),
        ({"findings": ["length_bias"]}, "findings"),
        ({"findings": ["cycles"], "versoin": 1}, "versoin"),
    ],
)
def test_fixes_that_there_are_not(
    client: TestClient, path: str, report: DatasetReport, body: object, param: str
) -> None:
    assert problem(client.post(f"{path}/fixes", json=body), 422, "invalid_request")["param"] == param


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"model": ""}, "model"),
        ({"max_prompt_tokens": 0}, "max_prompt_tokens"),
        ({"eval_fraction": 1}, "eval_fraction"),
    ],
)
def test_reports_that_there_are_not(client: TestClient, path: str, body: object, param: str) -> None:
    assert problem(client.post(f"{path}/reports", json=body), 422, "invalid_request")["param"] == param


def test_anothers_are_as_absent_as_none(client: TestClient, session: Session, path: str, report: DatasetReport) -> None:
    other = make_dataset(session, make_key(session, "other").owner_id)
    session.commit()
    theirs = session.query(DatasetReport).filter(DatasetReport.id != report.id).one()
    problem(client.get(f"/v1/datasets/{other.id}/reports"), 404, "not_found")
    problem(client.get(f"{path}/reports/{theirs.id}"), 404, "not_found")
    problem(client.post(f"{path}/fixes", json={"findings": ["cycles"], "report": theirs.id}), 404, "not_found")
    problem(client.post(f"{path}/reports", json={"version": 2}), 404, "not_found")
    problem(client.post(f"{path}/reports", json={"model": "ckpt_x"}), 404, "not_found")
