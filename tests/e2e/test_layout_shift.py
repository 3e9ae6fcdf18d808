"""A page that is open during a whole run keeps what it shows in its place."""

import pytest
from playwright.sync_api import Page, Route, expect

from proximal.sdk import Client
from tests.e2e.conftest import NewPage
from tests.e2e.conftest import submit_tiny as submit
from tests.waiting import eventually

OBSERVER = """
    window.shifts = [];
    const name = ({ node }) => (node?.parentElement ?? node)?.className ?? "";
    new PerformanceObserver((list) => {
        for (const { value, sources } of list.getEntries()) window.shifts.push([value, sources.map(name)]);
    }).observe({ type: "layout-shift", buffered: true });
"""
MOST = 0.02
VIEWS = [
    (1280, ""),
    (390, ""),
    (1280, "?tab=completions"),
    (390, "?tab=completions"),
    (1280, "?stage=reward_model"),
    (390, "?stage=reward_model"),
]
"""Widths, and parts of the page of the job. The first part follows the stages."""
LISTS = (1280, 390)
"""Widths of the list of jobs."""


def opened(new_page: NewPage, width: int, address: str, shown: str) -> Page:
    page = new_page(width)
    page.add_init_script(OBSERVER)
    page.goto(address)
    expect(page.locator(shown)).to_be_visible()
    page.evaluate("window.shifts.length = 0")
    return page


def succeeded(job_id: str) -> str:
    """A selector: the row of a job in the list once it has succeeded."""
    return f'tr:has(a[href="/jobs/{job_id}"]):has-text("Succeeded")'


@pytest.fixture
def waiting_job(client: Client, finished_job: str) -> str:
    """A job of all four stages, with a finding, which waits until its worker is uncordoned."""
    (worker,) = client.list_workers()
    client.cordon_worker(worker["id"])
    data = client.get_job(finished_job)["spec"]["data"]
    for _ in range(12):  # rows below, which would move
        client.cancel_job(client.clone_job(finished_job)["id"])
    return submit(client, {kind: data[kind] for kind in ("sft", "preferences")}, epochs=1)


def test_nothing_moves_while_a_run_passes_its_stages(new_page: NewPage, client: Client, waiting_job: str) -> None:
    runs = {
        view: opened(new_page, view[0], f"/jobs/{waiting_job}{view[1]}", '[data-connection="live"]') for view in VIEWS
    }
    lists = {width: opened(new_page, width, "/", f'a[href="/jobs/{waiting_job}"]') for width in LISTS}
    (worker,) = client.list_workers()
    client.uncordon_worker(worker["id"])
    eventually(lambda: client.get_job(waiting_job)["status"] == "succeeded")
    for page in runs.values():
        expect(page.locator('[data-connection="ended"]')).to_be_visible()
    for page in lists.values():
        expect(page.locator(succeeded(waiting_job))).to_be_visible()
    shifts = {view: page.evaluate("window.shifts") for view, page in [*runs.items(), *lists.items()]}
    too_much = {view: found for view, found in shifts.items() if sum(value for value, _ in found) >= MOST}
    assert too_much == {}
    assert all(shifts.values())  # no browser measured nothing


@pytest.mark.parametrize("width", [390, 1280])
def test_tags_that_arrive_late_move_nothing(new_page: NewPage, client: Client, finished_job: str, width: int) -> None:
    client.change_job(finished_job, tags=["a-tag-of-many-letters"])
    waiting: list[Route] = []
    page = new_page(width)
    page.add_init_script(OBSERVER)
    page.route("**/v1/jobs/tags*", lambda route: waiting.append(route))
    page.goto("/")
    expect(page.locator(f'a[href="/jobs/{finished_job}"]')).to_be_visible()
    page.evaluate("window.shifts.length = 0")
    for request in waiting:
        request.continue_()
    expect(page.get_by_label("Add a tag to the filter")).to_be_enabled()
    assert waiting and page.evaluate("window.shifts") == []


def test_a_phone_shows_a_completion_on_its_first_screen(new_page: NewPage, finished_job: str) -> None:
    page = new_page(390)
    page.goto(f"/jobs/{finished_job}?stage=ppo&tab=completions")
    first = page.locator("main li article").first
    expect(first).to_be_visible()
    box = first.bounding_box()
    assert box is not None and box["y"] + min(box["height"], 120) < 844
