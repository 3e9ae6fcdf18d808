"""Sweeps and groups over REST."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from core.jobs.groups.groups import release_held_jobs
from core.jobs.lifecycle import attempts
from core.jobs.run.events import append_events
from core.models import ApiKey, Job
from core.models.jobs import JobStatus
from tests.api.problem_checks import problem
from tests.core.factories import start_events, step

Body = dict[str, Any]


@pytest.fixture
def sweep(body: Body) -> Body:
    return {"name": "coef", "spec": body, "parameters": {"ppo.kl.coef": [0.1, 0.2, 0.3]}}


def statuses(client: TestClient, group_id: str) -> dict[int, str]:
    jobs = client.get(f"/v1/groups/{group_id}").json()["jobs"]
    return {job["number"]: job["status"] for job in jobs}


def test_sweep_makes_a_group_of_jobs(client: TestClient, sweep: Body) -> None:
    plan = client.post("/v1/sweeps/validate", json=sweep).json()
    assert [job["values"] for job in plan["jobs"]] == [{"ppo.kl.coef": value} for value in (0.1, 0.2, 0.3)]
    assert client.get("/v1/jobs").json()["data"] == []
    response = client.post("/v1/sweeps", json=sweep)
    group = response.json()
    assert response.status_code == 201 and group["statuses"] == {"queued": 3}
    assert group["sweep"]["parameters"] == sweep["parameters"] and "spec" not in group["sweep"]
    job = client.get(f"/v1/jobs/{group['jobs'][1]['id']}").json()
    assert (job["name"], job["spec"]["ppo"]["kl"]["coef"]) == ("coef 2: ppo.kl.coef=0.2", 0.2)
    assert job["group"] == {"group_id": group["id"], "name": "coef", "number": 2, "values": {"ppo.kl.coef": 0.2}}
    assert [one["id"] for one in client.get("/v1/groups").json()["data"]] == [group["id"]]


def test_invalid_combination_is_named_and_nothing_made(client: TestClient, sweep: Body) -> None:
    sweep["parameters"] |= {"ppo.minibatches": [4, 5]}
    document = problem(client.post("/v1/sweeps", json=sweep), 422, "invalid_spec")
    assert len(document["errors"]) == 3
    assert "Job 2 (ppo.kl.coef=0.1, ppo.minibatches=5)" in document["errors"][0]["detail"]
    unknown = sweep | {"spec": sweep["spec"] | {"data": {"preferences": "ds_nope"}}}
    unknown["parameters"] = {"seed": [1, 2]}
    document = problem(client.post("/v1/sweeps", json=unknown), 404, "not_found")
    assert document["detail"].startswith("Job 1 (seed=1): `data.preferences`: There is no dataset 'ds_nope'. ")
    assert (document["param"], document["errors"][0]["pointer"]) == ("data.preferences", "#/data/preferences")
    assert client.get("/v1/jobs").json()["data"] == client.get("/v1/groups").json()["data"] == []


def test_null_is_a_value_of_a_sweep(client: TestClient, sweep: Body) -> None:
    sweep["parameters"] = {"ppo.critic.value_clip_range": [None, 0.3], "ppo.self_test": [True]}
    group = client.post("/v1/sweeps", json=sweep).json()
    first = client.get(f"/v1/jobs/{group['jobs'][0]['id']}").json()
    assert first["name"] == "coef 1: ppo.critic.value_clip_range=null, ppo.self_test=true"
    assert first["spec"]["ppo"]["critic"]["value_clip_range"] is None


def test_sweep_of_a_million_jobs_names_the_limit(client: TestClient, sweep: Body) -> None:
    sweep["parameters"] = {name: list(range(100)) for name in ("seed", "ppo.steps", "ppo.epochs")}
    for path in ("sweeps", "sweeps/validate"):
        document = problem(client.post(f"/v1/{path}", json=sweep), 422, "limit_exceeded")
        assert (document["limit"], document["asked"]) == (100, 1_000_000)


def test_max_parallel_holds_jobs_until_there_is_room(client: TestClient, session: Session, sweep: Body) -> None:
    group = client.post("/v1/sweeps", json=sweep | {"max_parallel": 1}).json()
    assert statuses(client, group["id"]) == {1: "queued", 2: "paused", 3: "paused"}
    claim = attempts.claim(session, "wrk_1")
    assert claim is not None and attempts.claim(session, "wrk_2") is None
    session.commit()
    assert release_held_jobs(session) == []
    append_events(session, claim.job_id, claim.attempt, start_events())
    attempts.finish(session, claim.job_id, claim.attempt, JobStatus.SUCCEEDED, "Done.", summary={"win_rate": 0.6})
    assert len(release_held_jobs(session)) == 1 and release_held_jobs(session) == []
    session.commit()
    assert statuses(client, group["id"]) == {1: "succeeded", 2: "queued", 3: "paused"}


def test_max_parallel_holds_resumed_and_retried_jobs(client: TestClient, session: Session, sweep: Body) -> None:
    group = client.post("/v1/sweeps", json=sweep | {"max_parallel": 1}).json()
    ids = {job["number"]: job["id"] for job in group["jobs"]}
    resumed = client.post(f"/v1/jobs/{ids[3]}/resume").json()
    assert resumed["status"] == "paused" and "allows 1 job at a time" in resumed["status_reason"]
    assert client.post(f"/v1/jobs/{ids[2]}/cancel").json()["status"] == "cancelled"
    assert client.post(f"/v1/jobs/{ids[2]}/retry").json()["status"] == "paused"
    assert statuses(client, group["id"]) == {1: "queued", 2: "paused", 3: "paused"}
    assert client.post(f"/v1/jobs/{ids[1]}/pause").json()["status"] == "paused"
    assert client.post(f"/v1/jobs/{ids[1]}/resume").json()["status"] == "queued"  # its place was still free
    assert client.post(f"/v1/jobs/{ids[1]}/cancel").json()["status"] == "cancelled"
    for queued in (2, 3):
        assert release_held_jobs(session) == [ids[queued]]
        session.commit()
        client.post(f"/v1/jobs/{ids[queued]}/cancel")
    assert client.post(f"/v1/jobs/{ids[1]}/retry").json()["status"] == "queued"


def test_jobs_are_sorted_by_the_objective(client: TestClient, session: Session, sweep: Body) -> None:
    group = client.post("/v1/sweeps", json=sweep).json()
    for score in (1, 5):
        claim = attempts.claim(session, "wrk_1")
        assert claim is not None
        append_events(session, claim.job_id, claim.attempt, [*start_events(), step(score)])
    session.commit()
    found = client.get(f"/v1/groups/{group['id']}").json()
    assert [job["objective"] for job in found["jobs"]] == [0.5, 0.1, None]
    other = client.get(f"/v1/groups/{group['id']}", params={"metric": "win_rate"}).json()
    assert other["metric"] == "win_rate" and [job["objective"] for job in other["jobs"]] == [None] * 3


def test_cancel_ends_all_jobs_and_is_idempotent(client: TestClient, session: Session, sweep: Body) -> None:
    group = client.post("/v1/sweeps", json=sweep | {"max_parallel": 2}).json()
    assert attempts.claim(session, "wrk_1") is not None
    session.commit()
    for _ in range(2):
        done = client.post(f"/v1/groups/{group['id']}/cancel").json()
        assert done["statuses"] == {"cancelling": 1, "cancelled": 2}
    assert release_held_jobs(session) == []
    problem(client.post("/v1/groups/grp_nope/cancel"), 404, "not_found")


def test_jobs_join_a_group_at_their_submission(
    client: TestClient, session: Session, body: Body, owner: tuple[ApiKey, str]
) -> None:
    group = client.post("/v1/groups", json={"name": "mine", "max_parallel": 1}).json()
    for _ in range(2):
        assert client.post("/v1/jobs", params={"group": group["id"]}, json=body).status_code == 201
    assert statuses(client, group["id"]) == {1: "queued", 2: "paused"}
    problem(client.post("/v1/jobs", params={"group": "grp_nope"}, json=body), 404, "not_found")
    assert session.query(Job).count() == 2


def test_goal_and_metrics_of_a_group(client: TestClient, session: Session, sweep: Body) -> None:
    group = client.post("/v1/sweeps", json=sweep | {"goal": "minimize"}).json()
    for score in (1, 5):
        claim = attempts.claim(session, "wrk_1")
        assert claim is not None
        append_events(session, claim.job_id, claim.attempt, [*start_events(), step(score, **{"reward/length": 2.0})])
    session.commit()
    found = client.get(f"/v1/groups/{group['id']}").json()
    assert (found["goal"], [job["objective"] for job in found["jobs"]]) == ("minimize", [0.1, 0.5, None])
    assert found["metrics"] == ["objective/scores", "reward/length"]
    other = client.get(f"/v1/groups/{group['id']}", params={"goal": "maximize"}).json()
    assert [job["objective"] for job in other["jobs"]] == [0.5, 0.1, None]
    problem(client.get(f"/v1/groups/{group['id']}", params={"goal": "best"}), 422, "invalid_request")


def test_sweep_folds_into_one_job_of_the_list(client: TestClient, session: Session, sweep: Body, body: Body) -> None:
    group = client.post("/v1/sweeps", json=sweep).json()
    single = client.post("/v1/jobs", json=body).json()
    first, second = client.get("/v1/jobs", params={"fold": True, "show": "spec:ppo.kl.coef"}).json()["data"]
    assert (first["id"], first["folded"], second["shown"]) == (single["id"], None, {"spec:ppo.kl.coef": 0.3})
    assert second["folded"] == {
        "group_id": group["id"], "name": "coef", "sweep": True, "metric": "objective/scores", "goal": "maximize",
        "jobs": 3, "statuses": {"queued": 3}, "best": None,
    }  # fmt: skip
    wanted = {"group": group["id"], "where": "spec:ppo.kl.coef<0.3", "sort": "group"}
    members = client.get("/v1/jobs", params=wanted).json()["data"]
    assert [job["group"]["number"] for job in members] == [1, 2]


def test_wrong_columns_are_refused(client: TestClient) -> None:
    for name, value in (
        ("show", "spec:ppo.kl.koef"),
        ("where", "spec:seed>x"),
        ("sort", "-spec:sed"),
        ("sort", "wins"),
    ):
        assert problem(client.get("/v1/jobs", params={name: value}), 422, "invalid_request")["param"] == name
