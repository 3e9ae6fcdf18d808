"""Ids that the owner gives to jobs and datasets."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from core.access import keys
from core.db import session_scope
from core.errors import ExternalIdTaken
from core.external_ids import refuse_taken, set_external_id
from core.models import Job
from tests.api.problem_checks import problem
from tests.core.factories import make_job

FILE = b'{"prompt": "p", "chosen": "a", "rejected": "b"}\n'


def test_external_id_of_a_job_is_unique_and_found(
    client: TestClient, session: Session, body: dict[str, Any], anonymous: TestClient
) -> None:
    made = client.post("/v1/jobs?external_id=ci/42", json=body).json()
    assert made["external_id"] == "ci/42" and client.get(f"/v1/jobs/{made['id']}").json()["external_id"] == "ci/42"
    other = client.post("/v1/jobs", json=body).json()
    assert other["external_id"] is None
    refused = problem(client.post("/v1/jobs?external_id=ci/42", json=body), 409, "external_id_taken")
    assert (refused["existing"], refused["param"]) == (made["id"], "external_id") and made["id"] in refused["detail"]
    assert [one["id"] for one in client.get("/v1/jobs?external_id=ci/42").json()["data"]] == [made["id"]]
    assert client.get("/v1/jobs?external_id=ci/4").json()["data"] == []
    clone = client.post(f"/v1/jobs/{made['id']}/clone")
    assert clone.json()["external_id"] is None
    _, text = keys.create_key(session, "second")
    session.commit()
    theirs = {"Authorization": f"Bearer {text}"}
    assert anonymous.get("/v1/jobs?external_id=ci/42", headers=theirs).json()["data"] == []


@pytest.mark.parametrize("bad", ["", "x" * 201, "a%00", "a%0Ab"])
def test_external_id_that_is_not_valid_is_refused(client: TestClient, body: dict[str, Any], bad: str) -> None:
    refused = problem(client.post(f"/v1/jobs?external_id={bad}", json=body), 422, "invalid_request")
    assert refused["errors"][0]["pointer"] == "?external_id"


def test_external_id_of_a_dataset_is_unique_and_freed(client: TestClient) -> None:
    form: dict[str, Any] = {"files": {"file": ("x.jsonl", FILE)}}
    made = client.post("/v1/datasets?external_id=week-7", **form).json()
    assert made["external_id"] == "week-7"
    refused = problem(client.post("/v1/datasets?external_id=week-7", **form), 409, "external_id_taken")
    assert refused["existing"] == made["id"]
    assert [one["id"] for one in client.get("/v1/datasets?external_id=week-7").json()["data"]] == [made["id"]]
    assert client.delete(f"/v1/datasets/{made['id']}").status_code == 204
    assert client.post("/v1/datasets?external_id=week-7", **form).status_code == 201


def test_external_id_of_a_concurrent_creation_is_refused(session: Session) -> None:
    first = make_job(session)
    with session_scope() as racing:
        refuse_taken(racing, Job, first.owner_id, "nightly")
        second = make_job(session, first.owner_id)
        set_external_id(session, first, "nightly")
        session.commit()
        with pytest.raises(ExternalIdTaken) as refused:
            set_external_id(racing, racing.get_one(Job, second.id), "nightly")
    assert refused.value.extras["existing"] == first.id
