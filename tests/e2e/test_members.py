"""An admin adds members, and each of them sees the pages and actions of its role."""

from playwright.sync_api import Page, expect

from proximal.sdk import Client
from tests.e2e.axe import violations
from tests.e2e.conftest import NewPage
from tests.e2e.test_read_only import sign_in


def _added(page: Page, name: str, role: str) -> str:
    """Add a member in the browser. Returns its key."""
    page.goto("/settings?tab=members")
    page.get_by_label("Name of a new member").fill(name)
    page.get_by_label("Role", exact=True).select_option(role)
    page.get_by_role("button", name="Add member").click()
    return page.locator("pre").inner_text().strip()


def test_viewer_sees_a_run_without_actions(new_page: NewPage, finished_job: str) -> None:
    key = _added(new_page(), "Vera", "viewer")
    page = new_page(signed_in=False)
    sign_in(page.context, key)
    page.goto(f"/jobs/{finished_job}")
    expect(page.get_by_text("Read-only view")).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text("Score")
    main = page.get_by_role("main")
    expect(main.get_by_role("button", name="Actions")).to_have_count(0)
    page.goto("/")
    expect(main.get_by_role("heading", name="Jobs")).to_be_visible()
    expect(main.get_by_role("link", name="New job")).to_have_count(0)
    assert violations(page) == []


def test_annotator_sees_the_rounds_only(new_page: NewPage, open_round: str) -> None:
    key = _added(new_page(), "Ann", "annotator")
    page = new_page(signed_in=False)
    sign_in(page.context, key)
    page.goto("/")
    expect(page.get_by_role("heading", name="Annotate")).to_be_visible()
    expect(page.get_by_text("Read-only view")).to_be_visible()
    expect(page.get_by_label("Main").get_by_role("link")).to_have_text(["Annotate", "API"])
    expect(page.get_by_role("link", name="New round")).to_have_count(0)
    page.goto(f"/annotate/{open_round}/queue")
    expect(page.get_by_role("main").locator("h1, kbd").first).to_be_visible()
    assert violations(page) == []


def test_admin_changes_a_role_and_removes_a_member(new_page: NewPage, client: Client) -> None:
    page = new_page()
    _added(page, "Max", "member")
    page.get_by_role("button", name="I have passed it on").click()
    with page.expect_response("**/role") as changed:
        page.get_by_label("Role of Max").select_option("admin")
    assert changed.value.ok
    expect(page.get_by_text("Max is an admin now.")).to_be_visible()
    page.get_by_role("button", name="Remove Max").click()
    page.get_by_role("button", name="Remove", exact=True).last.click()
    expect(page.get_by_text("Max is no longer a member.")).to_be_visible()
    assert "Max" not in [member["name"] for member in client.list_members()]


def test_key_is_limited_rotated_and_its_browser_signed_out(new_page: NewPage, client: Client) -> None:
    page = new_page()
    page.goto("/settings?tab=keys")
    page.get_by_label("Name of a new key").fill("tablet")
    page.get_by_label("Ends").select_option("30")
    page.get_by_label("answer rounds").check()
    page.get_by_role("button", name="Create key").click()
    old = page.locator("pre").inner_text().strip()
    (made,) = [key for key in client.list_keys() if key["name"] == "tablet"]
    assert made["scopes"] == ["annotate"] and made["expires_at"] is not None
    tablet = new_page(signed_in=False)
    sign_in(tablet.context, old)
    page.get_by_role("button", name="Rotate tablet").click()
    page.get_by_label("The old key stays valid for").select_option("not at all")
    page.get_by_role("button", name="Make a new key").click()
    expect(page.locator("pre")).not_to_have_text(old)
    states = [(key["scopes"], key["revoked_at"] is None) for key in client.list_keys() if key["name"] == "tablet"]
    assert states == [(["annotate"], True), (["annotate"], False)]
    sign_in(tablet.context, page.locator("pre").inner_text().strip())
    page.reload()
    row = page.get_by_role("row").filter(has_text="tablet").filter(has=page.get_by_role("button", name="Sign out"))
    row.get_by_role("button").click()
    page.get_by_role("dialog").get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("The browser is signed out.")).to_be_visible()
    assert tablet.request.get("/v1/session").status == 401
    assert violations(page) == []
