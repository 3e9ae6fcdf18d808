"""Archive, delete and extend over REST: in which states, by whom, and what is freed."""

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx import Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from core.access import keys
from core.blobs import blob_store
from core.jobs.checkpoints.checkpoints import CheckpointFile, record_checkpoint
from core.jobs.lifecycle import attempts
from core.jobs.lifecycle.state import TRANSITIONS
from core.models import ApiKey, Checkpoint, Job, JobEvent
from core.models.jobs import JobStatus
from core.settings import Settings
from tests.api.problem_checks import problem
from tests.core.factories import make_job, running
from trainer.events import CheckpointSaved

SPEC: dict[str, Any] = {"ppo": {"steps": 20, "lr_schedule": "constant", "warmup_ratio": 0.0}}
STATE: list[CheckpointFile] = [
    {"path": "trainer_state/state.json", "bytes": 7, "sha256": hashlib.sha256(b"weights").hexdigest()}
]
MakeJob = Callable[..., Job]


@pytest.fixture
def a_job(session: Session, settings: Settings, owner: tuple[ApiKey, str]) -> MakeJob:
    """Make a job of the owner in a state. It has results before PPO and a state of PPO, each with a file."""

    def make(status: JobStatus) -> Job:
        job = make_job(session, owner[0].owner_id, **SPEC)
        attempt = running(session, job)
        for number, (stage, final) in enumerate((("sft", True), ("reward_model", True), ("ppo", False)), 1):
            path = f"checkpoints/{stage}" + ("" if final else "-000010")
            prefix = f"jobs/{job.id}/checkpoints/1-{number}/{path}"
            event = {"stage": stage, "step": 10, "path": path, "final": final}
            record_checkpoint(session, job.id, attempt, CheckpointSaved.model_validate(event), STATE, prefix)
            with blob_store(settings).draft(f"{prefix}/{STATE[0]['path']}") as draft:
                draft.write(b"weights")
                draft.keep()
        if status is not JobStatus.RUNNING:
            error = {"code": "diverged", "message": ""} if status is JobStatus.FAILED else None
            attempts.finish(session, job.id, attempt, status, "", error=error)
        session.commit()
        return job

    return make


def listed(client: TestClient, **params: Any) -> list[str]:
    return [job["id"] for job in client.get("/v1/jobs", params=params).json()["data"]]


def test_archived_job_leaves_the_list_until_unarchived(client: TestClient, a_job: MakeJob) -> None:
    job = a_job(JobStatus.SUCCEEDED)
    for _ in range(2):  # the second request changes nothing
        archived = client.post(f"/v1/jobs/{job.id}/archive").json()
        assert archived["archived_at"] is not None and archived["status"] == "succeeded"
    assert (listed(client), listed(client, archived=True)) == ([], [job.id])
    assert client.post(f"/v1/jobs/{job.id}/unarchive").json()["archived_at"] is None
    assert (listed(client), listed(client, archived=True)) == ([job.id], [])


def test_unfinished_job_is_neither_archived_nor_deleted(client: TestClient, a_job: MakeJob) -> None:
    job = a_job(JobStatus.RUNNING)
    refusals = [
        client.post(f"/v1/jobs/{job.id}/archive"),
        client.delete(f"/v1/jobs/{job.id}"),
        client.post(f"/v1/jobs/{job.id}/extend", json={"steps": 30}),
    ]
    for refused in refusals:
        document = problem(refused, 409, "job_not_ended")
        assert f"{job.id} is running" in document["detail"] and document["requests"] == ["cancel", "pause"]
    assert client.get(f"/v1/jobs/{job.id}").json()["status"] == "running"
    for done, next_ in (("pause", "pausing"), ("cancel", "cancelling")):
        assert client.post(f"/v1/jobs/{job.id}/{done}").json()["status"] == next_
        document = problem(client.post(f"/v1/jobs/{job.id}/{done}"), 409, "invalid_transition")
        assert document["from"] == next_ and set(document["allowed"]) <= set(TRANSITIONS[JobStatus(next_)])
        problem(client.delete(f"/v1/jobs/{job.id}"), 409, "job_not_ended")


def test_another_key_finds_no_job_to_remove(client: TestClient, session: Session, a_job: MakeJob) -> None:
    job = a_job(JobStatus.SUCCEEDED)
    _, text = keys.create_key(session, "other")
    session.commit()
    other = {"Authorization": f"Bearer {text}"}
    address = f"/v1/jobs/{job.id}"
    refusals: list[Response] = [
        client.post(f"{address}/{path}", json=body, headers=other)
        for path, body in (("archive", None), ("unarchive", None), ("extend", {"steps": 30}))
    ]
    for refused in [*refusals, client.delete(address, headers=other)]:
        problem(refused, 404, "not_found")
    assert client.get(address).json()["archived_at"] is None


def test_deleted_job_frees_rows_blobs_and_bytes(
    client: TestClient, session: Session, settings: Settings, a_job: MakeJob
) -> None:
    gone, kept = a_job(JobStatus.SUCCEEDED), a_job(JobStatus.FAILED)
    used = client.get("/v1/usage").json()["used"]["stored_bytes"]
    assert client.delete(f"/v1/jobs/{gone.id}").status_code == 204
    assert client.get("/v1/usage").json()["used"]["stored_bytes"] == used - 3 * 7
    problem(client.get(f"/v1/jobs/{gone.id}"), 404, "not_found")
    problem(client.delete(f"/v1/jobs/{gone.id}"), 404, "not_found")
    for table in (Checkpoint, JobEvent):
        assert set(session.scalars(select(table.job_id))) == {kept.id}
    assert {key.split("/")[1] for key in blob_store(settings).list("jobs")} == {kept.id}


def test_deletion_keeps_what_a_branch_still_needs(
    client: TestClient, session: Session, settings: Settings, a_job: MakeJob
) -> None:
    source = a_job(JobStatus.SUCCEEDED)
    branch = client.post(f"/v1/jobs/{source.id}/branch", json={"stage": "ppo", "step": 10}).json()["id"]
    before = list(blob_store(settings).list("jobs"))
    document = problem(client.delete(f"/v1/jobs/{source.id}"), 409, "job_in_use")
    assert document["jobs"] == [branch] and list(blob_store(settings).list("jobs")) == before
    assert client.post(f"/v1/jobs/{branch}/cancel").json()["status"] == "cancelled"
    assert client.delete(f"/v1/jobs/{source.id}").status_code == 204
    assert list(blob_store(settings).list("jobs")) == []
    assert client.get(f"/v1/jobs/{branch}").json()["parent"]["job"] == source.id
    problem(client.post(f"/v1/jobs/{branch}/retry"), 404, "not_found")  # its start was deleted


def test_extend_needs_a_succeeded_job_and_more_steps(client: TestClient, session: Session, a_job: MakeJob) -> None:
    job, failed = a_job(JobStatus.SUCCEEDED), a_job(JobStatus.FAILED)
    made = client.post(f"/v1/jobs/{job.id}/extend", json={"steps": 30})
    assert made.status_code == 201 and made.json()["spec"]["ppo"]["steps"] == 30
    parent = made.json()["parent"]
    assert (parent["job"], parent["relation"], parent["step"]) == (job.id, "extend", 10)
    assert (
        problem(client.post(f"/v1/jobs/{job.id}/extend", json={"steps": 20}), 422, "invalid_request")["param"]
        == "steps"
    )
    problem(client.post(f"/v1/jobs/{failed.id}/extend", json={"steps": 30}), 422, "invalid_request")
    problem(client.post(f"/v1/jobs/{job.id}/extend", json={"steps": 0}), 422, "invalid_request")
