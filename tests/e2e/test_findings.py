"""The findings of all runs, and the health of a job in the list."""

import re

from playwright.sync_api import expect

from proximal.sdk import Client
from tests.e2e.axe import unread, violations
from tests.e2e.conftest import NewPage, Submit
from tests.waiting import eventually


def test_a_finding_leads_from_the_list_to_the_run(new_page: NewPage, submit_ppo: Submit, client: Client) -> None:
    job_id = submit_ppo(
        steps=1, health={"kl_blow_up": {"limit": -1.0}, "clipfrac_high": {"limit": -1.0, "patience": 1}}
    )
    eventually(lambda: client.get_job(job_id)["status"] == "succeeded")
    page = new_page()
    page.goto("/?health=warning")
    page.get_by_role("link", name=re.compile("KL too large|Too much clipping")).click()
    expect(page).to_have_url(re.compile(f"/jobs/{job_id}"))
    health = page.get_by_role("dialog", name="Health of the run")
    expect(health).to_contain_text("KL too large")
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile(f"/jobs/{job_id}$"))

    page.get_by_role("link", name="Findings", exact=True).click()
    row = page.get_by_role("row", name="KL too large").first
    expect(row).to_contain_text("warning")
    assert violations(page) == []
    assert unread(page) == []
    row.get_by_role("button", name="Only this job").click()
    expect(page).to_have_url(re.compile(rf"\?job={job_id}$"))
    page.get_by_label("Severity of the findings").select_option("error")
    expect(page.get_by_role("heading", name="No finding matches the filters")).to_be_visible()
    page.reload()
    page.get_by_role("button", name="Clear the filters").last.click()
    expect(page.get_by_role("row", name="KL too large").first).to_be_visible()


def test_a_recipe_fills_the_form_without_the_example_s_data(new_page: NewPage) -> None:
    page = new_page()
    page.goto("/templates")
    page.get_by_role("link", name="Use the recipe DPO").click()
    expect(page.get_by_role("checkbox", name="DPO")).to_be_checked()
    expect(page.get_by_role("heading", name="Choose a dataset")).to_be_visible()
    page.goto("/jobs/new?recipe=none-of-this-name")
    expect(page.get_by_text("There is no recipe none-of-this-name.")).to_be_visible()
