"""The figures and limits of all projects, for operators."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select
from sqlalchemy.orm import Session

from core.access import keys
from core.models import ApiKey, AuditRow, Project
from tests.api.problem_checks import problem
from tests.api.test_members import signed_in
from tests.core.factories import make_job

Key = tuple[ApiKey, str]


@pytest.fixture
def operator(client: TestClient, session: Session, owner: Key) -> TestClient:
    session.get_one(ApiKey, owner[0].id).operator = True
    session.commit()
    return client


@pytest.fixture
def other(session: Session) -> Key:
    made = keys.create_key(session, "elsewhere")
    session.commit()
    return made


def test_operator_sees_the_use_of_every_project(
    operator: TestClient, session: Session, owner: Key, other: Key, body: dict[str, Any]
) -> None:
    operator.post("/v1/jobs", json=body)
    session.get_one(Project, other[0].owner_id).quotas = {"gpus": 4}
    session.commit()
    found = operator.get("/v1/admin/projects", params={"order": "asc"}).json()["data"]
    shown = {one["id"]: (one["name"], one["members"], one["usage"]["used"]["open_jobs"]) for one in found}
    assert shown == {owner[0].owner_id: ("tester", 1, 1), other[0].owner_id: ("elsewhere", 1, 0)}
    (limited,) = [one for one in found if one["own_limits"]]
    assert (limited["own_limits"], limited["usage"]["limits"]["gpus"]) == (["gpus"], 4)
    (newest,) = operator.get("/v1/admin/projects", params={"limit": 1}).json()["data"]
    rest = operator.get("/v1/admin/projects", params={"limit": 1, "after": newest["id"]}).json()
    assert [one["id"] for one in rest["data"]] != [newest["id"]] and not rest["has_more"]


def test_limits_of_a_project_are_replaced(
    operator: TestClient, session: Session, other: Key, body: dict[str, Any]
) -> None:
    path = f"/v1/admin/projects/{other[0].owner_id}/quotas"
    first = operator.put(path, json={"open_jobs": 0, "stored_bytes": None}).json()
    assert first["own_limits"] == ["open_jobs", "stored_bytes"]
    assert (first["usage"]["limits"]["open_jobs"], first["usage"]["limits"]["stored_bytes"]) == (0, None)
    member = signed_in(operator, other[1])
    assert member.get("/v1/usage").json()["limits"]["open_jobs"] == 0
    second = operator.put(path, json={"when_exceeded": "refuse"}).json()
    assert second["own_limits"] == ["when_exceeded"]
    assert second["usage"]["limits"]["open_jobs"] == operator.get("/v1/usage").json()["limits"]["open_jobs"]
    session.expire_all()
    assert session.get_one(Project, other[0].owner_id).quotas == {"when_exceeded": "refuse"}


def test_change_of_limits_is_in_the_log_of_that_project(operator: TestClient, session: Session, other: Key) -> None:
    operator.put(f"/v1/admin/projects/{other[0].owner_id}/quotas", json={"gpus": 2})
    (row,) = session.scalars(select(AuditRow).where(AuditRow.action == "set_project_quotas")).all()
    assert (row.project_id, row.user_name, row.object_kind) == (other[0].owner_id, "tester", "project")
    assert row.changes[0]["after"]["quotas"] == {"gpus": 2}


@pytest.mark.parametrize("body", [{"gpus": -1}, {"gpus": 2**53 + 1}, {"gpu": 1}, {"when_exceeded": "wait"}])
def test_impossible_limits_are_refused(operator: TestClient, other: Key, body: dict[str, Any]) -> None:
    path = f"/v1/admin/projects/{other[0].owner_id}/quotas"
    problem(operator.put(path, json=body), 422, "invalid_request")
    problem(operator.put("/v1/admin/projects/prj_nope/quotas", json={}), 404, "not_found")


def test_operator_lists_the_jobs_of_all_projects(
    operator: TestClient, session: Session, owner: Key, other: Key
) -> None:
    mine, theirs = make_job(session, owner[0].owner_id), make_job(session, other[0].owner_id)
    session.commit()
    found = operator.get("/v1/admin/jobs").json()["data"]
    assert {(one["id"], one["project"]["name"]) for one in found} == {(mine.id, "tester"), (theirs.id, "elsewhere")}
    assert not {"spec", "name", "latest_metrics", "summary"} & found[0].keys()
    only = operator.get("/v1/admin/jobs", params={"project": other[0].owner_id, "status": "queued"}).json()["data"]
    assert [one["id"] for one in only] == [theirs.id]
    assert operator.get("/v1/admin/jobs", params={"status": "failed"}).json()["data"] == []


def test_other_keys_see_and_set_nothing(client: TestClient, session: Session, owner: Key, other: Key) -> None:
    """A refused change is in the log of its caller, not in that of the project which it names."""
    path = f"/v1/admin/projects/{other[0].owner_id}/quotas"
    problem(client.get("/v1/admin/projects"), 403, "not_operator")
    problem(client.get("/v1/admin/jobs"), 403, "not_operator")
    problem(client.put(path, json={"gpus": 0}), 403, "not_operator")
    (row,) = session.scalars(select(AuditRow).where(AuditRow.action == "set_project_quotas")).all()
    assert (row.project_id, row.status) == (owner[0].owner_id, 403)
    assert session.get_one(Project, other[0].owner_id).quotas == {}
