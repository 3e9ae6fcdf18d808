"""`GET /metrics`, and the files for Prometheus and Grafana in examples/monitoring."""

import json
import re
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import yaml
from fastapi import FastAPI
from fastapi.testclient import TestClient
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr
from sqlalchemy import text
from sqlalchemy.orm import Session

from api import monitoring
from core import monitoring as state
from core.access import keys
from core.access.policy import Scope
from core.jobs.queue import workers
from core.jobs.run.events import append_events
from core.models import ApiKey, WorkerCordon
from core.settings import Settings
from tests.api.serving import application
from tests.core.factories import make_job, running, step

FILES = Path(__file__).parents[2] / "examples" / "monitoring"
OF_PROMETHEUS = {"up"}
"""Metrics that Prometheus makes itself."""


@pytest.fixture
def operator(session: Session) -> str:
    made = keys.create_key(session, "operator", operator=True)[1]
    session.commit()
    return made


@pytest.fixture
def scraper(app: FastAPI, operator: str) -> TestClient:
    return TestClient(app, headers={"Authorization": f"Bearer {operator}"})


def samples(scraper: TestClient) -> dict[tuple[str, str], float]:
    """The value of each sample by its name and its labels without `process`, as `name=value` joined by commas."""
    response = scraper.get("/metrics")
    assert response.status_code == 200, response.text
    found = {}
    for family in text_string_to_metric_families(response.text):
        for sample in family.samples:
            labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()) if name != "process")
            found[sample.name, labels] = sample.value
    return found


def test_metrics_count_requests_by_template(scraper: TestClient) -> None:
    for path in ("/v1/jobs/job_1", "/v1/jobs/job_2", "/nowhere"):
        scraper.get(path)
    found = samples(scraper)
    assert found["proximal_http_requests_total", "method=GET,route=/v1/jobs/{job_id},status=404"] == 2
    assert found["proximal_http_response_seconds_count", "method=GET,route=/v1/jobs/{job_id}"] == 2
    assert [labels for name, labels in found if "job_1" in labels or "nowhere" in labels] == []


def test_metrics_bound_the_methods_of_requests(scraper: TestClient) -> None:
    scraper.request("BREW", "/nowhere")
    methods = {labels.partition(",")[0] for name, labels in samples(scraper) if name == "proximal_http_requests_total"}
    assert methods == {"method=other"}


def test_metrics_have_the_state_of_the_queue(scraper: TestClient, session: Session) -> None:
    make_job(session)
    session.execute(text("UPDATE jobs SET queued_at = now() - interval '2 hours'"))
    workers.report_worker(session, "wrk_1", "host", None)
    workers.report_worker(session, "wrk_2", "host", "job_1")
    workers.report_worker(session, "wrk_3", "host", None)
    session.execute(text("UPDATE workers SET last_seen_at = now() - interval '1 hour' WHERE id = 'wrk_3'"))
    session.commit()
    found = samples(scraper)
    assert {status: found["proximal_jobs", f"status={status}"] for status in ("queued", "running", "failed")} == {
        "queued": 1,
        "running": 0,
        "failed": 0,
    }
    assert 7200 <= found["proximal_queue_wait_seconds", ""] < 7300
    assert found["proximal_workers", "state=online"] == 2 and found["proximal_workers", "state=silent"] == 1
    assert found["proximal_workers_busy", ""] == 1 and found["proximal_state_up", ""] == 1


def test_cordoned_workers_are_counted_apart(scraper: TestClient, session: Session) -> None:
    session.add(WorkerCordon(name="", state="cordoned"))
    workers.report_worker(session, "wrk_1", "host", None)
    session.execute(text("UPDATE workers SET state = 'draining'"))
    session.commit()
    found = samples(scraper)
    assert found["proximal_workers", "state=draining"] == 1 and found["proximal_workers", "state=online"] == 0


def test_metrics_have_the_leases_that_are_lost(scraper: TestClient, session: Session) -> None:
    running(session, make_job(session))
    session.execute(text("UPDATE jobs SET lease_expires_at = now() - interval '1 minute'"))
    session.execute(text("UPDATE job_attempts SET outcome = 'lost', ended_at = now()"))
    session.commit()
    found = samples(scraper)
    assert found["proximal_leases", "holder=job"] == 1 and found["proximal_leases", "holder=data_task"] == 0
    assert found["proximal_leases_expired", "holder=job"] == 1 and found["proximal_attempts_lost", ""] == 1


