"""The stream of several jobs over one connection, and the limits of streams."""

from contextlib import ExitStack
from itertools import islice

import httpx
import pytest
from sqlalchemy.orm import Session

from core.jobs.run.events import append_event
from core.models import ApiKey, Job
from tests.api.live.conftest import Serve, finish, messages, report
from tests.api.problem_checks import problem
from tests.core.factories import make_job, running
from trainer.events import Message


@pytest.fixture
def other(session: Session, job: Job, owner: tuple[ApiKey, str]) -> Job:
    """A second running job of the same owner."""
    made = make_job(session, owner[0].owner_id)
    running(session, made)
    return made


def test_stream_of_two_jobs_resumes_both_cursors(serve: Serve, job: Job, other: Job) -> None:
    a, b = job.last_seq, other.last_seq
    with serve() as client:
        with client.stream("GET", "/v1/stream", params={"jobs": f"{job.id}:{a},{other.id}:{b}"}) as response:
            received = messages(response)
            report(job, 1)
            first = next(received)
            report(other, 1)
            second = next(received)
        assert (first.id, first.data["job_id"]) == (f"{job.id}:{a + 1},{other.id}:{b}", job.id)
        assert (second.id, second.data["job_id"]) == (f"{job.id}:{a + 1},{other.id}:{b + 1}", other.id)
        report(other, 2)
        report(job, 2)
        resumed = {"Last-Event-ID": second.id}
        with client.stream("GET", "/v1/stream", params={"jobs": f"{job.id},{other.id}"}, headers=resumed) as response:
            received = messages(response)
            found = {(message.data["job_id"], message.data["seq"]) for message in (next(received), next(received))}
        assert found == {(job.id, a + 2), (other.id, b + 2)}


def test_stream_sends_done_for_each_job_and_ends_with_the_last(serve: Serve, job: Job, other: Job) -> None:
    with serve() as client:
        with client.stream("GET", "/v1/stream", params={"jobs": f"{job.id}:99,{other.id}:99"}) as response:
            received = messages(response)
            finish(job)
            assert [next(received).event for _ in range(2)] == ["status_changed", "done"]
            last = report(other, 1)
            assert next(received).data["seq"] == last
            finish(other)
            final, done = received
        assert (done.event, done.data) == ("done", {"job_id": other.id})
        assert final.id == f"{job.id}:{job.last_seq + 1}:done,{other.id}:{last + 1}"
        assert done.id == f"{final.id}:done"
        resumed = {"Last-Event-ID": final.id}
        assert client.get("/v1/stream", params={"jobs": f"{job.id},{other.id}"}, headers=resumed).status_code == 204


def test_stream_repeats_no_done_after_a_reconnection(serve: Serve, session: Session, job: Job, other: Job) -> None:
    finish(job)
    with serve() as client:
        asked = {"jobs": f"{job.id},{other.id}"}
        with client.stream("GET", "/v1/stream", params=asked) as response:
            (done,) = (message for message in islice(messages(response), 12) if message.event == "done")
        assert done.id is not None and f"{job.id}:{job.last_seq + 1}:done" in done.id
        with client.stream("GET", "/v1/stream", params=asked, headers={"Last-Event-ID": done.id}) as response:
            report(other, 1)
            finish(other)
            assert [one.data["job_id"] for one in messages(response) if one.event == "done"] == [other.id]
        append_event(session, session.get_one(Job, job.id, populate_existing=True), Message(text="After its end."))
        session.commit()
        with client.stream("GET", "/v1/stream", params=asked, headers={"Last-Event-ID": done.id}) as response:
            assert [one.event for one in messages(response) if one.data["job_id"] == job.id] == ["message", "done"]


def test_stream_without_cursors_begins_at_the_first_event(serve: Serve, job: Job, other: Job) -> None:
    finish(job)
    finish(other)
    with serve() as client:
        response = client.get("/v1/stream", params={"jobs": f"{job.id},{other.id}"})
    found = list(messages(response))
    for one in (job, other):
        seqs = [message.data.get("seq") for message in found if message.data["job_id"] == one.id]
        assert seqs == [*range(1, one.last_seq + 2), None]


def test_stream_refuses_foreign_jobs_by_name(client: httpx.Client, session: Session, job: Job) -> None:
    foreign = make_job(session)
    for unknown in (foreign.id, "job_none"):
        found = problem(client.get("/v1/stream", params={"jobs": f"{job.id},{unknown}"}), 404, "not_found")
        assert found["detail"] == f"There is no job {unknown!r}." and found["param"] == "jobs"


@pytest.mark.parametrize("jobs", ["", ",", "job_a,job_a", ":5", "job_a:x", "job_a:-1", "job_a:1:2"])
def test_stream_refuses_malformed_cursors(client: httpx.Client, jobs: str) -> None:
    assert problem(client.get("/v1/stream", params={"jobs": jobs}), 422, "invalid_request")["param"] == "jobs"


def test_stream_limits_the_number_of_jobs(client: httpx.Client) -> None:
    jobs = ",".join(f"job_{number}" for number in range(51))
    detail = problem(client.get("/v1/stream", params={"jobs": jobs}), 422, "invalid_request")["detail"]
    assert detail == "`jobs` has 51 jobs. A stream may have at most 50. Open several streams."


def test_streams_of_an_owner_are_limited_until_one_closes(serve: Serve, job: Job) -> None:
    """Another key of the owner has no further ones."""
    with serve(streams_per_owner=2) as client:
        with ExitStack() as streams:
            for _ in range(2):
                received = messages(streams.enter_context(client.stream("GET", f"/v1/jobs/{job.id}/stream")))
                assert next(received).seq == 1
                streams.callback(received.close)
            other = client.post("/v1/keys", json={"name": "other"}).json()["text"]
            headers = {"Authorization": f"Bearer {other}"}
            refused = client.get("/v1/stream", params={"jobs": job.id}, headers=headers)
            assert "have 2 open event streams" in problem(refused, 429, "too_many_streams")["detail"]
            assert refused.headers["retry-after"] == "10"
        finish(job)
        assert client.get("/v1/stream", params={"jobs": job.id}).status_code == 200
