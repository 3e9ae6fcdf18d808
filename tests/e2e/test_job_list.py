"""The list of jobs and the groups: filters in the address, bulk actions, and widths down to 360 pixels."""

import re

import pytest
from playwright.sync_api import Page, Route, expect

from proximal.sdk import Client
from tests.e2e.axe import unseen, violations
from tests.e2e.conftest import NewPage


def test_job_list_filters_tags_and_selects(new_page: NewPage, client: Client, finished_job: str) -> None:
    client.change_job(finished_job, tags=["first"])
    page = new_page()
    page.goto("/?q=nothing-like-this")
    page.get_by_role("button", name="Clear the filters").last.press("Enter")
    row = page.get_by_role("row").filter(has_text=finished_job)
    expect(row).to_be_visible()
    expect(page.locator("main:focus, main :focus")).to_have_count(1)  # the button is gone
    row.get_by_role("button", name="first").click()
    expect(page).to_have_url(f"{client.url}/?tag=first")
    row.get_by_role("checkbox").check()
    page.get_by_label("Tag for the selected jobs").fill("second")
    page.get_by_role("button", name="Add tag").click()
    expect(row.get_by_role("button", name="second")).to_be_visible()
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("button", name="Cancel the jobs").click()
    expect(page.get_by_role("alert")).to_be_visible()
    assert violations(page) == []
    for width in (360, 390, 800, 1280, 2560):
        page.set_viewport_size({"width": width, "height": 844})
        assert unseen(page) == [], width
    _archives_and_deletes(page, client, finished_job)
    _keeps_views(page, client)
    _shows_groups(page, client, finished_job)
    _sorts_and_moves_columns(page, client)
    _shows_templates(page, client)


@pytest.mark.parametrize(
    ("address", "button", "notice"),
    [
        ("/", "Clear the filters", "No job matches the filters"),
        ("/datasets", "Show all", "No dataset matches the filters"),
    ],
)
def test_cleared_filters_keep_their_notice_until_the_answer(
    new_page: NewPage, address: str, button: str, notice: str
) -> None:
    """The list was taken for that of an empty platform until its first answer without filters."""
    page, held = new_page(), list[Route]()
    page.goto(f"{address}?q=nothing-like-this")
    expect(page.get_by_text(notice)).to_be_visible()
    page.route(re.compile(r"/v1/(jobs|datasets)\?"), lambda route: held.append(route))
    page.get_by_role("button", name=button).last.click()
    expect(page).to_have_url(re.compile(f"{address}$"))
    expect(page.get_by_text(notice)).to_be_visible()
    for request in held:
        request.continue_()
    expect(page.get_by_text(notice)).to_have_count(0)


def test_focus_of_a_removed_button_goes_to_a_shown_control(new_page: NewPage) -> None:
    """The next control in the document is the order of the jobs, which only a phone shows."""
    page = new_page()
    page.goto("/?q=nothing-like-this")
    page.get_by_role("button", name="Clear the filters").first.press("Enter")
    expect(page.locator("main :focus")).to_have_count(1)
    expect(page.locator("main :focus")).to_be_visible()


def _sorts_and_moves_columns(page: Page, client: Client) -> None:
    """The server sorts. A shift-click selects a range. The columns are moved by keyboard."""
    names = [job["name"] or "Unnamed job" for job in client.list_jobs(sort="-name")]
    page.goto("/?sort=-name")
    head = page.get_by_role("columnheader", name="Job", exact=True)
    expect(head).to_have_attribute("aria-sort", "descending")
    links = page.locator("tbody th a[href^='/jobs/']")
    expect(links).to_have_text(names)
    head.get_by_role("button").click()
    expect(page).to_have_url(f"{client.url}/")
    expect(links).to_have_text([job["name"] or "Unnamed job" for job in client.list_jobs()])
    boxes = page.locator("tbody").get_by_role("checkbox")
    boxes.first.check()
    boxes.last.click(modifiers=["Shift"])
    expect(page.get_by_role("status").filter(has_text=f"{len(names)} job")).to_be_visible()
    page.get_by_role("button", name="Select none").click()
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("button", name="Move Status down").press("Enter")
    expect(page.get_by_role("button", name="Move Status down")).to_be_focused()
    page.keyboard.press("Escape")
    assert page.locator("thead th").all_inner_texts().index("Status") == 3


def _keeps_views(page: Page, client: Client) -> None:
    page.goto("/?tag=first")
    page.get_by_role("button", name="Views", exact=True).click()
    page.get_by_label("Name of the view").fill("Firsts")
    page.get_by_role("button", name="Save").click()
    page.goto("/")
    views = page.get_by_role("button", name="Views", exact=True)
    views.click()
    page.get_by_role("button", name="Firsts", exact=True).click()
    expect(page).to_have_url(f"{client.url}/?tag=first")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(views).to_be_focused()
    views.click()
    page.get_by_role("button", name="Delete the view Firsts").press("Enter")
    expect(page.get_by_label("Name of the view")).to_be_focused()


def _shows_templates(page: Page, client: Client) -> None:
    client.create_template("One step", description="", spec={"ppo": {"steps": 1}})
    client.create_template("Two steps", description="For a first look", spec={"ppo": {"steps": 2}})
    page.goto("/templates")
    page.get_by_text("1 field").first.click()
    expect(page.locator("[data-template] pre").first).to_contain_text('"steps": 2')
    assert violations(page) == []
    page.get_by_role("link", name="Use Two steps").click()
    expect(page.get_by_label("Steps", exact=True)).to_have_value("2")
    page.go_back()
    page.get_by_role("button", name="Delete Two steps").click()
    page.get_by_role("button", name="Delete it").click()
    expect(page.get_by_role("button", name="Delete One step")).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Delete it").press("Enter")
    expect(page.get_by_role("heading", name="No templates yet")).to_be_visible()
    expect(page.get_by_role("heading", name="Templates", exact=True)).to_be_focused()


def _archives_and_deletes(page: Page, client: Client, finished_job: str) -> None:
    """A job that another client submits appears by itself. No worker can run it. The bar archives it, and deletes it."""
    spec = client.get_job(finished_job)["spec"] | {"name": "Too large", "resources": {"processes": 64}}
    page.goto("/")
    expect(page.get_by_role("row").filter(has_text=finished_job)).to_be_visible()
    job = client.create_job(spec, force=True)["id"]
    row = page.get_by_role("row").filter(has_text=job)
    expect(row).to_be_visible()
    client.cancel_job(job)
    row.get_by_role("checkbox").check()
    page.get_by_role("button", name="Archive", exact=True).click()
    expect(row).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    row.get_by_role("checkbox").check()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_text("1 job deleted.")).to_be_visible()
    expect(row).to_have_count(0)
    assert job not in {one["id"] for one in client.list_jobs()}


def _shows_groups(page: Page, client: Client, finished_job: str) -> None:
    group = client.create_group(name="Baselines")
    page.goto("/groups")
    page.get_by_role("link", name="Baselines").click()
    page.get_by_role("link", name="New job in this group").click()
    expect(page.get_by_text("The job joins the group Baselines.")).to_be_visible()
    page.get_by_label("Breadcrumb").get_by_role("link", name="Baselines").click()
    expect(page).to_have_url(f"{client.url}/groups/{group['id']}")
    member = client.create_job(client.get_job(finished_job)["spec"] | {"name": "Member"}, group=group["id"])
    client.cancel_job(member["id"])
    page.reload()
    page.get_by_role("table", name="Jobs of the group").get_by_role("link", name="Member").click()
    expect(page).to_have_url(f"{client.url}/jobs/{member['id']}")
