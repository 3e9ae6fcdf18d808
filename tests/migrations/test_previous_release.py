"""The API of the newest release works with the schema of this commit, while workers of this commit write."""

import json
from pathlib import Path
from typing import Any

import httpx
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from core.access import keys
from core.jobs.lifecycle import attempts
from core.jobs.run.events import append_events
from core.models import Job
from core.models.jobs import JobStatus
from core.settings import Settings
from tests.api.serving import application
from tests.core.factories import jsonl, running, step
from tests.migrations.previous_release import api_of, code_of_the_release

ROWS = [{"prompt": f"p{n}", "chosen": "good", "rejected": "bad"} for n in range(3)]
EARLIER_READY = {"database": "ok", "redis": "ok"}


def run_a_job(session: Session, job_id: str) -> None:
    """Write a job of 200 steps as a worker of this commit does."""
    attempt = running(session, session.get_one(Job, job_id))
    append_events(session, job_id, attempt, [step(n, 200) for n in range(1, 201)])
    attempts.finish(session, job_id, attempt, JobStatus.SUCCEEDED, "The run has ended.", summary={"win_rate": 0.75})
    session.commit()


def ok(response: httpx.Response) -> dict[str, Any]:
    assert response.is_success, response.text
    found: dict[str, Any] = response.json()
    return found


def test_previous_api_works_with_the_new_schema(settings: Settings, session: Session, tmp_path: Path) -> None:
    key, plaintext = keys.create_key(session, "tester")
    session.commit()
    code = code_of_the_release(tmp_path / "release")
    with api_of(code, tmp_path / "log") as old:
        routes = json.loads((code / "frontend" / "openapi.json").read_text())["paths"]
        assert (
            ok(old.get("/openapi.json"))["paths"].keys() == routes.keys()
        )  # the old code runs, not that of this commit
        ready = old.get("/readyz").json()["checks"]
        assert {name: ready[name] for name in EARLIER_READY} == EARLIER_READY
        old.headers["Origin"] = str(old.base_url)
        assert ok(old.post("/v1/session", json={"token": plaintext}))["key"]["id"] == key.id

        file = {"file": ("pairs.jsonl", jsonl(ROWS))}
        dataset = ok(old.post("/v1/datasets", data={"kind": "preferences", "name": "pairs"}, files=file))
        rows = ok(old.get(f"/v1/datasets/{dataset['id']}/rows"))["data"]
        assert [one["row"]["prompt"] for one in rows] == ["p0", "p1", "p2"]

        spec = {"name": "first", "model": "some/model", "data": {"preferences": dataset["id"]}, "ppo": {}}
        first = ok(old.post("/v1/jobs", json=spec))["id"]
        run_a_job(session, first)
        ended = ok(old.get(f"/v1/jobs/{first}"))
        assert (ended["status"], ended["summary"]["win_rate"]) == ("succeeded", 0.75)
        (scores,) = ok(old.get(f"/v1/jobs/{first}/metrics", params={"names": "objective/scores"}))["series"]
        assert (scores["steps"], scores["values"][9]) == (list(range(1, 201)), 1.0)
        assert ok(old.get(f"/v1/jobs/{first}/events", params={"limit": 5}))["data"][0]["type"] == "status_changed"

        second = ok(old.post("/v1/jobs", json=spec | {"name": "second"}))["id"]
        ok(old.patch(f"/v1/jobs/{second}", json={"tags": ["kept"], "notes": "by the old API"}))
        assert ok(old.post(f"/v1/jobs/{second}/cancel"))["status"] == "cancelled"
        assert [job["name"] for job in ok(old.get("/v1/jobs"))["data"]] == ["second", "first"]
        again = ok(old.post(f"/v1/jobs/{second}/retry"))
        assert again["status"] == "queued"
        for path in ("/v1/workers", "/v1/groups", "/v1/templates", "/v1/findings", "/v1/usage", "/v1/uploads"):
            ok(old.get(path))

    with TestClient(application(settings), headers={"Authorization": f"Bearer {plaintext}"}) as new:
        jobs = ok(new.get("/v1/jobs"))["data"]
        assert [(job["name"], job["status"]) for job in jobs] == [("second", "queued"), ("first", "succeeded")]
        assert jobs[0]["tags"] == ["kept"] and ok(new.get(f"/v1/jobs/{second}"))["notes"] == "by the old API"
        assert ok(new.get(f"/v1/datasets/{dataset['id']}/rows"))["data"] == rows
        (scores,) = ok(new.get(f"/v1/jobs/{first}/metrics", params={"names": "objective/scores"}))["series"]
        assert scores["values"][9] == 1.0
        assert new.delete(f"/v1/jobs/{first}").status_code == 204
