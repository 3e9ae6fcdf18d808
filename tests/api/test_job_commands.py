"""Live knobs and commands over REST."""

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from core.jobs.actions.commands import settle_commands
from core.jobs.lifecycle import attempts
from core.jobs.lifecycle.actors import PLATFORM
from core.jobs.lifecycle.state import Request, request
from core.models import ApiKey, Job
from core.models.jobs import JobStatus
from tests.api.problem_checks import problem
from tests.core.factories import make_job, make_key, running
from trainer.events import CommandRefused, KnobChanged

RATE = {"minimum": 0.0, "exclusive_minimum": True, "maximum": 1.0, "exclusive_maximum": True}


@pytest.fixture
def key(owner: tuple[ApiKey, str]) -> ApiKey:
    return owner[0]


@pytest.fixture
def job(session: Session, key: ApiKey) -> Iterator[Job]:
    """A job in PPO."""
    made = make_job(session, key.owner_id)
    running(session, made)
    session.refresh(made)
    yield made


def test_knobs_have_their_values_ranges_and_reasons(client: TestClient, job: Job) -> None:
    found = client.get(f"/v1/jobs/{job.id}/knobs").json()
    knobs = {knob["name"]: knob for knob in found["knobs"]}
    assert (found["stage"], found["pending"]) == ("ppo", [])
    assert knobs["kl_coef"]["value"] == 0.05 and knobs["kl_coef"]["field"] == "ppo.kl.coef"
    assert knobs["learning_rate"].items() >= (RATE | {"value": 3e-6, "available": True}).items()
    assert not knobs["kl_target"]["available"] and "has no target" in knobs["kl_target"]["reason"]


def test_commands_are_stored_with_their_actor_and_settled(
    client: TestClient, session: Session, job: Job, key: ApiKey
) -> None:
    address = f"/v1/jobs/{job.id}/commands"
    made = client.post(address, json={"kl_coef": 0.2, "learning_rate": 1e-6, "evaluate": True})
    assert made.status_code == 201
    rate, coef, evaluate = made.json()["data"]
    assert (coef["name"], coef["value"], coef["status"], coef["stage"]) == ("kl_coef", 0.2, "pending", "ppo")
    assert coef["actor"] == {"kind": "api_key", "id": key.id, "name": key.name}
    assert (evaluate["name"], evaluate["value"]) == ("evaluate", None)
    assert [one["id"] for one in client.get(f"/v1/jobs/{job.id}/knobs").json()["pending"]] == [
        rate["id"], coef["id"], evaluate["id"]
    ]  # fmt: skip
    changed = {"stage": "ppo", "step": 4, "name": "kl_coef", "from": 0.05, "to": 0.2, "command": coef["id"]}
    refused = CommandRefused(stage="ppo", step=4, name="learning_rate", command=rate["id"], reason="No.")
    for _ in range(2):  # a resumed run reports it again
        settle_commands(session, job.id, [KnobChanged.model_validate(changed), refused])
        changed["step"] = 9
    session.commit()
    rows = client.get(address).json()["data"]
    assert [(one["status"], one["step"], one["value_before"], one["reason"]) for one in rows] == [
        ("refused", 4, None, "No."), ("applied", 4, 0.05, None), ("pending", None, None, None)
    ]  # fmt: skip
    knobs = {knob["name"]: knob["value"] for knob in client.get(f"/v1/jobs/{job.id}/knobs").json()["knobs"]}
    assert (knobs["kl_coef"], knobs["learning_rate"]) == (0.2, 3e-6)


@pytest.mark.parametrize(
    ("body", "status", "code", "detail"),
    [
        ({"kl_coef": -1}, 422, "knob_out_of_range", "`kl_coef` must be at least 0 and at most 100; it is -1."),
        ({"learning_rate": 1, "kl_coef": 0.1}, 422, "knob_out_of_range", "must be above 0 and below 1"),
        ({"kl_coef": 1e9}, 422, "knob_out_of_range", "`kl_coef` must be at least 0 and at most 100; it is 1e+09."),
        ({"kl_target": 3}, 409, "knob_unavailable", "has no target"),
        ({}, 422, "invalid_request", "names no command"),
        ({"kl_coef": "0.1"}, 422, "invalid_request", "kl_coef"),
        ({"batch_size": 3}, 422, "invalid_request", "batch_size"),
    ],
)
def test_wrong_command_stores_nothing(
    client: TestClient, job: Job, body: dict[str, Any], status: int, code: str, detail: str
) -> None:
    document = problem(client.post(f"/v1/jobs/{job.id}/commands", json=body), status, code)
    assert detail in document["detail"]
    assert client.get(f"/v1/jobs/{job.id}/commands").json()["data"] == []
    if code == "knob_out_of_range":
        assert document["allowed_range"]["minimum"] == 0


def test_job_that_does_not_run_takes_no_commands(client: TestClient, session: Session, key: ApiKey, job: Job) -> None:
    queued = make_job(session, key.owner_id)
    for id_ in (queued.id, job.id):
        if id_ == job.id:
            request(session, job, Request.CANCEL, PLATFORM)
            session.commit()
        document = problem(client.post(f"/v1/jobs/{id_}/commands", json={"evaluate": True}), 409, "job_not_running")
        assert "Only a job that is starting or running" in document["detail"]
    problem(client.get(f"/v1/jobs/{queued.id}/knobs"), 409, "job_not_running")


def test_several_seeds_have_no_knobs(client: TestClient, session: Session, key: ApiKey) -> None:
    job = make_job(session, key.owner_id, seeds=2)
    running(session, job)
    problem(client.post(f"/v1/jobs/{job.id}/commands", json={"evaluate": True}), 409, "knob_unavailable")
    found = client.get(f"/v1/jobs/{job.id}/knobs").json()["knobs"]
    assert not any(knob["available"] for knob in found) and "several seeds" in found[0]["reason"]


def test_knobs_of_an_ended_job_are_not_available(client: TestClient, session: Session, job: Job) -> None:
    attempts.finish(session, job.id, 1, JobStatus.SUCCEEDED, "Done.")
    session.commit()
    *_, coef, target = client.get(f"/v1/jobs/{job.id}/knobs").json()["knobs"]
    assert (coef["name"], coef["value"], coef["maximum"], coef["available"]) == ("kl_coef", 0.05, 100.0, False)
    assert coef["reason"] == "The job is succeeded. Only a job that is starting or running takes commands."
    assert (target["value"], target["available"]) == (None, False) and "has no target" in target["reason"]


def test_commands_of_another_owner_are_not_found(client: TestClient, session: Session) -> None:
    theirs = make_job(session, make_key(session).owner_id)
    for method, path in (("POST", "commands"), ("GET", "commands"), ("GET", "knobs")):
        body = {"json": {"evaluate": True}} if method == "POST" else {}
        problem(client.request(method, f"/v1/jobs/{theirs.id}/{path}", **body), 404, "not_found")
