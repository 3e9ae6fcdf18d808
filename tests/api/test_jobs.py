import json
from typing import Any

import pytest
from fastapi.testclient import TestClient
from redis import Redis
from sqlalchemy.orm import Session

from core.db import session_scope
from core.jobs.checkpoints.checkpoints import record_checkpoint
from core.jobs.lifecycle import attempts
from core.jobs.lifecycle.actors import PLATFORM
from core.jobs.lifecycle.state import Request, request
from core.jobs.queue.workers import MachineReport, report_worker
from core.jobs.run.events import append_events
from core.models import ApiKey, Dataset, Job
from core.models.jobs import JobStatus
from core.scheduling.matching import EVERYTHING
from core.settings import Settings
from data.schema import DatasetKind
from tests.api.problem_checks import problem
from tests.core.factories import make_dataset, make_job, make_key, running, step
from trainer.events import CheckpointSaved

Body = dict[str, Any]


def test_a_model_a_dataset_and_ppo_are_a_complete_job(client: TestClient, body: Body) -> None:
    response = client.post("/v1/jobs", json=body)
    job = response.json()
    assert response.status_code == 201
    assert (job["object"], job["status"], job["attempt"]) == ("job", "queued", 0)
    assert job["spec"]["ppo"]["policy_loss"]["clip_range"] == 0.2 and job["spec"]["model"]["path"] == "some/model"
    assert list(job["spec"])[:3] == ["name", "model", "data"]
    assert job["queue_reason"].startswith("No worker is online")
    assert (job["progress"], job["error"], job["summary"], job["reward_sparkline"]) == (None, None, None, [])
    again = client.get(f"/v1/jobs/{job['id']}").json()
    assert again == job
    assert json.dumps(again["spec"]) == json.dumps(job["spec"])  # the order of the fields, too


def _knocks(settings: Settings) -> int:
    with Redis.from_url(settings.redis_url) as client:
        return int(client.llen("celery"))


def test_a_new_job_knocks_and_a_refused_one_does_not(client: TestClient, body: Body, settings: Settings) -> None:
    with session_scope() as session:
        report_worker(session, "wrk_1", "host", None)
    client.post("/v1/jobs", json=body | {"data": {"preferences": "ds_nope"}})
    assert _knocks(settings) == 0
    client.post("/v1/jobs", json=body)
    assert _knocks(settings) == 1


def test_create_job_succeeds_without_the_broker(client: TestClient, body: Body, settings: Settings) -> None:
    client.app.state.settings = settings.model_copy(update={"redis_url": "redis://127.0.0.1:1/0"})  # type: ignore[attr-defined]
    assert client.post("/v1/jobs", json=body).status_code == 201


RANDOM = {
    "config": {
        "model_type": "llama",
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "max_position_embeddings": 128,
    },
    "tokenizer": {"vocab_size": 300},
}
"""A model without weights, which needs SFT."""


@pytest.mark.parametrize(
    ("change", "pointer", "detail"),
    [
        (
            {"ppo": {"policy_loss": {"clip_rnage": 0.1}}},
            "#/ppo/policy_loss/clip_rnage",
            "unknown field 'clip_rnage'; did you mean 'clip_range'?",
        ),
        ({"modle": "x"}, "#/modle", "unknown field 'modle'; did you mean 'model'?"),
        (
            {"ppo": {"policy_loss": {"clip_range": 2}}},
            "#/ppo/policy_loss/clip_range",
            "Input should be less than or equal to 1",
        ),
        ({"ppo": {"batch_size": 5}}, "#/ppo", "`minibatches` (4) must divide `batch_size` (5)"),
        ({"ppo": None}, "#/ppo", None),
        ({"name": "a\x00"}, "#/name", "holds a NUL character or half of a surrogate pair"),
        ({"model": {"path": "x", "config": {"model_type": "llama"}}}, "#/model", None),
        ({"model": {"config": {"model_type": "llama\x00"}, "tokenizer": {}}}, "#/model/config", None),
        ({"stages": ["reward_model", "ppo"], "model": RANDOM}, "#", None),
    ],
)
def test_invalid_spec_error_has_pointer_and_detail(
    client: TestClient, body: Body, change: Body, pointer: str, detail: str | None
) -> None:
    document = problem(client.post("/v1/jobs", json=body | change), 422, "invalid_spec")
    assert document["errors"][0]["pointer"] == pointer
    assert document["param"] == (pointer.removeprefix("#/").replace("/", ".") if pointer != "#" else None)
    assert detail in (None, document["errors"][0]["detail"])


