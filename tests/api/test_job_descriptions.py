"""Tags, notes, metadata and names of jobs; the filters of the list; the tags in use."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from core.jobs.lifecycle.actors import PLATFORM
from core.jobs.lifecycle.state import Request, request
from core.models import ApiKey, Job
from data.schema import DatasetKind
from tests.api.problem_checks import problem
from tests.core.factories import dataset_id_of, make_dataset, make_job, running

Owner = tuple[ApiKey, str]


def change(client: TestClient, job: Job, **body: Any) -> dict[str, Any]:
    response = client.patch(f"/v1/jobs/{job.id}", json=body)
    assert response.status_code == 200, response.text
    changed: dict[str, Any] = response.json()
    return changed


def listed(client: TestClient, **filters: Any) -> list[str]:
    response = client.get("/v1/jobs", params=filters | {"order": "asc"})
    assert response.status_code == 200, response.text
    return [row["id"] for row in response.json()["data"]]


def test_change_job_merges_metadata_and_replaces_tags(client: TestClient, session: Session, owner: Owner) -> None:
    job = make_job(session, owner[0].owner_id, name="first")
    new = change(
        client, job, tags=[" KL  Sweep ", "kl sweep", "v2"], notes="line 1\nline 2", metadata={"a": "1", "b": "2"}
    )
    assert (new["name"], new["tags"], new["notes"]) == ("first", ["kl sweep", "v2"], "line 1\nline 2")
    again = change(client, job, name="renamed", metadata={"a": None, "c": "3"})
    assert (again["name"], again["metadata"]) == ("renamed", {"b": "2", "c": "3"})
    assert (again["tags"], again["spec"]["name"]) == (["kl sweep", "v2"], "first")
    empty = change(client, job, tags=None, notes=None, metadata=None, name=None)
    assert [empty[field] for field in ("tags", "notes", "metadata", "name")] == [[], "", {}, ""]
    summary = client.get("/v1/jobs").json()["data"][0]
    assert (summary["tags"], summary["metadata"]) == ([], {}) and "notes" not in summary


def test_change_job_is_possible_in_every_state(client: TestClient, session: Session, owner: Owner) -> None:
    job = make_job(session, owner[0].owner_id)
    running(session, job)
    assert change(client, job, tags=["a"])["status"] == "running"
    request(session, job, Request.CANCEL, PLATFORM)
    session.commit()
    assert change(client, job, tags=["b"])["status"] == "cancelling"


def test_change_job_preemptible_keeps_the_description(client: TestClient, session: Session, owner: Owner) -> None:
    job = make_job(session, owner[0].owner_id, name="first")
    before = client.get(f"/v1/jobs/{job.id}").json()
    for given, stored in ((True, True), (None, False), (True, True), (False, False)):
        changed = change(client, job, preemptible=given)
        assert (changed["preemptible"], changed["name"]) == (stored, "first")
    assert changed["etag"] == before["etag"]
    assert change(client, job, preemptible=True)["etag"] != before["etag"]
    headers = {"If-Match": before["etag"]}
    stale = client.patch(f"/v1/jobs/{job.id}", json={"preemptible": False}, headers=headers)
    problem(stale, 412, "precondition_failed")
    assert change(client, job, name="second")["preemptible"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"preemptible": "often"}, "#/preemptible"),
        ({"tags": ["x"] * 21}, "#/tags"),
        ({"tags": ["fine", "x" * 51]}, "#/tags/1"),
        ({"tags": ["  "]}, "#/tags/0"),
        ({"tags": ["a\u0007b"]}, "#/tags/0"),
        ({"notes": "x" * 10_001}, "#/notes"),
        ({"notes": "a\u0000b"}, "#/notes"),
        ({"name": "x" * 201}, "#/name"),
        ({"name": "a\u001bb"}, "#/name"),
        ({"metadata": {"k": "x" * 501}}, "#/metadata/k"),
        ({"metadata": {"k": "a\u0000b"}}, "#/metadata/k"),
        ({"metadata": {"k": 1}}, "#/metadata/k"),
        ({"metadata": {f"k{n}": "v" for n in range(51)}}, "#/metadata"),
        ({"metadata": {"x" * 65: "v"}}, "#/metadata/" + "x" * 65),
        ({"taggs": []}, "#/taggs"),
    ],
)
def test_change_job_invalid_value_is_refused(
    client: TestClient, session: Session, owner: Owner, body: dict[str, Any], pointer: str
) -> None:
    job = make_job(session, owner[0].owner_id)
    document = problem(client.patch(f"/v1/jobs/{job.id}", json=body), 422, "invalid_request")
    assert document["errors"][0]["pointer"].startswith(pointer)


def test_clone_and_retry_keep_tags_and_metadata(client: TestClient, session: Session, owner: Owner) -> None:
    job = make_job(session, owner[0].owner_id, name="old")
    change(client, job, name="new", tags=["a"], metadata={"k": "v"}, notes="only here")
    clone = client.post(f"/v1/jobs/{job.id}/clone").json()
    assert [clone[field] for field in ("name", "tags", "metadata", "notes")] == ["new", ["a"], {"k": "v"}, ""]
    named = client.post(f"/v1/jobs/{job.id}/clone", json={"patch": {"name": "other"}}).json()
    assert named["name"] == "other"
    client.post(f"/v1/jobs/{job.id}/cancel")
    again = client.post(f"/v1/jobs/{job.id}/retry").json()
    assert (again["status"], again["tags"], again["metadata"]) == ("queued", ["a"], {"k": "v"})


@pytest.mark.parametrize("most_rare", [1000, 0])
def test_list_filters_each_select_their_jobs(
    client: TestClient, session: Session, owner: Owner, monkeypatch: pytest.MonkeyPatch, most_rare: int
) -> None:
    """With 0, every word counts as frequent."""
    monkeypatch.setattr("core.jobs.overview.listing._MOST_RARE", most_rare)
    one, two, three = (make_job(session, owner[0].owner_id, name=name) for name in ("kl-sweep alpha", "beta", "gamma"))
    foreign = make_job(session, name="kl-sweep alpha")
    foreign.tags = ["x"]
    session.commit()
    change(client, one, tags=["x", "y"])
    change(client, two, tags=["x"], notes="Diverged at the third epoch.")
    change(client, three, tags=["Größe 7"])
    request(session, three, Request.CANCEL, PLATFORM)
    two.parent = {"job": one.id, "relation": "clone"}
    session.commit()
    assert [listed(client, parent=parent) for parent in (one.id, two.id, "job_nope")] == [[two.id], [], []]
    ids = one.id, two.id, three.id
    assert listed(client, tag="x") == [ids[0], ids[1]]
    assert listed(client, tag=["X ", "y"]) == [ids[0]]
    assert listed(client, tag="x", status="cancelled") == []
    assert listed(client, tag="größe 7", status="cancelled") == [ids[2]]
    for text, found in {
        "sweep": [ids[0]], "KL-SWE": [ids[0]], "alp kl": [ids[0]], "diverg third": [ids[1]], "größe": [ids[2]],
        ids[1]: [ids[1]], ids[1][:14]: [ids[1]], "weep": [], "'": [], "\\": [], "a' | 'b": [ids[1]], "beta:*": [ids[1]],
    }.items():  # fmt: skip
        assert listed(client, text=text) == found, text
    first = one.created_at.isoformat()
    assert listed(client, created_after=first) == [ids[1], ids[2]]
    assert listed(client, created_before=two.created_at.isoformat()) == [ids[0]]
    assert listed(client, created_after=first, created_before=first) == []


def test_list_by_model_and_dataset(client: TestClient, session: Session, owner: Owner) -> None:
    prompts = make_dataset(session, owner[0].owner_id, DatasetKind.PROMPTS)
    one = make_job(session, owner[0].owner_id, model="some/model")
    two = make_job(session, owner[0].owner_id, model="other/model")
    foreign = make_job(session)
    long = "/models/" + "x" * 3000
    three = Job(
        id="job_long",
        owner_id=owner[0].owner_id,
        name="",
        spec={"model": {"path": long}},
        status="queued",
        status_reason="",
    )
    session.add(three)
    session.commit()
    assert listed(client, model="some/model") == [one.id]
    assert listed(client, model=long) == ["job_long"]
    assert listed(client, model=long + "y") == []
    dataset = dataset_id_of(two)
    assert [listed(client, dataset=name) for name in (dataset, f"{dataset}@1", f"{dataset}@2")] == [
        [two.id],
        [two.id],
        [],
    ]
    assert listed(client, dataset=two.spec["data"]["preferences"]) == [two.id]
    assert listed(client, dataset=prompts.id) == []
    assert listed(client, dataset=dataset_id_of(foreign)) == []
    document = problem(client.get("/v1/jobs", params={"dataset": "ds_x@latest"}), 422, "invalid_request")
    assert document["param"] == "dataset"


@pytest.mark.parametrize("filters", [{"text": "\0"}, {"tag": "\0"}, {"model": "\0"}, {"dataset": "\0"}, {"text": ""}])
def test_list_filter_invalid_text_is_refused(client: TestClient, filters: dict[str, str]) -> None:
    problem(client.get("/v1/jobs", params=filters), 422, "invalid_request")


def test_list_cursor_survives_a_change_of_its_job(client: TestClient, session: Session, owner: Owner) -> None:
    jobs = [make_job(session, owner[0].owner_id) for _ in range(3)]
    for job in jobs:
        change(client, job, tags=["x"])
    page = client.get("/v1/jobs", params={"tag": "x", "limit": 1}).json()
    change(client, jobs[2], tags=[])
    rest = client.get("/v1/jobs", params={"tag": "x", "after": page["last_id"]}).json()
    assert [row["id"] for row in rest["data"]] == [jobs[1].id, jobs[0].id]
    foreign = make_job(session)
    problem(client.get("/v1/jobs", params={"after": foreign.id}), 422, "invalid_request")


def test_tags_are_listed_with_counts_of_the_owner(client: TestClient, session: Session, owner: Owner) -> None:
    jobs = [make_job(session, owner[0].owner_id) for _ in range(3)]
    for job, tags in zip(jobs, (["a", "b"], ["b"], []), strict=True):
        change(client, job, tags=tags)
    foreign = make_job(session)
    foreign.tags = ["secret"]
    session.commit()
    document = client.get("/v1/jobs/tags").json()
    assert [(row["tag"], row["jobs"]) for row in document["data"]] == [("b", 2), ("a", 1)]
    assert (document["has_more"], document["last_id"]) == (False, "a")


def test_another_key_s_job_cannot_be_changed(client: TestClient, session: Session) -> None:
    foreign = make_job(session)
    problem(client.patch(f"/v1/jobs/{foreign.id}", json={"tags": ["mine"]}), 404, "not_found")
    session.refresh(foreign)
    assert foreign.tags == []
