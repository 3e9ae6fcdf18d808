"""The console output of a job over HTTP, and through the SDK."""

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime

import httpx
import jsonschema
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from core.db import session_scope
from core.jobs.lifecycle import attempts
from core.jobs.run.logs import LogLines, LogOrigin, append_log
from core.models import ApiKey, Job
from core.models.job_logs import LogSource
from core.models.jobs import JobStatus
from proximal.errors import ApiError
from proximal.sdk import AsyncClient, Client
from proximal.sdk import job_logs as sdk_logs
from proximal.sdk.job_logs import LogFilter
from tests.api.compatibility import committed
from tests.api.problem_checks import problem
from tests.core.factories import make_job, make_key, running

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LIMIT = 10**6


@pytest.fixture
def job(session: Session, owner: tuple[ApiKey, str]) -> Job:
    """Running, with a line of the worker and two lines of each of two processes."""
    made = make_job(session, owner[0].owner_id)
    running(session, made)
    parts = [
        LogLines(LogOrigin(LogSource.WORKER), AT, ["fetching"]),
        LogLines(LogOrigin(rank=0), AT, ["loss 1", "loss 2"]),
        LogLines(LogOrigin(machine=1, rank=1), AT, ["Loss 3", "end\u2028"], 99),
    ]
    append_log(session, made.id, 1, parts, LIMIT)
    session.commit()
    return made


@pytest.fixture
def sdk(client: TestClient, owner: tuple[ApiKey, str]) -> Client:
    made = Client("http://testserver", owner[1])
    made._http = client
    return made


def finish(session: Session, job: Job) -> None:
    attempts.finish(session, job.id, 1, JobStatus.SUCCEEDED, "")
    session.commit()


def test_log_as_json_lines_fits_its_schema(client: TestClient, job: Job) -> None:
    response = client.get(f"/v1/jobs/{job.id}/logs")
    assert response.headers["content-type"] == "application/jsonl"
    found = [json.loads(line) for line in response.text.split("\n")[:-1]]
    shapes = committed()
    schema = shapes["components"]["schemas"]["JobLogLine"] | {"components": shapes["components"]}
    for line in found:
        jsonschema.validate(line, schema)
    assert found[3] == {
        "object": "job.log_line",
        "number": 4,
        "attempt": 1,
        "at": "2026-01-02T03:04:05Z",
        "source": "trainer",
        "machine": 1,
        "rank": 1,
        "text": "Loss 3",
        "dropped_bytes": 99,
    }


def test_log_as_text_names_other_processes(client: TestClient, job: Job) -> None:
    response = client.get(f"/v1/jobs/{job.id}/logs?format=text")
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert response.text == (
        "[worker] fetching\nloss 1\nloss 2\n[99 bytes of output are not stored]\n[rank 1] Loss 3\n[rank 1] end\u2028\n"
    )


def test_log_is_read_by_cursor_tail_and_search(client: TestClient, job: Job, session: Session) -> None:
    path = f"/v1/jobs/{job.id}/logs?format=text"
    first = client.get(f"{path}&limit=2")
    assert (first.text, first.headers["x-log-cursor"]) == ("[worker] fetching\nloss 1\n", "2")
    rest = client.get(f"{path}&after=2&rank=0")
    assert (rest.text, rest.headers["x-log-complete"]) == ("loss 2\n", "false")
    found = client.get(f"{path}&search=LOSS&source=trainer&attempt=1&tail=1")
    assert (found.text.splitlines()[-1], found.headers["x-log-cursor"]) == ("[rank 1] Loss 3", "5")
    finish(session, job)
    assert client.get(f"{path}&limit=2").headers["x-log-complete"] == "false"
    assert client.get(f"{path}&after=5").headers["x-log-complete"] == "true"


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=10001", "tail=0", "after=-1", "attempt=0", "format=xml", "source=api", "search=" + "x" * 201],
)
def test_log_parameter_out_of_range_is_refused(client: TestClient, job: Job, query: str) -> None:
    problem(client.get(f"/v1/jobs/{job.id}/logs?{query}"), 422, "invalid_request")


def test_log_of_another_owner_is_not_found(client: TestClient, session: Session) -> None:
    theirs = make_job(session, make_key(session, "other").owner_id)
    problem(client.get(f"/v1/jobs/{theirs.id}/logs"), 404, "not_found")


def test_sdk_logs_read_every_page(sdk: Client, job: Job, session: Session) -> None:
    with session_scope() as other:
        append_log(other, job.id, 1, [LogLines(LogOrigin(rank=0), AT, list(map(str, range(12_000))))], 10**7)
    assert [line["number"] for line in sdk.logs(job.id)] == list(range(1, 12_006))
    assert [line["text"] for line in sdk.logs(job.id, LogFilter(search="loss"), tail=2)] == ["loss 2", "Loss 3"]


def test_async_sdk_logs_are_those_of_the_client(
    app: FastAPI, owner: tuple[ApiKey, str], job: Job, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sdk_logs, "_POLL_SECONDS", 0.0)

    async def scenario() -> None:
        sdk = AsyncClient("http://testserver", owner[1])
        sdk._http = httpx.AsyncClient(transport=httpx.ASGITransport(app), **sdk._options)
        async with sdk:
            found = [line["text"] async for line in sdk.logs(job.id, LogFilter(search="loss"), tail=2)]
            assert found == ["loss 2", "Loss 3"]
            following = sdk.logs(job.id, tail=1, follow=True)
            assert (await anext(following))["text"] == "end\u2028"
            append_log(session, job.id, 1, [LogLines(LogOrigin(rank=0), AT, ["last"])], LIMIT)
            finish(session, job)
            assert [line["text"] async for line in following] == ["last"]
            with pytest.raises(ApiError, match="no job"):
                await anext(sdk.logs("job_x", follow=True))

    asyncio.run(scenario())


def test_sdk_logs_follow_until_the_job_ends(
    sdk: Client, job: Job, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sdk_logs, "_POLL_SECONDS", 0.0)
    following: Iterator[object] = (line["text"] for line in sdk.logs(job.id, tail=1, follow=True))
    assert next(following) == "end\u2028"
    append_log(session, job.id, 1, [LogLines(LogOrigin(rank=0), AT, ["later"])], LIMIT)
    session.commit()
    assert next(following) == "later"
    append_log(session, job.id, 1, [LogLines(LogOrigin(rank=0), AT, ["last"])], LIMIT)
    finish(session, job)
    assert list(following) == ["last"]
