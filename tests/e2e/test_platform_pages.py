"""Pages of the platform itself: workers, keys and limits, and the search that opens every page."""

import re

import pytest
from playwright.sync_api import Page, expect

from proximal.sdk import Client
from tests.e2e.axe import unseen, violations
from tests.e2e.conftest import KL_COEFFICIENTS, NewPage, Submit
from tests.waiting import eventually


def test_worker_is_cordoned_and_uncordoned(new_page: NewPage, client: Client) -> None:
    page = new_page()
    page.goto("/workers")
    row = page.locator("[data-worker]")
    try:
        row.get_by_role("button", name="Cordon").click()
        expect(row).to_have_attribute("data-state", "cordoned")
        # The job of an earlier test may still be ending.
        expect(row).to_contain_text(re.compile("takes no(ne| job)"))
        assert [worker["state"] for worker in client.list_workers()] == ["cordoned"]
        assert violations(page) == []
    finally:
        row.get_by_role("button", name="Uncordon").click()
    expect(row).to_have_attribute("data-state", "online")
    eventually(lambda: [worker["state"] for worker in client.list_workers()] == ["online"])


def test_key_is_created_shown_once_and_revoked(new_page: NewPage, client: Client) -> None:
    page = new_page(width=390)
    page.goto("/settings")
    page.get_by_label("Name of a new key").fill("laptop")
    page.get_by_role("button", name="Create key").click()
    text = page.locator("pre").inner_text()
    with Client(client.url, text) as other:
        assert other.who_am_i()["key"]["name"] == "laptop"
    assert violations(page) == []
    page.reload()
    expect(page.get_by_text(text)).to_have_count(0)
    page.get_by_role("button", name="Revoke laptop").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke", exact=True).click()
    expect(page.locator("[data-key]", has_text="laptop")).to_contain_text("Revoked")
    page.get_by_role("link", name="Usage and limits", exact=True).click()
    expect(page.get_by_role("progressbar", name="Stored data")).to_be_visible()
    assert violations(page) == []


def test_navigation_leads_to_every_list_on_a_phone(new_page: NewPage) -> None:
    """Its row scrolls, and shows the present page."""
    page = new_page(width=390)
    page.goto("/")
    navigation = page.get_by_role("navigation", name="Main")
    for name, heading in (("Templates", "Templates"), ("Groups", "Groups"), ("Compare", "Compare runs")):
        navigation.get_by_role("link", name=name).click()
        expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
        expect(navigation.locator("[aria-current]")).to_have_text(name)
        expect(navigation.locator("[aria-current]")).to_be_in_viewport(ratio=1)
        assert violations(page) == []


def test_search_opens_a_job_by_the_keyboard_alone(new_page: NewPage, finished_job: str) -> None:
    page = new_page()
    page.goto("/")
    expect(page.get_by_role("heading", name="Jobs")).to_be_visible()
    eventually(
        lambda: _leads_to(page, "/workers", "g", "w")
    )  # a busy page may take longer than the pause between two keys
    page.keyboard.press("Control+k")
    page.keyboard.type("tiny")
    expect(page.get_by_role("option", name="Tiny").first).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Tiny")).to_be_visible()
    page.get_by_label("Breadcrumb").get_by_role("link", name="Jobs").press("Enter")
    expect(page.get_by_role("heading", name="Jobs")).to_be_visible()
    expect(page.get_by_role("main")).to_be_focused()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("Escape")


@pytest.mark.parametrize("width", [390, 1280])
def test_an_operator_gets_the_command_of_a_new_worker(new_page: NewPage, client: Client, width: int) -> None:
    page = new_page(width)
    page.goto("/workers")
    page.get_by_role("button", name="Add a worker").click()
    dialog = page.get_by_role("dialog", name="Add a worker")
    command = dialog.locator("pre")
    expect(command).to_have_text(
        re.compile(f"^proximal worker join {re.escape(client.url)} --token prxw_[a-z2-7]{{32}}$")
    )
    assert violations(page) == []
    before = command.inner_text()
    dialog.get_by_role("button", name="Create another token").click()
    expect(command).not_to_have_text(before)
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("button", name="Add a worker")).to_be_focused()