def test_numbers_that_are_not_numbers_are_refused(client: TestClient, dataset: Dataset) -> None:
    raw = '{"model": "x", "data": {"preferences": "%s"}, "ppo": {"kl": {"coef": %s}}}'
    for value in ("NaN", "Infinity", "1e999"):
        response = client.post(
            "/v1/jobs", content=raw % (dataset.id, value), headers={"Content-Type": "application/json"}
        )
        problem(response, 422, "invalid_spec")


def test_everything_wrong_is_listed(client: TestClient, body: Body) -> None:
    document = problem(
        client.post("/v1/jobs", json=body | {"ppo": {"x": 1, "steps": 0}, "seed": -1}), 422, "invalid_spec"
    )
    assert {error["pointer"] for error in document["errors"]} == {"#/ppo/x", "#/ppo/steps", "#/seed"}


def test_a_dataset_that_is_not_there_or_another_key_s(client: TestClient, body: Body, session: Session) -> None:
    theirs = make_dataset(session, make_key(session).owner_id)
    session.commit()
    for dataset_id in ("ds_nope", theirs.id):
        response = client.post("/v1/jobs", json=body | {"data": {"preferences": dataset_id}})
        assert problem(response, 404, "not_found")["param"] == "data.preferences"


def test_a_dataset_of_another_kind(client: TestClient, session: Session, owner: tuple[ApiKey, str], body: Body) -> None:
    sft = make_dataset(session, owner[0].owner_id, DatasetKind.SFT)
    session.commit()
    response = client.post("/v1/jobs", json=body | {"data": {"preferences": sft.id}})
    assert problem(response, 422, "wrong_dataset_kind")["param"] == "data.preferences"


def test_create_job_local_model_not_allowed_is_refused(client: TestClient, body: Body) -> None:
    document = problem(client.post("/v1/jobs", json=body | {"model": "/etc"}), 422, "invalid_spec")
    assert document["param"] == "model.path"


def test_create_job_reward_url_not_allowed_is_refused(client: TestClient, body: Body, settings: Settings) -> None:
    asked = body | {"rewards": [{"type": "http", "url": "http://169.254.169.254/latest"}]}
    document = problem(client.post("/v1/jobs", json=asked), 422, "invalid_spec")
    assert document["param"] == "rewards.0.url" and document["errors"][0]["pointer"] == "#/rewards/0/url"
    prefixes = settings.model_copy(update={"reward_urls": ["http://169.254.169.254"]})
    client.app.state.settings = prefixes  # type: ignore[attr-defined]
    assert client.post("/v1/jobs", json=asked).status_code == 201


def test_a_checkpoint_that_is_not_there_or_of_another_stage(
    client: TestClient, session: Session, owner: tuple[ApiKey, str], body: Body
) -> None:
    source = make_job(session, owner[0].owner_id)
    running(session, source)
    saved = CheckpointSaved(stage="sft", step=1, path="checkpoints/sft", final=True)
    checkpoint = record_checkpoint(session, source.id, 1, saved, [], "at")
    session.commit()
    absent = client.post("/v1/jobs", json=body | {"model": "ckpt_nope"})
    assert problem(absent, 404, "not_found")["param"] == "model.path"
    unfit = client.post("/v1/jobs", json=body | {"reward_model": {"path": checkpoint.id}})
    assert problem(unfit, 422, "wrong_checkpoint")["param"] == "reward_model.path"
    fit = client.post("/v1/jobs", json=body | {"model": checkpoint.id})
    assert fit.status_code == 201 and fit.json()["spec"]["model"]["path"] == checkpoint.id


