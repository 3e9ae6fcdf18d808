"""A sweep of 30 runs: one row of the list, the plots of its page, and its comparison by a parameter."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from core.db import session_scope
from core.jobs.groups.groups import create_group
from core.models import Job, JobGroupMember
from tests.e2e.axe import unseen, violations
from tests.e2e.conftest import NewPage

RUNS = 30


@pytest.fixture
def sweep(stored_runs: list[str]) -> Iterator[str]:
    """The id of a group of 30 ended runs: six KL coefficients with five seeds each."""
    with session_scope() as session:
        jobs = [session.get_one(Job, run) for run in stored_runs[:RUNS]]
        group = create_group(session, jobs[0].owner_id, "KL and seeds", "judge_after").id
        for number, job in enumerate(jobs, 1):
            values = {"ppo.kl.coef": job.spec["ppo"]["kl"]["coef"], "seed": job.spec["seed"]}
            session.add(JobGroupMember(job_id=job.id, group_id=group, number=number, values=values, held=False))
    yield group
    with session_scope() as session:
        for job_id in stored_runs[:RUNS]:
            session.delete(session.get_one(JobGroupMember, job_id))


def test_sweep_is_one_row_plots_and_a_grouped_comparison(new_page: NewPage, sweep: str) -> None:
    page = new_page()
    _folds_in_the_list(page)
    page.get_by_role("link", name="KL and seeds", exact=True).click()
    expect(page).to_have_url(re.compile(f"/groups/{sweep}$"))
    _plots_its_parameters(page)
    page.get_by_role("link", name="Compare all").click()
    page.get_by_label("Group by").select_option("ppo.kl.coef")
    table = page.get_by_role("table", name="Final figures by group")
    expect(table.locator("tbody tr")).to_have_count(6)
    expect(table.locator("tbody tr").first).to_contain_text("n = 5")
    _fits(page)


def _folds_in_the_list(page: Page) -> None:
    page.goto("/?where=metric:judge_after%3E0")
    expect(page.get_by_text("group of 24 jobs")).to_be_visible()  # those with seed 0 have a judgement below 0
    page.get_by_role("button", name="Remove the condition judge_after > 0").click()
    expect(page.get_by_text(f"group of {RUNS} jobs")).to_be_visible()
    page.get_by_role("button", name="Show the jobs of KL and seeds").press("Enter")
    expect(page.locator("[data-nested]")).to_have_count(RUNS)
    page.get_by_role("button", name="Columns").click()
    field = page.get_by_role("combobox", name="Add a column")
    field.fill("spec:ppo.kl.koef")
    field.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("did you mean 'coef'")
    field.fill("spec:ppo.kl.coef")
    field.press("Enter")
    page.keyboard.press("Escape")
    page.get_by_role("columnheader", name="kl.coef").get_by_role("button").click()
    expect(page).to_have_url(re.compile("sort=spec"))
    expect(page.locator("[data-nested]").first).to_contain_text("0.005")
    assert violations(page) == []


def _plots_its_parameters(page: Page) -> None:
    expect(page.get_by_role("img", name="Parallel coordinates of 30 runs")).to_be_visible()
    page.get_by_label("Parameter", exact=True).select_option("ppo.kl.coef")
    means = page.get_by_role("table", name="Means by ppo.kl.coef")
    expect(means.locator("tbody tr")).to_have_count(6)
    picker = page.get_by_role("combobox", name="Compared by")
    picker.fill("kl")
    page.get_by_role("option", name="(kl)").click()
    expect(page).to_have_url(re.compile("metric=kl"))
    page.get_by_label("Best").select_option("minimize")
    expect(page.get_by_role("table", name="Jobs of the group").locator("tbody tr").first).to_contain_text("0.833")
    _fits(page)


def _fits(page: Page) -> None:
    for width in (390, 1280, 2560):
        page.set_viewport_size({"width": width, "height": 844})
        assert unseen(page) == [], width
    page.set_viewport_size({"width": 1280, "height": 844})
    assert violations(page) == []