def _leads_to(page: Page, address: str, *keys: str) -> bool:
    for key in keys:
        page.keyboard.press(key)
    return page.url.endswith(address)


def test_compared_runs_show_figures_and_differences(
    new_page: NewPage, client: Client, finished_job: str, submit_ppo: Submit, stored_runs: list[str]
) -> None:
    other = submit_ppo(steps=1)
    eventually(lambda: client.get_job(other)["status"] == "succeeded")
    page = new_page()
    page.goto(f"/compare?runs={finished_job},{other}")
    figures = page.get_by_role("region", name="Final figures")
    expect(figures.locator("tbody tr")).to_have_count(2)
    rate = client.get_job(finished_job)["summary"]["win_rate"]
    expect(figures).to_contain_text(f"{rate:.1%}".replace("%", " %"))
    expect(page.get_by_role("article", name="Score", exact=True)).to_be_visible()
    assert violations(page) == []  # of the charts, before the bar above them covers some
    page.get_by_role("heading", name="Differences of the specs").scroll_into_view_if_needed()
    differences = page.get_by_role("region", name="Differences of the specs")
    expect(differences.get_by_role("row", name="rewards")).to_contain_text("length")
    expect(differences.get_by_role("row", name="seed")).to_have_count(0)
    assert violations(page, "[aria-label='Differences of the specs']") == []
    page.get_by_role("button", name="Remove").first.click()
    expect(figures.locator("tbody tr")).to_have_count(1)
    expect(page.get_by_role("group", name="Runs")).to_be_focused()
    _compares_forty_runs(page, stored_runs)


def _compares_forty_runs(page: Page, runs: list[str]) -> None:
    """Each has a name in the tables and on the frontier, and the first column of a wide table stays in view."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/v1/jobs" in request.url else None)
    page.goto(f"/compare?runs={','.join(runs)},job_absent")
    page.get_by_role("alert").get_by_role("button", name="Remove").click()
    expect(page.get_by_role("alert")).to_have_count(0)
    chart = page.get_by_role("article", name="Score", exact=True)
    chart.scroll_into_view_if_needed()  # it is drawn when it comes near the screen
    expect(chart.locator("b[data-value]")).to_have_count(2)  # the highest and the lowest
    expect(chart).to_contain_text("…0.005, seed 4")
    expect(chart).to_contain_text("2 of 40")
    # The curves of each run, and the jobs in one request. The table of win rates asks for completions once it is near.
    assert len([one for one in asked if "/samples" not in one]) <= 45
    page.get_by_role("heading", name="Differences of the specs").scroll_into_view_if_needed()
    frontier = page.get_by_role("region", name="Frontier of score and KL")
    expect(frontier.get_by_label("Run", exact=True).locator("option")).to_have_text(
        [f"…{kl}, seed {seed}" for kl in KL_COEFFICIENTS for seed in range(5)]
    )
    expect(frontier.locator("figure").first.locator("g[data-line]")).to_have_count(40)
    frontier.scroll_into_view_if_needed()
    matrix = page.get_by_role("table", name="Win rates")
    expect(matrix.locator("tbody tr")).to_have_count(40)
    expect(matrix.get_by_role("row").nth(1)).to_contain_text("…0.005, seed 0")
    differences = page.get_by_role("table", name="Differences of the specs")
    expect(differences.locator("tbody tr")).to_have_count(2)
    field = differences.get_by_role("rowheader", name="ppo.kl.coef")
    differences.get_by_role("columnheader").last.scroll_into_view_if_needed()
    expect(field).to_be_in_viewport(ratio=1)
    page.get_by_label("Group by").select_option("ppo.kl.coef")
    expect(chart.locator("b[data-value]")).to_have_count(8)
    expect(chart).to_contain_text("coef 0.005")
    assert violations(page) == []
    for width in (390, 1280, 2560):
        page.set_viewport_size({"width": width, "height": 844})
        assert unseen(page) == [], width
