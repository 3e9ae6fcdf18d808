"""An admin adds a webhook in the browser, and sees its secret once."""

from playwright.sync_api import Page, expect

from proximal.sdk import Client
from tests.e2e.axe import violations
from tests.e2e.conftest import NewPage


def _add(page: Page, url: str) -> None:
    """Add a webhook for imports that fail: none does, so nothing is sent."""
    page.get_by_label("Address").fill(url)
    for name in ("A job is paused", "A job has succeeded", "A job has failed"):
        page.get_by_label(name).set_checked(False)
    page.get_by_label("An import has failed").set_checked(True)
    page.get_by_role("button", name="Add webhook").click()


def test_admin_adds_disables_and_deletes_a_webhook(new_page: NewPage, client: Client) -> None:
    page = new_page()
    page.goto("/settings?tab=webhooks")
    _add(page, "https://93.184.215.14/hook")
    expect(page.get_by_text("Copy the secret now.")).to_be_visible()
    assert page.locator("pre").inner_text().startswith("whsec_")
    assert violations(page) == []
    page.get_by_role("button", name="I have copied it").click()
    expect(page.locator("pre")).to_have_count(0)
    (made,) = client.list_webhooks()
    assert made["event_types"] == ["dataset.failed"]
    card = page.locator(f"[data-webhook={made['id']}]")
    card.get_by_role("button", name="Disable").click()
    expect(card.get_by_text("Disabled")).to_be_visible()
    card.get_by_text("Deliveries").click()
    expect(card.get_by_text("There is no such delivery.")).to_be_visible()
    card.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete", exact=True).last.click()
    expect(page.get_by_text("The webhook is deleted.")).to_be_visible()
    assert list(client.list_webhooks()) == []


def test_private_address_is_refused_in_the_form(new_page: NewPage) -> None:
    page = new_page()
    page.goto("/settings?tab=webhooks")
    _add(page, "https://169.254.169.254/latest/meta-data")
    expect(page.get_by_role("alert")).to_contain_text("is in a private network")
