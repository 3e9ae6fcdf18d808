"""The compose file's services as containers, and the demo job through them, over REST and in a browser."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright
from rich.console import Console
from safetensors import safe_open

from benchmarks.measuring.browser import OPTIONS, chromium
from proximal.demo import submit_job
from proximal.sdk import Client
from proximal.sdk.checkpoint_files import save_checkpoint
from tests.images.composition import Composition
from tests.images.conftest import MARKS, URL

pytestmark = MARKS
OURS = ("api", "sweeper", "worker", "data-worker")
PPO_STEPS = 30
"""Those of examples/reviews/demo.toml."""


@pytest.fixture(scope="module")
def page(composition: Composition) -> Iterator[Page]:
    """A browser's page. Its programs are in the containers' network, too."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(OPTIONS))
        page = browser.new_page(base_url=URL, locale="en-US", reduced_motion="reduce")
        page.set_default_timeout(60_000)
        expect.set_options(timeout=60_000)
        yield page
        browser.close()


@pytest.fixture(scope="module")
def demo_job(client: Client, composition: Composition, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The job of `proximal demo`, which has ended. Its worker was restarted in the middle of PPO."""
    job_id = submit_job(client, 0, tmp_path_factory.mktemp("demo"), Console(quiet=True))
    restarted = False
    for event in client.stream_job_events(job_id):
        if not restarted and event["stage"] == "ppo" and event["type"] == "metrics" and event["data"]["step"] >= 3:
            composition.restart("worker")
            restarted = True
    assert restarted
    return job_id


@pytest.mark.parametrize("name", OURS)
def test_container_has_no_more_rights_than_it_needs(composition: Composition, name: str) -> None:
    status = dict(line.split(":\t") for line in composition.exec(name, "cat", "/proc/1/status").stdout.splitlines())
    assert status["Uid"].split() == ["10001"] * 4
    assert (int(status["CapBnd"], 16), status["NoNewPrivs"]) == (0, "1")
    for path in ("/etc/x", "/opt/proximal/x", "/home/proximal/x"):
        assert "Read-only file system" in composition.exec(name, "touch", path).stderr
    data = composition.services[name]["environment"]["PROXIMAL_DATA_DIR"]
    assert composition.exec(name, "touch", "/tmp/x", "/blobs/.x", f"{data}/.x").returncode == 0


def test_database_takes_its_password_alone(composition: Composition) -> None:
    code = "import psycopg, os; psycopg.connect(os.environ['DATABASE_URL'].replace('secret', 'wrong'))"
    refused = composition.exec("api", "python", "-c", code)
    assert "password authentication failed" in refused.stderr


def test_demo_job_goes_on_after_a_restart_of_its_worker(client: Client, demo_job: str) -> None:
    ended = client.get_job(demo_job)
    assert ended["status"] == "succeeded", ended["error"]
    assert ended["attempt"] == 2
    assert ended["summary"]["win_rate"] >= 0.8
    (scores,) = client.get_job_metrics(demo_job, stage="ppo", names=["objective/scores"])["series"]
    assert scores["steps"] == list(range(1, PPO_STEPS + 1))


def test_worker_saved_at_its_restart_and_lost_no_step(client: Client, demo_job: str) -> None:
    reported = [
        (event["data"]["step"], event["attempt"])
        for event in client.list_job_events(demo_job)
        if event["type"] == "metrics" and event["stage"] == "ppo"
    ]
    assert [step for step, _ in reported] == list(range(PPO_STEPS + 1))  # the evaluation before the first step is 0
    assert {attempt for _, attempt in reported} == {1, 2}


def test_checkpoint_of_a_container_can_be_downloaded(client: Client, demo_job: str, tmp_path: Path) -> None:
    (final,) = (one for one in client.list_job_checkpoints(demo_job, final=True) if one["stage"] == "ppo")
    folder = save_checkpoint(client, final, tmp_path / "checkpoint")
    (weights,) = folder.rglob("model.safetensors")
    with safe_open(weights, "pt") as file:
        assert all(file.get_tensor(name).isfinite().all() for name in file.keys())  # noqa: SIM118  # no mapping


def test_dashboard_of_a_container_shows_the_run(page: Page, key: str, demo_job: str) -> None:
    page.goto("/")
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Jobs", exact=True)).to_be_visible()
    page.get_by_role("link", name="Demo: film reviews, seed 0").first.click()
    expect(page).to_have_url(re.compile(f"/jobs/{demo_job}$"))
    expect(page.locator('[data-status="succeeded"]')).to_be_visible()
    page.get_by_role("button", name="PPO").click()
    chart = page.locator('[data-metric="objective/scores"]').first
    expect(chart).to_have_attribute("data-points", str(PPO_STEPS))


def test_containers_made_anew_keep_jobs_and_files(
    client: Client, composition: Composition, demo_job: str, tmp_path: Path
) -> None:
    """`docker compose down`, then `up`: everything that counts is in the volumes."""
    composition.up()
    assert client.get_job(demo_job)["status"] == "succeeded"
    for checkpoint in client.list_job_checkpoints(demo_job, final=True):
        save_checkpoint(client, checkpoint, tmp_path / checkpoint["id"])


def test_containers_end_by_themselves_when_stopped(composition: Composition) -> None:
    """The last test. SIGTERM reaches each process through the container's init; 137 would be a SIGKILL."""
    for name in OURS:
        subprocess.run([*composition.podman, "stop", composition.container(name)], check=True, capture_output=True)
        assert composition.inspect(name, "{{.State.ExitCode}}") in ("0", "143"), name
