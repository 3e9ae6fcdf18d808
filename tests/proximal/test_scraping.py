"""`/metrics` of the real processes of a platform."""

import os
import sys
from pathlib import Path

import httpx
from prometheus_client.parser import text_string_to_metric_families

from core import child
from proximal.data_folder import DataFolder
from proximal.local.options import Options
from proximal.local.services import postgres
from tests.proximal.conftest import Up, free_port
from tests.waiting import eventually


def scraped(url: str, token: str | None) -> dict[tuple[str, str, str], float]:
    """The value of each sample by its name, its process and its route."""
    response = httpx.get(f"{url}/metrics", headers={"Authorization": f"Bearer {token}"})
    assert response.status_code == 200
    families = text_string_to_metric_families(response.text)
    samples = [sample for family in families for sample in family.samples]
    return {(one.name, one.labels.get("process", ""), one.labels.get("route", "")): one.value for one in samples}


def is_up(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz").status_code in (200, 503)
    except httpx.TransportError:
        return False


def test_running_platform_is_scraped(up: Up) -> None:
    values = scraped(up.url, DataFolder(up.folder).key())
    assert values["proximal_state_up", "", ""] == 1 and values["proximal_workers_busy", "", ""] == 0
    assert httpx.get(f"{up.url}/metrics").status_code == 401


def test_processes_agree_on_the_state_and_count_apart(up: Up, tmp_path: Path) -> None:
    """A second API process on the database of the platform, which has a token for the scraper."""
    port = free_port()
    env = {**os.environ, "DATABASE_URL": postgres(Options(up.folder).folder).url, "REDIS_URL": "redis://127.0.0.1:1/0"}
    env |= {"PROXIMAL_DATA_DIR": str(tmp_path), "PROXIMAL_METRICS_TOKEN": "a long random text"}
    with (tmp_path / "log").open("wb") as log:
        second = child.start([sys.executable, "-m", "api", "--port", str(port)], stdout=log, env=env)
    try:
        url = f"http://127.0.0.1:{port}"
        eventually(lambda: is_up(url))
        for _ in range(3):
            httpx.get(f"{url}/healthz")
        found = scraped(url, "a long random text"), scraped(up.url, DataFolder(up.folder).key())
        figures = ("proximal_state_up", "proximal_workers_busy", "proximal_attempts_lost")
        assert [[one[name, "", ""] for name in figures] for one in found] == [[1, 0, 0]] * 2
        waits = [one["proximal_queue_wait_seconds", "", ""] > 0 for one in found]  # for jobs that other tests have left
        assert waits[0] == waits[1]
        processes = [{process for _, process, _ in one if process} for one in found]
        assert len(processes[0]) == len(processes[1]) == 1 and processes[0].isdisjoint(processes[1])
        assert found[0]["proximal_http_requests_total", processes[0].pop(), "/healthz"] == 3
    finally:
        second.stop(grace=20)