def test_series_of_a_run_end_with_the_run(app: FastAPI, scraper: TestClient, session: Session) -> None:
    job = make_job(session)
    attempt = running(session, job)
    values = {"objective/kl": 4.5, "val/response_length": 20.0, "time/step": 8.0, "val/explained_var": 0.25}
    append_events(session, job.id, attempt, [step(3, **values)])
    session.commit()
    found = samples(scraper)
    own = {name: value for (name, labels), value in found.items() if labels == f"job_id={job.id}"}
    assert own == {
        "proximal_run_reward": pytest.approx(0.3),
        "proximal_run_kl": 4.5,
        "proximal_run_explained_variance": 0.25,
        "proximal_run_tokens_per_second": 160,  # 64 responses of 20 tokens in 8 s
        "proximal_run_step": 3,
        "proximal_run_steps": 10,
    }
    session.execute(
        text(
            "UPDATE jobs SET status = 'cancelled', finished_at = now(), worker_id = NULL, lease_expires_at = NULL, status_reason = ''"
        )
    )
    session.commit()
    app.state.monitor = monitoring.Monitor()  # the state is cached for some seconds
    assert [labels for _, labels in samples(scraper) if job.id in labels] == []


def test_only_the_newest_runs_have_series(settings: Settings, session: Session, operator: str) -> None:
    first, second = make_job(session), make_job(session)
    for number in (1, 2):
        workers.report_worker(session, f"wrk_{number}", "host", None)
    session.execute(
        text(
            "UPDATE jobs SET status = 'running', worker_id = 'wrk_1', lease_expires_at = now(), step = 1,"
            " started_at = now() - CASE id WHEN :first THEN interval '2 hours' ELSE interval '1 hour' END"
        ),
        {"first": first.id},
    )
    session.commit()
    client = TestClient(application(settings.model_copy(update={"metrics_jobs": 1})))
    client.headers["Authorization"] = f"Bearer {operator}"
    found = samples(client)
    assert ("proximal_run_step", f"job_id={second.id}") in found
    assert ("proximal_run_step", f"job_id={first.id}") not in found and found["proximal_runs_hidden", ""] == 1


def test_tokens_per_second_leave_out_dropped_responses() -> None:
    metrics = {"val/response_length": 10.0, "val/responses": 6.0, "time/step": 2.0}
    assert state.figures_of(metrics, 64) == {"tokens_per_second": 30.0}
    assert state.figures_of({"time/tokens_per_second": 7.0, "loss": 1.5}, 0) == {"tokens_per_second": 7.0, "loss": 1.5}


def test_metrics_need_the_token_or_an_operators_key(
    settings: Settings, owner: tuple[ApiKey, str], operator: str
) -> None:
    client = TestClient(application(settings.model_copy(update={"metrics_token": SecretStr("long random text")})))
    answers = {
        sent: client.get("/metrics", headers={"Authorization": f"Bearer {sent}"} if sent else {}).status_code
        for sent in ("", owner[1], "long random tex", "long random text", operator)
    }
    assert list(answers.values()) == [401, 401, 401, 200, 200]


def test_a_cookie_does_not_open_the_metrics(anonymous: TestClient, operator: str) -> None:
    assert anonymous.post("/v1/session", json={"token": operator}).status_code == 200
    assert anonymous.get("/metrics").status_code == 401


@pytest.mark.parametrize(
    "change",
    [
        {"revoked_at": datetime.now(UTC)},
        {"expires_at": datetime.now(UTC) - timedelta(seconds=1)},
        {"scopes": [Scope.READ.value]},
        {"operator": False},
        {"user_id": "usr_gone"},
    ],
    ids=["revoked", "expired", "limited", "no operator", "no member"],
)
def test_a_key_that_is_no_valid_operators_key_is_refused(session: Session, change: dict[str, Any]) -> None:
    key, plaintext = keys.create_key(session, "operator", operator=True)
    assert keys.is_operator(session, plaintext)
    for name, value in change.items():
        setattr(key, name, value)
    session.flush()
    assert not keys.is_operator(session, plaintext)


def test_wrong_tokens_are_limited(settings: Settings, anonymous: TestClient) -> None:
    sent = {"Authorization": "Bearer wrong"}
    answers = [anonymous.get("/metrics", headers=sent).status_code for _ in range(settings.wrong_tries_per_key + 1)]
    assert answers == [401] * settings.wrong_tries_per_key + [429]


