"""The read-only view: a link that another key of the same owner opens, without the actions that change something."""

import re

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from core.access import keys
from core.db import session_scope
from proximal.sdk import Client
from tests.e2e.axe import unseen, violations
from tests.e2e.conftest import NewPage

ACTIONS = re.compile(
    "Actions|Annotate|Branch|Clone|Pause|Cancel|Add a job|Write notes|Edit the notes|Copy a read-only link"
)


def sign_in(context: BrowserContext, token: str) -> None:
    assert context.request.post("/v1/session", data={"token": token}).ok


def has_no_actions(page: Page) -> None:
    expect(page.get_by_role("link", name="Leave the read-only view")).to_be_visible()
    main = page.get_by_role("main")
    for role in ("button", "link"):
        expect(main.get_by_role(role, name=ACTIONS)).to_have_count(0)  # type: ignore[arg-type]


@pytest.fixture
def copied(new_page: NewPage, finished_job: str) -> str:
    """The read-only link of the finished job, as the button of its page copies it."""
    page = new_page()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"/jobs/{finished_job}?stage=ppo&tab=completions")
    page.get_by_role("button", name="Copy a read-only link").click()
    expect(page.get_by_text("The read-only link is copied.")).to_be_visible()
    link: str = page.evaluate("navigator.clipboard.readText()")
    page.context.clear_permissions()
    return link


def test_a_read_only_link_opens_for_another_key_of_the_owner(
    new_page: NewPage, client: Client, finished_job: str, copied: str
) -> None:
    group = client.create_group(name="Shared")["id"]
    page = new_page(signed_in=False)
    sign_in(page.context, client.create_key(name="A colleague")["text"])
    page.goto(copied)
    expect(page.get_by_role("heading", name="Tiny")).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text("Score")
    has_no_actions(page)
    for width in (320, 1280, 2560):
        page.set_viewport_size({"width": width, "height": 844})
        assert unseen(page) == [], width
    assert violations(page) == []
    for tab in ("Checkpoints", "Notes", "Over-optimisation", "Completions"):
        page.get_by_role("link", name=tab, exact=True).click()
        expect(page.get_by_role("link", name=tab, exact=True)).to_have_attribute("aria-current", "page")
        has_no_actions(page)
    page.get_by_label("Main").get_by_role("link", name="Groups").click()
    page.get_by_role("link", name="Shared").click()
    expect(page).to_have_url(re.compile(f"/groups/{group}.readonly=1"))
    has_no_actions(page)
    page.get_by_role("link", name="Leave the read-only view").click()
    expect(page).to_have_url(re.compile(f"/groups/{group}$"))
    expect(page.get_by_role("link", name="New job in this group")).to_be_visible()
    expect(page.get_by_text("Read-only view")).to_have_count(0)


def test_a_read_only_link_is_not_found_by_another_owner(
    new_page: NewPage, owner_id: str, finished_job: str, copied: str
) -> None:
    with session_scope() as session:
        _, token = keys.create_key(session, "Someone else")
    page = new_page(signed_in=False)
    sign_in(page.context, token)
    page.goto(copied)
    expect(page.get_by_role("heading", name="Job not found")).to_be_visible()
    page.goto(f"/compare?runs={finished_job}&readonly=1")
    expect(page.get_by_role("alert")).to_contain_text("1 run not found")
