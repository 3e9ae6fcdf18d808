"""Long runs: the pages state that exact steps are deleted, and a zoom of a comparison shows those that are left."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Route, expect

from benchmarks.platform_suite.stored_runs import metric_names, running_job, steps
from core.db import session_scope
from core.jobs.lifecycle import attempts
from core.jobs.run.events import append_events
from core.jobs.run.thinning import thin_metrics
from core.models.jobs import JobStatus
from proximal.sdk import Client
from tests.e2e.conftest import NewPage
from tests.e2e.test_charts import choose
from tests.waiting import eventually

STEPS = 300


@pytest.fixture
def runs(client: Client, owner_id: str) -> Iterator[tuple[str, str]]:
    """A thinned run, and one with every step."""
    ids = []
    for _ in range(2):
        with session_scope() as session:
            claim = running_job(session, owner_id, STEPS)
            append_events(session, claim.job_id, claim.attempt, list(steps(1, STEPS, STEPS, metric_names(3))))
            attempts.finish(session, claim.job_id, claim.attempt, JobStatus.SUCCEEDED, "The run has ended.", summary={})
            ids.append(claim.job_id)
    with session_scope() as session:
        thin_metrics(session, ids[0], 30)
    yield ids[0], ids[1]
    for run in ids:
        client.delete_job(run)


def test_a_thinned_run_states_what_its_points_stand_for(new_page: NewPage, runs: tuple[str, str]) -> None:
    thinned, whole = runs
    page = new_page()
    note = page.get_by_text("A point stands for 4 steps or more")
    page.goto(f"/jobs/{thinned}?stage=ppo")
    expect(note).to_be_visible()
    expect(page.get_by_role("article").first).to_be_visible()
    page.goto(f"/jobs/{whole}?stage=ppo")
    expect(page.get_by_role("article").first).to_be_visible()
    expect(note).to_have_count(0)
    page.goto(f"/compare?runs={thinned},{whole}&stage=ppo")
    named = f"Thinned, so a point stands for 4 steps or more: benchmark ({thinned[-6:]})."
    expect(page.get_by_text(named)).to_be_visible()


def test_zoom_of_compared_runs_shows_every_step_there_is(new_page: NewPage, runs: tuple[str, str]) -> None:
    thinned, whole = runs
    page = new_page()
    page.goto(f"/compare?runs={thinned},{whole}&stage=ppo&view=100..120")
    steps = {"": set[int]()}

    def are_exact() -> bool:
        with page.expect_download() as download:
            choose(page, "Score", "Save as CSV")
        head, *rows = [line.split(",") for line in download.value.path().read_text().splitlines()]
        for index, name in enumerate(head):
            steps[name] = {int(row[0]) for row in rows if row[index] and 100 <= int(row[0]) <= 120}
        return steps[f"benchmark ({whole})"] == set(range(100, 121))

    eventually(are_exact)
    assert steps[f"benchmark ({thinned})"] == {103, 107, 111, 115, 119}


def test_zoom_of_the_address_waits_for_the_longest_run(
    new_page: NewPage, finished_job: str, runs: tuple[str, str]
) -> None:
    page, held, is_late = new_page(), list[Route](), [True]

    def take(route: Route) -> None:
        held.append(route) if is_late[0] else route.continue_()

    page.route(re.compile(f"/jobs/{runs[1]}/metrics"), take)
    page.goto(f"/compare?runs={finished_job},{runs[1]}&stage=ppo&view=100..120")
    chart = page.get_by_role("article", name="Score", exact=True)
    expect(chart.locator("canvas")).to_be_visible()
    is_late[0] = False
    for route in held:
        route.continue_()

    def first_shown() -> list[str]:
        page.get_by_role("slider", name=re.compile("^Score:")).press("Home")
        # Read in one step, because the points that come late remove the readout.
        found: list[str] = chart.locator("[data-position]").evaluate_all("all => all.map(one => one.dataset.position)")
        return found

    eventually(lambda: first_shown() == ["100"])


def test_finer_points_that_do_not_come_are_named(new_page: NewPage, runs: tuple[str, str]) -> None:
    page = new_page()
    page.route(re.compile(f"/jobs/{runs[1]}/metrics.*[?&]from="), lambda route: route.fulfill(status=404, json={}))
    page.goto(f"/compare?runs={runs[0]},{runs[1]}&stage=ppo&view=100..120")
    named = f"The server gave no finer points, so a point stands for several steps: benchmark ({runs[1][-6:]})."
    expect(page.get_by_text(named)).to_be_visible()
