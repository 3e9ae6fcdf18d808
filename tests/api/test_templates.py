"""Job templates over REST, and the jobs that are submitted from them."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from core.access import keys
from core.jobs.submission import templates
from core.models import Dataset
from tests.api.problem_checks import problem

Body = dict[str, Any]
PPO: Body = {"name": "short PPO", "description": "Ten steps.", "spec": {"ppo": {"steps": 10, "kl": {"coef": 0.1}}}}


def made(client: TestClient, **fields: Any) -> Body:
    response = client.post("/v1/templates", json=PPO | fields)
    assert response.status_code == 201, response.text
    found: Body = response.json()
    return found


def test_template_is_made_listed_changed_and_deleted(client: TestClient) -> None:
    first = made(client)
    assert first["id"].startswith("tpl_") and first["object"] == "job.template"
    assert {name: first[name] for name in PPO} == PPO
    second = made(client, name="other", spec={})
    assert [one["id"] for one in client.get("/v1/templates").json()["data"]] == [second["id"], first["id"]]
    named = client.get("/v1/templates", params={"name": "other"}).json()
    assert [one["id"] for one in named["data"]] == [second["id"]] and named["has_more"] is False
    address = f"/v1/templates/{first['id']}"
    patch = {"description": None, "spec": {"ppo": {"kl": None, "epochs": 2}, "seed": 3}}
    changed = client.patch(address, json=patch).json()
    assert changed["spec"] == {"ppo": {"steps": 10, "epochs": 2}, "seed": 3} and changed["description"] == ""
    assert changed["name"] == "short PPO" and changed["updated_at"] > changed["created_at"]
    assert client.get(address).json() == changed
    assert client.delete(address).status_code == 204
    problem(client.get(address), 404, "not_found")


def test_job_from_a_template_has_its_spec_and_the_changes(client: TestClient, dataset: Dataset) -> None:
    template = made(client, spec=PPO["spec"] | {"model": "some/model"})
    assert template["spec"]["model"] == {"path": "some/model"}
    address = f"/v1/templates/{template['id']}/jobs"
    missing = problem(client.post(address), 422, "invalid_spec")
    assert [error["pointer"] for error in missing["errors"]] == ["#/data"]
    patch = {"data": {"preferences": dataset.id}, "ppo": {"kl": {"coef": 0.3}}, "model": {"dtype": "float32"}}
    group = client.post("/v1/groups", json={"name": "g"}).json()["id"]
    query = {"priority": "low", "group": group, "external_id": "run-7"}
    response = client.post(address, params=query, json={"patch": patch})
    job = response.json()
    problem(client.post(address, params=query, json={"patch": patch}), 409, "external_id_taken")
    assert (response.status_code, job["name"], job["priority"]) == (201, "short PPO", "low")
    assert (job["spec"]["ppo"]["steps"], job["spec"]["ppo"]["kl"]["coef"]) == (10, 0.3)
    assert (job["spec"]["model"]["path"], job["spec"]["model"]["dtype"]) == ("some/model", "float32")
    assert (job["group"]["group_id"], job["external_id"]) == (group, "run-7")
    events = client.get(f"/v1/jobs/{job['id']}/events", params={"types": "message"}).json()["data"]
    assert events[0]["data"]["text"] == f'Submitted from the template "short PPO" ({template["id"]}).'
    named = client.post(address, json={"patch": patch | {"name": "mine"}}).json()
    assert named["name"] == "mine"
    wrong = problem(client.post(address, json={"patch": {"data": {"preferences": "ds_x"}}}), 404, "not_found")
    assert wrong["param"] == "data.preferences"
    assert client.delete(f"/v1/templates/{template['id']}").status_code == 204
    assert client.get(f"/v1/jobs/{job['id']}").json()["spec"] == job["spec"]


def test_template_of_a_deleted_dataset_submits_no_job(client: TestClient, dataset: Dataset) -> None:
    """A clone is refused in the same words: both name the field and the dataset."""
    spec = PPO["spec"] | {"model": "some/model", "data": {"preferences": dataset.id}}
    template = made(client, spec=spec)
    job = client.post("/v1/jobs", json=spec).json()["id"]
    client.post(f"/v1/jobs/{job}/cancel")
    assert client.delete(f"/v1/datasets/{dataset.id}").status_code == 204
    for address in (f"/v1/templates/{template['id']}/jobs", f"/v1/jobs/{job}/clone"):
        found = problem(client.post(address), 404, "not_found")
        assert found["detail"].startswith(
            f"`data.preferences`: There is no dataset {dataset.id!r}. It may have been deleted"
        )
        assert (found["param"], found["errors"][0]["pointer"]) == ("data.preferences", "#/data/preferences")
    assert client.patch(f"/v1/templates/{template['id']}", json={"description": "Kept."}).status_code == 200


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"data": {"eval_fraction": 0.2}},
        {"model": "some/model", "data": {"eval_fraction": 0.2}},
        {"model": {"lora": {}}, "stages": ["dpo"]},
        {"rewards": [{"type": "length"}]},
    ],
)
def test_template_may_lack_what_a_job_needs(client: TestClient, spec: Body) -> None:
    made(client, spec=spec)


@pytest.mark.parametrize(
    ("spec", "pointer"),
    [
        ({"ppo": {"stps": 1}}, "#/ppo/stps"),
        ({"ppo": {"steps": 0}}, "#/ppo/steps"),
        ({"model": 5}, "#/model"),
        ({"name": "\x00"}, "#/name"),
        ({"model": "some/model", "data": {"prompts": "ds_x"}}, "#"),
    ],
)
def test_template_with_an_invalid_field_is_refused(client: TestClient, spec: Body, pointer: str) -> None:
    refused = problem(client.post("/v1/templates", json=PPO | {"spec": spec}), 422, "invalid_spec")
    assert [error["pointer"] for error in refused["errors"]] == [pointer]
    template = made(client)
    refused = problem(client.patch(f"/v1/templates/{template['id']}", json={"spec": spec}), 422, "invalid_spec")
    assert refused["errors"][0]["pointer"] == pointer


def test_template_names_are_unique_for_an_owner(
    client: TestClient, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, other = made(client), made(client, name="other")
    for refused in (
        client.post("/v1/templates", json=PPO),
        client.patch(f"/v1/templates/{other['id']}", json={"name": "short PPO"}),
    ):
        document = problem(refused, 409, "name_taken")
        assert document["param"] == "name" and first["id"] in document["detail"]
    assert client.patch(f"/v1/templates/{first['id']}", json={"name": "short PPO"}).status_code == 200
    for name in ("", " ", None, "x" * 201):
        problem(client.patch(f"/v1/templates/{first['id']}", json={"name": name}), 422, "invalid_request")
    _, text = keys.create_key(session, "second")
    session.commit()
    headers = {"Authorization": f"Bearer {text}"}
    assert client.post("/v1/templates", json=PPO, headers=headers).status_code == 201
    address = f"/v1/templates/{first['id']}"
    for method, path in (("GET", address), ("PATCH", address), ("DELETE", address), ("POST", f"{address}/jobs")):
        body = {} if method in ("PATCH", "POST") else None
        problem(client.request(method, path, headers=headers, json=body), 404, "not_found")
    monkeypatch.setattr(templates, "MOST_TEMPLATES", 2)
    assert problem(client.post("/v1/templates", json=PPO | {"name": "third"}), 429, "quota_exceeded")["limit"] == 2
