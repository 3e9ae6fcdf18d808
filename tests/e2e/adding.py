"""Adding data in the browser, as a person does it."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

READY_MS = 30_000


def choose(page: Page, *files: Path) -> None:
    page.goto("/datasets/new")
    page.get_by_label("Files to upload").set_input_files(list(files))


def look_at(page: Page, file: Path) -> None:
    """Upload it, and wait until its first rows are shown."""
    choose(page, file)
    expect(page.get_by_role("region", name="First rows").get_by_role("listitem").first).to_be_visible()


def confirm(page: Page) -> str:
    """Import what is looked at; the id of the new dataset, whose page is then shown."""
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page).to_have_url(re.compile(r"/datasets/ds_\w+$"))
    return page.url.rpartition("/")[2]


def add(page: Page, file: Path) -> str:
    """From a file to a dataset that is ready; its id."""
    look_at(page, file)
    dataset_id = confirm(page)
    status(page, "ready")
    return dataset_id


def status(page: Page, wanted: str) -> None:
    expect(page.locator(f'header [data-status="{wanted}"]')).to_be_visible(timeout=READY_MS)
