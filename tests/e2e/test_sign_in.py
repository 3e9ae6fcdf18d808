"""Getting in: by the link that `proximal up` prints, or with a key."""

from playwright.sync_api import expect

from proximal.sdk import Client, sign_in_link
from tests.e2e.conftest import NewPage, key_of
from tests.proximal.conftest import Up


def test_sign_in_link_works_once_and_leaves_no_code_behind(new_page: NewPage, platform: Up, client: Client) -> None:
    page = new_page(signed_in=False)
    link = sign_in_link(client)
    page.goto(link)
    expect(page.get_by_role("heading", name="Jobs", exact=True)).to_be_visible()
    assert page.url == f"{platform.url}/"
    assert page.evaluate("document.cookie") == ""  # HttpOnly: no script can read it
    page.reload()
    expect(page.get_by_role("heading", name="Jobs", exact=True)).to_be_visible()
    page.goto(link)  # used, but the browser is still signed in
    expect(page.get_by_role("heading", name="Jobs", exact=True)).to_be_visible()
    again = new_page(signed_in=False)
    again.goto(link)
    expect(again.get_by_role("alert")).to_contain_text("works once")


def test_sign_in_refuses_a_wrong_key_and_accepts_the_right_one(new_page: NewPage, platform: Up) -> None:
    page = new_page(signed_in=False)
    page.goto("/datasets")
    page.get_by_label("API key").fill("prx_wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("does not accept this key")
    page.get_by_label("API key").fill(key_of(platform))
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Datasets")).to_be_visible()


def test_sign_in_expired_link_is_reported(new_page: NewPage, platform: Up) -> None:
    page = new_page(signed_in=False)
    page.goto("/?code=from-yesterday")
    expect(page.get_by_role("alert")).to_contain_text("not valid any more")
    assert page.url == f"{platform.url}/"


def test_signing_out_shows_the_sign_in_page(new_page: NewPage) -> None:
    page = new_page()
    page.goto("/")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("API key")).to_be_visible()
    page.goto("/datasets")
    expect(page.get_by_label("API key")).to_be_visible()
