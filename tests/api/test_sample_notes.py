"""Notes on completions over HTTP."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from core.jobs.run.events import append_events
from core.models import ApiKey, Job
from tests.api.problem_checks import problem
from tests.core.factories import make_job, running
from trainer.events import Sample, Samples


@pytest.fixture
def job(session: Session, owner: tuple[ApiKey, str]) -> Job:
    """Running, with three completions at step 2 of PPO."""
    made = make_job(session, owner[0].owner_id)
    running(session, made)
    log(session, made, "r", "s", "t")
    return made


def log(session: Session, job: Job, *responses: str, seed: int | None = None) -> None:
    rows = [Sample(prompt="p", response=one, score=0.5) for one in responses]
    append_events(session, job.id, 1, [Samples(stage="ppo", step=2, rows=rows, seed=seed)])
    session.commit()


def put(client: TestClient, job: Job, sample: str = "ppo.2.0", query: str = "", **body: Any) -> Any:
    return client.put(f"/v1/jobs/{job.id}/samples/{sample}/note{query}", json={"text": "A note"} | body)


def test_note_has_its_completion_and_its_times(client: TestClient, job: Job) -> None:
    note = put(client, job, text=" Two\r\nlines \n", author="  Ada   L. ", response="r").json()
    assert (note["text"], note["author"], note["replaced"], note["job_id"]) == ("Two\nlines", "Ada L.", False, job.id)
    where = {name: note["completion"][name] for name in ("stage", "step", "index", "seed", "response", "score")}
    assert where == {"stage": "ppo", "step": 2, "index": 0, "seed": None, "response": "r", "score": 0.5}
    assert note["created_at"] == note["updated_at"]
    assert client.get(f"/v1/jobs/{job.id}/samples/notes").json()["data"] == [note]


def test_notes_are_listed_a_page_at_a_time(client: TestClient, job: Job) -> None:
    made = [put(client, job, f"ppo.2.{index}").json()["id"] for index in range(3)]
    path = f"/v1/jobs/{job.id}/samples/notes?limit=2"
    first = client.get(path).json()
    rest = client.get(f"{path}&after={first['last_id']}").json()
    assert [note["id"] for note in first["data"] + rest["data"]] == made[::-1]
    assert (first["has_more"], rest["has_more"]) == (True, False)
    assert client.get(f"{path}&stage=evaluation").json()["data"] == []
    assert problem(client.get(f"{path}&after=note_x"), 422, "invalid_request")["param"] == "after"


def test_note_of_a_replaced_completion_says_so(client: TestClient, session: Session, job: Job) -> None:
    put(client, job)
    log(session, job, "other")
    (note,) = client.get(f"/v1/jobs/{job.id}/samples/notes").json()["data"]
    assert note["replaced"] and note["completion"]["response"] == "r"
    problem(put(client, job, response="r"), 409, "completion_replaced")


def test_deleted_note_is_gone(client: TestClient, job: Job) -> None:
    path = f"/v1/jobs/{job.id}/samples/notes"
    note = f"{path}/{put(client, job).json()['id']}"
    assert client.delete(note).status_code == 204
    problem(client.delete(note), 404, "not_found")
    assert client.get(path).json()["data"] == []


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"text": ""}, "must not be empty"),
        ({"text": " \n "}, "must not be empty"),
        ({"text": "x" * 2001}, "at most 2000 characters"),
        ({"text": "a\u001b[31mb"}, "must not contain a control character other than a line break"),
        ({"text": "a\tb"}, "must not contain a control character other than a line break"),
        ({"author": "a\nb"}, "must not contain a control character"),
        ({"author": "x" * 101}, "at most 100 characters"),
        ({"note": "x"}, "unknown field"),
    ],
)
def test_unusable_note_is_refused_by_its_field(client: TestClient, job: Job, body: dict[str, str], detail: str) -> None:
    refused = problem(put(client, job, **body), 422, "invalid_request")
    assert refused["errors"][0]["pointer"] == f"#/{next(iter(body))}"
    assert detail in refused["errors"][0]["detail"]


@pytest.mark.parametrize(("sample", "status"), [("ppo.2.3", 404), ("ppo.3.0", 404), ("ppo.2", 422), ("x.2.0", 422)])
def test_note_needs_a_completion_of_the_run(client: TestClient, job: Job, sample: str, status: int) -> None:
    problem(put(client, job, sample), status, "not_found" if status == 404 else "invalid_request")


def test_note_in_a_job_with_several_seeds_names_the_seed(
    client: TestClient, session: Session, owner: tuple[ApiKey, str]
) -> None:
    job = make_job(session, owner[0].owner_id, seed=5, seeds=2)
    running(session, job)
    for seed in (5, 6):
        log(session, job, f"of {seed}", seed=seed)
    assert problem(put(client, job), 422, "invalid_request")["param"] == "seed"
    assert problem(put(client, job, query="?seed=7"), 422, "invalid_request")["param"] == "seed"
    assert put(client, job, query="?seed=5").json()["completion"]["response"] == "of 5"
    found = {seed: client.get(f"/v1/jobs/{job.id}/samples/notes?seed={seed}").json()["data"] for seed in (5, 6)}
    assert [len(notes) for notes in found.values()] == [1, 0]