def test_jobs_are_listed_newest_first_by_cursor_and_state(
    client: TestClient, session: Session, owner: tuple[ApiKey, str]
) -> None:
    made = [make_job(session, owner[0].owner_id) for _ in range(3)]
    request(session, made[1], Request.CANCEL, PLATFORM)
    session.commit()
    ids = [job.id for job in made]
    page = client.get("/v1/jobs?limit=2").json()
    assert [row["id"] for row in page["data"]] == [ids[2], ids[1]] and page["has_more"]
    assert "spec" not in page["data"][0] and page["data"][0]["reward_sparkline"] == []
    assert page["data"][0]["actions"] == ["pause", "cancel", "clone"]
    assert [row["id"] for row in client.get(f"/v1/jobs?after={page['last_id']}").json()["data"]] == [ids[0]]
    assert [row["id"] for row in client.get("/v1/jobs?status=cancelled").json()["data"]] == [ids[1]]
    assert len(client.get("/v1/jobs?status=cancelled&status=queued").json()["data"]) == 3


def test_batch_has_jobs_in_order_and_names_missing_ones(client: TestClient, body: Body, session: Session) -> None:
    first, second = (client.post("/v1/jobs", json=body).json() for _ in range(2))
    foreign = make_job(session).id
    found = client.get("/v1/jobs/batch", params={"ids": f"{second['id']},job_absent,{foreign},{first['id']}"}).json()
    assert found["data"] == [client.get(f"/v1/jobs/{one['id']}").json() for one in (second, first)]
    assert found["missing"] == ["job_absent", foreign]


@pytest.mark.parametrize("ids", [",", "\0", ",".join(f"job_{number}" for number in range(101))])
def test_batch_of_no_or_too_many_jobs_is_refused(client: TestClient, ids: str) -> None:
    assert problem(client.get("/v1/jobs/batch", params={"ids": ids}), 422, "invalid_request")["param"] == "ids"


def test_job_list_is_sorted_by_pages(client: TestClient, body: Body) -> None:
    for name in ("b", "a", "c"):
        client.post("/v1/jobs", json=body | {"name": name})
    first = client.get("/v1/jobs?sort=name&limit=2").json()
    assert [row["name"] for row in first["data"]] == ["a", "b"] and first["has_more"]
    rest = client.get(f"/v1/jobs?sort=name&after={first['last_id']}").json()["data"]
    assert [row["name"] for row in rest] == ["c"]
    assert [row["name"] for row in client.get("/v1/jobs?order=asc").json()["data"]] == ["b", "a", "c"]
    both = problem(client.get("/v1/jobs?sort=name&order=asc"), 422, "invalid_request")
    assert both["param"] == "order" and "gives the direction" in both["detail"]
    unknown = problem(client.get("/v1/jobs?sort=wins"), 422, "invalid_request")
    assert unknown["param"] == "sort" and "did you mean 'win_rate'?" in unknown["errors"][0]["detail"]


def test_running_job_shows_its_progress(client: TestClient, session: Session, owner: tuple[ApiKey, str]) -> None:
    job = make_job(session, owner[0].owner_id)
    running(session, job)
    append_events(session, job.id, 1, [step(1), step(2)])
    session.commit()
    shown = client.get(f"/v1/jobs/{job.id}").json()
    assert (shown["status"], shown["stage"], shown["queue_reason"]) == ("running", "ppo", None)
    assert (shown["progress"]["step"], shown["progress"]["total_steps"]) == (2, 10)
    assert shown["reward_sparkline"] == [0.1, 0.2]


def test_list_shows_model_submitter_hours_and_etag(
    client: TestClient, session: Session, owner: tuple[ApiKey, str], body: Body
) -> None:
    job_id = client.post("/v1/jobs", json=body).json()["id"]
    session.get_one(Job, job_id).gpu_seconds = 4500.0
    session.commit()
    (row,) = client.get("/v1/jobs").json()["data"]
    assert (row["model"], row["submitted_by"], row["gpu_hours"]) == (body["model"], owner[0].name, 1.25)
    changed = client.patch(f"/v1/jobs/{job_id}", json={"tags": ["a"]}, headers={"If-Match": f'"{row["etag"]}"'})
    assert changed.status_code == 200 and changed.json()["etag"] != row["etag"]


