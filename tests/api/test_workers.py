from dataclasses import replace

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text
from sqlalchemy.orm import Session

from core.jobs.queue.workers import (
    Gpu,
    MachineReport,
    online_workers,
    remove_silent_workers,
    report_worker,
    set_worker_state,
    sign_off,
)
from core.models import ApiKey
from core.models.workers import WorkerState
from core.scheduling.matching import Capacity
from tests.api.problem_checks import problem

MACHINE = MachineReport(
    Capacity(1, 80, 1, 8, labels=frozenset({"eu"})),
    (Gpu("NVIDIA H100", 80),),
    cores=8,
    memory_bytes=2**37,
    version="0.1.0",
)


@pytest.fixture
def _worker(session: Session) -> None:
    report_worker(session, "wrk_1", "host", None, MACHINE)
    session.commit()


@pytest.fixture
def operator(client: TestClient, session: Session, owner: tuple[ApiKey, str]) -> TestClient:
    session.get_one(ApiKey, owner[0].id).operator = True
    session.commit()
    return client


@pytest.mark.usefixtures("_worker")
def test_worker_reports_its_machine(client: TestClient) -> None:
    (worker,) = client.get("/v1/workers").json()["data"]
    assert worker["gpus"] == [{"model": "NVIDIA H100", "memory_gib": 80}]
    assert (worker["labels"], worker["cores"], worker["memory_bytes"]) == (["eu"], 8, 2**37)
    assert (worker["worker_class"], worker["version"]) == ("gpu1x80-1-8.eu", "0.1.0")
    assert (worker["state"], worker["busy"], worker["job_id"]) == ("online", False, None)


@pytest.mark.usefixtures("_worker")
def test_operator_changes_the_state_of_a_worker(operator: TestClient) -> None:
    for request, state in (("cordon", "cordoned"), ("drain", "draining"), ("uncordon", "online")):
        assert operator.post(f"/v1/workers/wrk_1/{request}").json()["state"] == state
        assert operator.get("/v1/workers").json()["data"][0]["state"] == state


@pytest.mark.usefixtures("_worker")
@pytest.mark.parametrize("request_", ["cordon", "drain", "uncordon"])
def test_another_key_may_not_change_workers(client: TestClient, anonymous: TestClient, request_: str) -> None:
    problem(client.post(f"/v1/workers/wrk_1/{request_}"), 403, "not_operator")
    assert client.get("/v1/workers").json()["data"][0]["state"] == "online"


def test_stopped_worker_stays_listed_until_uncordoned(operator: TestClient, session: Session) -> None:
    """Its name keeps the cordon, so an operator must see it. A stopped worker without a cordon leaves the list."""
    for number, name in enumerate(("gone", "kept")):
        report_worker(session, f"wrk_{number}", name, "job_x", replace(MACHINE, name=name))
    set_worker_state(session, "wrk_1", WorkerState.CORDONED)
    sign_off(session, "wrk_0")
    sign_off(session, "wrk_1")
    session.commit()
    (worker,) = operator.get("/v1/workers").json()["data"]
    assert (worker["id"], worker["state"], worker["offline"], worker["busy"]) == ("wrk_1", "cordoned", True, False)
    assert online_workers(session) == []
    report_worker(session, "wrk_2", "kept", None, replace(MACHINE, name="kept"))
    session.commit()
    (worker,) = operator.get("/v1/workers").json()["data"]
    assert (worker["id"], worker["state"], worker["offline"]) == ("wrk_2", "cordoned", False)
    session.execute(text("UPDATE workers SET last_seen_at = now() - interval '1 hour'"))
    assert remove_silent_workers(session) == ["wrk_2"]
    session.commit()
    assert operator.get("/v1/workers").json()["data"][0]["offline"]
    changed = operator.post("/v1/workers/wrk_2/uncordon").json()
    assert (changed["state"], changed["offline"]) == ("online", True)
    assert operator.get("/v1/workers").json()["data"] == []
    report_worker(session, "wrk_3", "kept", None, replace(MACHINE, name="kept"))
    assert [one.state for one in online_workers(session)] == [WorkerState.ONLINE]


def test_unknown_worker_is_not_found(operator: TestClient) -> None:
    problem(operator.post("/v1/workers/wrk_nope/cordon"), 404, "not_found")