def test_a_scrape_writes_nothing_and_is_not_limited(
    settings: Settings, session: Session, operator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = TestClient(application(settings.model_copy(update={"requests_per_second": 1})))
    client.headers["Authorization"] = f"Bearer {operator}"
    assert [client.get("/metrics").status_code for _ in range(30)] == [200] * 30
    assert session.execute(text("SELECT count(last_used_at) FROM api_keys")).scalar_one() == 0


def test_prometheus_may_name_the_host_by_any_address(scraper: TestClient) -> None:
    assert scraper.get("/metrics", headers={"Host": "10.1.2.3:8000"}).status_code == 200


def test_states_are_read_once_for_many_scrapes(scraper: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = []
    monkeypatch.setattr(
        monitoring, "read_state", lambda *arguments: reads.append(arguments) or state.read_state(*arguments)
    )
    monkeypatch.setattr(monitoring, "CACHE_SECONDS", 3600.0)
    for _ in range(5):
        samples(scraper)
    assert len(reads) == 1


def test_a_database_that_hangs_leaves_out_its_figures(scraper: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reading waits for an event, as it would for a server that does not respond."""
    ended = Event()
    monkeypatch.setattr(monitoring, "WAIT_SECONDS", 0.01)
    monkeypatch.setattr(monitoring, "read_state", lambda *_: ended.wait())
    found = samples(scraper)
    ended.set()
    assert found["proximal_state_up", ""] == 0
    assert [name for name, _ in found if name in ("proximal_jobs", "proximal_queue_wait_seconds")] == []


def test_metrics_without_a_database_have_no_old_figures(settings: Settings) -> None:
    away = {"database_url": "postgresql+psycopg://nobody@127.0.0.1:1/none", "metrics_token": SecretStr("token")}
    client = TestClient(application(settings.model_copy(update=away)))
    client.headers["Authorization"] = "Bearer token"
    assert samples(client)["proximal_state_up", ""] == 0


def test_metrics_are_openmetrics_on_request(scraper: TestClient) -> None:
    response = scraper.get("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    assert response.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    assert {family.name for family in openmetrics.text_string_to_metric_families(response.text)} >= {"proximal_jobs"}


@pytest.fixture
def names(scraper: TestClient) -> set[str]:
    """The metrics that exist, with and without a series."""
    scraper.get("/healthz")
    families = text_string_to_metric_families(scraper.get("/metrics").text)
    found = set(OF_PROMETHEUS)
    for family in families:
        found |= {family.name, *(sample.name for sample in family.samples)}
    return found


def used(expression: str) -> set[str]:
    """The metrics in an expression of PromQL."""
    return set(re.findall(r"\b(?:proximal_\w+|process_\w+|up)\b", re.sub(r'"[^"]*"', "", expression)))


def test_alert_rules_name_metrics_that_exist(names: set[str]) -> None:
    groups = yaml.safe_load((FILES / "alerts.yml").read_text())["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert len(rules) >= 10 and all(used(rule["expr"]) for rule in rules)
    assert {name for rule in rules for name in used(rule["expr"])} - names == set()
    assert all(rule["labels"]["severity"] and rule["annotations"]["summary"] for rule in rules)


def test_dashboard_queries_metrics_that_exist(names: set[str]) -> None:
    dashboard = json.loads((FILES / "dashboard.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(queries) >= 15 and all(used(query) for query in queries)
    assert {name for query in queries for name in used(query)} - names == set()
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])


def test_guide_names_every_metric(names: set[str]) -> None:
    guide = (FILES.parents[1] / "docs" / "how-to" / "monitor-the-platform.md").read_text()
    listed = set(re.findall(r"`(proximal_\w+)`", guide))
    own = {re.sub("_(total|bucket|sum|count|info)$", "", name) for name in names if name.startswith("proximal_")}
    assert {re.sub("_(total|info)$", "", name) for name in listed} == own


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not on this machine")
@pytest.mark.parametrize(
    "arguments", [["check", "rules", "alerts.yml"], ["check", "config", "--syntax-only", "prometheus.yml"]]
)
def test_promtool_accepts_the_files(arguments: list[str]) -> None:
    done = subprocess.run(["promtool", *arguments], cwd=FILES, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not on this machine")
def test_promtool_accepts_the_metrics(scraper: TestClient) -> None:
    shown = scraper.get("/metrics").text
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=shown, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