def test_failed_job_has_its_error(client: TestClient, session: Session, owner: tuple[ApiKey, str]) -> None:
    job = make_job(session, owner[0].owner_id)
    running(session, job)
    error = {"code": "diverged", "message": "The loss is not finite."}
    attempts.finish(session, job.id, 1, JobStatus.FAILED, "The loss is not finite.", error=error)
    session.commit()
    shown = client.get(f"/v1/jobs/{job.id}").json()
    assert (shown["status"], shown["error"], shown["progress"]["eta_seconds"]) == ("failed", error, None)


def test_a_queued_job_is_cancelled_at_once_and_only_once(client: TestClient, body: Body) -> None:
    job_id = client.post("/v1/jobs", json=body).json()["id"]
    assert client.post(f"/v1/jobs/{job_id}/cancel").json()["status"] == "cancelled"
    response = client.post(f"/v1/jobs/{job_id}/cancel")
    document = problem(response, 409, "invalid_transition")
    assert (document["from"], document["to"], document["allowed"]) == ("cancelled", "cancelled", ["queued"])
    assert response.headers["x-should-retry"] == "false"


def test_cancel_of_running_job_is_requested_once(
    client: TestClient, session: Session, owner: tuple[ApiKey, str]
) -> None:
    job = make_job(session, owner[0].owner_id)
    running(session, job)
    assert client.post(f"/v1/jobs/{job.id}/cancel").json()["status"] == "cancelling"
    problem(client.post(f"/v1/jobs/{job.id}/cancel"), 409, "invalid_transition")


def test_queued_job_is_paused_at_once_and_resumed(client: TestClient, body: Body) -> None:
    job_id = client.post("/v1/jobs", json=body).json()["id"]
    paused = client.post(f"/v1/jobs/{job_id}/pause", json={"reason": "Until tonight."}).json()
    assert (paused["status"], paused["status_reason"], paused["queue_reason"]) == ("paused", "Until tonight.", None)
    twice = problem(client.post(f"/v1/jobs/{job_id}/pause"), 409, "invalid_transition")
    assert (twice["allowed"], twice["requests"]) == (["cancelled", "queued"], ["cancel", "resume"])
    resumed = client.post(f"/v1/jobs/{job_id}/resume").json()
    assert (resumed["status"], resumed["status_reason"]) == ("queued", "Resumed by its owner.")
    problem(client.post(f"/v1/jobs/{job_id}/resume"), 409, "invalid_transition")


def test_branch_over_http_shows_its_start(client: TestClient, session: Session, owner: tuple[ApiKey, str]) -> None:
    source = make_job(session, owner[0].owner_id)
    running(session, source)
    saved = CheckpointSaved(stage="sft", step=4, path="checkpoints/sft", final=True)
    checkpoint = record_checkpoint(session, source.id, 1, saved, [], "at")
    session.commit()
    address = f"/v1/jobs/{source.id}/branch"
    made = client.post(address, json={"checkpoint": checkpoint.id, "patch": {"ppo": {"steps": 7}}})
    assert made.status_code == 201 and made.json()["spec"]["ppo"]["steps"] == 7
    parent = made.json()["parent"]
    assert (parent["job"], parent["relation"], parent["stage"], parent["step"]) == (source.id, "branch", "sft", 4)
    assert [part["part"] for part in parent["carried"]] == ["results", "optimizer"]
    assert parent["text"] == "Branched from a job, result of the SFT stage"
    assert [(one["stage"], one["job"], one["step"]) for one in parent["stages"]] == [("sft", source.id, 4)]
    assert client.get(f"/v1/jobs/{source.id}").json()["children"] == {"branch": 1}
    found = client.get(f"/v1/jobs/{made.json()['id']}/lineage").json()
    assert [(one["job"], one["status"]) for one in found["ancestors"]] == [(source.id, "running")]
    assert [(one["stage"], one["job"], one["to"]) for one in found["history"]] == [("sft", source.id, None)]
    (child,) = client.get(f"/v1/jobs/{source.id}/lineage").json()["children"]
    assert (child["job"], child["relation"], child["stage"]) == (made.json()["id"], "branch", "sft")
    refused = problem(
        client.post(address, json={"stage": "sft", "step": 4, "patch": {"sft": {"epochs": 2}}}), 422, "invalid_spec"
    )
    assert refused["errors"][0]["pointer"] == "#/sft/epochs"
    for start in ({}, {"stage": "sft"}, {"checkpoint": checkpoint.id, "stage": "sft", "step": 4}):
        problem(client.post(address, json=start), 422, "invalid_request")
    problem(client.post(address, json={"stage": "sft", "step": 5}), 404, "not_found")


