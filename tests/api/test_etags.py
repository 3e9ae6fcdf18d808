"""`ETag` and `If-Match` of jobs, datasets and rounds."""

from collections.abc import Callable

import pytest
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from core.jobs.run.events import append_events
from core.jobs.submission.templates import create_template
from core.models import ApiKey, Dataset
from tests.api.problem_checks import problem
from tests.core.annotation.tools import make_round
from tests.core.factories import make_dataset, make_job, running, step

Make = Callable[[Session, str], str]


def _job(session: Session, owner_id: str) -> str:
    return f"/v1/jobs/{make_job(session, owner_id).id}"


def _template(session: Session, owner_id: str) -> str:
    return f"/v1/templates/{create_template(session, owner_id, 'first', '', {}).id}"


def _dataset(session: Session, owner_id: str) -> str:
    made: Dataset = make_dataset(session, owner_id)
    return f"/v1/datasets/{made.id}"


def _round(session: Session, owner_id: str) -> str:
    return f"/v1/annotation/rounds/{make_round(session, owner_id=owner_id, name='first').id}"


@pytest.mark.parametrize("make", [_job, _template, _dataset, _round])
def test_stale_if_match_is_refused(client: TestClient, session: Session, owner: tuple[ApiKey, str], make: Make) -> None:
    address = make(session, owner[0].owner_id)
    session.commit()
    read = client.get(address)
    etag = read.headers["etag"]
    assert etag.removeprefix("W/") == f'"{read.json()["etag"]}"'  # a compressed response has a weak one
    changed = client.patch(address, json={"name": "second"}, headers={"If-Match": etag})
    assert changed.status_code == 200 and changed.headers["etag"] != etag
    stale = problem(
        client.patch(address, json={"name": "third"}, headers={"If-Match": etag}), 412, "precondition_failed"
    )
    assert stale["etag"] == changed.json()["etag"] and "Read it again" in stale["detail"]
    assert client.get(address).json()["name"] == "second"
    problem(client.delete(address, headers={"If-Match": etag}), 412, "precondition_failed")
    for condition in ("*", changed.headers["etag"], f'"x", "{changed.json()["etag"]}"', changed.json()["etag"]):
        assert client.patch(address, json={"name": "second"}, headers={"If-Match": condition}).status_code == 200
    assert client.patch(address, json={"name": "fourth"}).json()["name"] == "fourth"


def test_etag_of_a_running_job_ignores_its_figures(
    client: TestClient, session: Session, owner: tuple[ApiKey, str]
) -> None:
    job = make_job(session, owner[0].owner_id)
    attempt = running(session, job)
    before = client.get(f"/v1/jobs/{job.id}").json()
    append_events(session, job.id, attempt, [step(1)])
    session.commit()
    after = client.get(f"/v1/jobs/{job.id}").json()
    assert after["latest_metrics"] != before["latest_metrics"] and after["etag"] == before["etag"]
