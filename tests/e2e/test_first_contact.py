"""The first minutes: the demo and the sample data from an empty jobs page, and a spec that names files."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect
from rich.console import Console

from proximal.demo import submit_job
from proximal.sdk import Client
from tests.e2e.axe import unseen, violations
from tests.e2e.conftest import TINY, NewPage

JOBS = re.compile(r"/v1/jobs\?(?!.*text=)")
ROWS = {"preferences": 16000, "sft": 7000, "prompts": 720}


def test_empty_page_loads_sample_data_once_and_runs_the_demo(new_page: NewPage, client: Client, tmp_path: Path) -> None:
    page = new_page(width=390)
    page.route(JOBS, lambda route: route.fulfill(json={"object": "list", "data": [], "has_more": False}))
    page.goto("/")
    page.get_by_role("button", name="Load sample data").click()
    expect(page.get_by_role("button", name="Run the demo")).to_be_disabled()
    expect(page.get_by_text("The sample data is loaded")).to_be_visible()
    assert _violations(page) == []
    page.reload()
    page.get_by_role("button", name="Run the demo").click()
    page.wait_for_url(re.compile("/jobs/job_"))
    job_id = page.url.rpartition("/")[2]
    try:
        datasets = [one for one in client.list_datasets() if one["name"].startswith("Demo: ")]
        assert {one["kind"]: one["rows"] for one in datasets} == ROWS
        assert len(datasets) == len(ROWS)
        assert submit_job(client, 0, tmp_path, Console(quiet=True)) == job_id  # `proximal demo` follows the same job
    finally:
        client.cancel_job(job_id)


def test_dashboard_without_sample_data_offers_none(new_page: NewPage) -> None:
    page = new_page()
    page.route(JOBS, lambda route: route.fulfill(json={"object": "list", "data": [], "has_more": False}))
    page.route("**/samples/*", lambda route: route.fulfill(status=404))
    page.goto("/")
    expect(page.get_by_role("link", name="upload preference data")).to_be_visible()
    expect(page.get_by_role("button", name="Run the demo")).to_have_count(0)


def test_imported_spec_with_files_offers_to_upload_them(new_page: NewPage, client: Client, tmp_path: Path) -> None:
    """A file that cannot be imported is named with the reason, and another one may be chosen."""
    (tmp_path / "bad.jsonl").write_text('{"prompt": ')
    before = {one["id"] for one in client.list_datasets()}
    page = new_page(width=390)
    page.goto("/jobs/new")
    page.get_by_role("button", name="Import…").click()
    page.get_by_label("File with a spec").set_input_files(TINY.parent / "tiny.toml")
    page.get_by_role("button", name="Import", exact=True).click()
    upload = page.get_by_role("button", name="Upload and import")
    expect(upload).to_be_disabled()
    assert _violations(page) == []
    page.get_by_label("Preferences: preferences.jsonl").set_input_files(TINY / "preferences.jsonl")
    page.get_by_label("SFT: sft.jsonl").set_input_files(tmp_path / "bad.jsonl")
    upload.click()
    expect(page.get_by_role("alert")).to_contain_text("SFT was not uploaded: ")
    page.get_by_label("SFT: sft.jsonl").set_input_files(TINY / "sft.jsonl")
    upload.click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    for label in ("Preferences", "SFT"):
        field = page.get_by_role("combobox", name=label, exact=True)
        expect(field).to_have_value(re.compile(rf"^{label.lower()}\.jsonl \(\d+ rows"))
    names = [one["name"] for one in client.list_datasets() if one["id"] not in before]
    assert names.count("preferences.jsonl") == 1  # the second try uploaded the rest alone


def _violations(page: Page) -> list[object]:
    return [*violations(page), *unseen(page)]