def test_pause_of_running_job_is_requested_once(
    client: TestClient, session: Session, owner: tuple[ApiKey, str]
) -> None:
    job = make_job(session, owner[0].owner_id)
    running(session, job)
    assert client.post(f"/v1/jobs/{job.id}/pause").json()["status"] == "pausing"
    for refused in ("pause", "resume"):
        problem(client.post(f"/v1/jobs/{job.id}/{refused}"), 409, "invalid_transition")
    assert client.post(f"/v1/jobs/{job.id}/cancel").json()["status"] == "cancelling"


def test_transition_body_that_is_not_valid_is_refused(client: TestClient, body: Body) -> None:
    job_id = client.post("/v1/jobs", json=body).json()["id"]
    for wrong, pointer in (
        ({"reason": "x" * 501}, "#/reason"),
        ({"reason": "a\0b"}, "#/reason"),
        ({"raeson": ""}, "#/raeson"),
    ):
        refused = problem(client.post(f"/v1/jobs/{job_id}/pause", json=wrong), 422, "invalid_request")
        assert refused["errors"][0]["pointer"] == pointer


def test_a_job_of_another_version_s_spec_is_shown_and_cancelled(
    client: TestClient, session: Session, owner: tuple[ApiKey, str]
) -> None:
    job = make_job(session, owner[0].owner_id)
    job.spec = {name: value for name, value in job.spec.items() if name != "model"} | {"modell": {"of": "old"}}
    session.commit()
    assert client.get(f"/v1/jobs/{job.id}").json()["spec"] == job.spec
    assert client.post(f"/v1/jobs/{job.id}/cancel").json()["status"] == "cancelled"


ROUTES = ["", "/events", "/stream", "/metrics", "/samples", "/samples/steps", "/checkpoints"]


@pytest.mark.parametrize("rest", ROUTES)
def test_another_key_s_job_is_absent(client: TestClient, session: Session, rest: str) -> None:
    theirs = make_job(session)
    problem(client.get(f"/v1/jobs/{theirs.id}{rest}"), 404, "not_found")
    problem(client.get(f"/v1/jobs/job_nope{rest}"), 404, "not_found")


def test_another_key_s_job_cannot_be_cancelled(client: TestClient, session: Session) -> None:
    theirs = make_job(session)
    problem(client.post(f"/v1/jobs/{theirs.id}/cancel"), 404, "not_found")
    assert client.get("/v1/jobs").json()["data"] == []


def test_workers_show_their_job_to_its_owner_only(
    client: TestClient, session: Session, owner: tuple[ApiKey, str]
) -> None:
    mine, theirs = make_job(session, owner[0].owner_id), make_job(session)
    with session_scope() as other:
        report_worker(other, "wrk_1", "host", mine.id)
        report_worker(other, "wrk_2", "host", theirs.id)
    shown = client.get("/v1/workers").json()["data"]
    assert [(worker["id"], worker["job_id"]) for worker in shown] == [("wrk_1", mine.id), ("wrk_2", None)]


def test_machines_are_named_to_operators_and_their_users(
    client: TestClient, session: Session, owner: tuple[ApiKey, str]
) -> None:
    mine, theirs = make_job(session, owner[0].owner_id), make_job(session)
    machine = MachineReport(EVERYTHING, name="secret-name")
    with session_scope() as other:
        for number, job_id in enumerate((mine.id, theirs.id, None)):
            report_worker(other, f"wrk_{number}", "secret-host", job_id, machine)
    names = [(one["hostname"], one["name"]) for one in client.get("/v1/workers").json()["data"]]
    assert names == [("secret-host", "secret-name"), ("", ""), ("", "")]
    session.get_one(ApiKey, owner[0].id).operator = True
    session.commit()
    assert client.get("/v1/workers").text.count("secret-host") == 3
