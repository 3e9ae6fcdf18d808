"""The completions of several runs beside each other, step by step."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from benchmarks.platform_suite.stored_runs import sampled_run
from core.db import session_scope
from core.jobs.lifecycle import attempts
from core.jobs.run.events import append_events
from core.models.jobs import JobStatus
from proximal.sdk import Client
from tests.e2e.axe import unread, unseen, violations
from tests.e2e.conftest import NewPage
from tests.e2e.test_layout_shift import MOST, OBSERVER
from trainer.events import Sample, Samples

HOSTILE = '<img src=x onerror="document.title=1"> **bold** [link](javascript:alert(1))\u202e'
LONG = "A long answer goes on and on. " * 200


def logged(step: int, *prompts: str, response: str = "", seed: int | None = None) -> Samples:
    rows = [
        Sample(
            prompt=prompt,
            response=response or f"Step {step} answers: {prompt}",
            score=step / 10,
            kl=step / 100,
            tokens=12,
            held_out=True,
            finished=True,
        )
        for prompt in prompts
    ]
    return Samples(stage="ppo", step=step, rows=rows, seed=seed)


@pytest.fixture
def runs(client: Client, owner_id: str) -> Iterator[dict[str, str]]:
    """Runs by their names: of several steps, datasets and seeds, one without completions, and one that goes on."""
    questions = [f"Question {number}: how does a tide work?" for number in range(6)]
    with session_scope() as session:
        ids = {
            name: sampled_run(session, owner_id, f"Tides, {name}", samples, **options)
            for name, samples, options in [
                ("each tenth", [logged(step, *questions) for step in (10, 20, 30)], {}),
                ("each fifteenth", [logged(step, *questions[:4], "Its own question?") for step in (15, 30)], {}),
                (
                    "hostile",
                    [logged(20, questions[0], response=HOSTILE), logged(30, *questions[:2], response=LONG)],
                    {},
                ),
                ("two seeds", [logged(30, questions[0], seed=seed) for seed in (1, 2)], {"seed": 1, "seeds": 2}),
                ("silent", [], {}),
                ("goes on", [logged(10, questions[0])], {"ended": False}),
            ]
        }
    yield ids
    with session_scope() as session:
        attempts.finish(session, ids["goes on"], 1, JobStatus.SUCCEEDED, "The run has ended.")
    for run in ids.values():
        if client.get_jobs(ids=[run])["data"]:
            client.delete_job(run)


def opened(page: Page, runs: dict[str, str], *names: str, query: str = "") -> Locator:
    """The comparison of runs, with its list of prompts."""
    page.goto(f"/compare?runs={','.join(runs[name] for name in names or runs)}&tab=completions{query}")
    rows = page.get_by_role("group", name="Completions beside each other")
    expect(rows.get_by_role("article").first).to_be_visible()
    return rows


def test_completions_of_runs_are_stepped_through_together(new_page: NewPage, runs: dict[str, str]) -> None:
    page = new_page()
    page.add_init_script(OBSERVER)
    rows = opened(page, runs, "each tenth", "each fifteenth")
    first = rows.get_by_role("article").first
    expect(page.get_by_text("7 prompts, 4 shared by both runs.")).to_be_visible()
    expect(first).to_contain_text("Step 30 answers: Question 0")
    page.evaluate("window.shifts.length = 0")
    page.keyboard.press("[")
    expect(page).to_have_url(re.compile("step=20"))
    expect(first).to_contain_text("Step 20 answers: Question 0")
    expect(first).to_contain_text("Step 15 answers: Question 0")
    expect(first).to_contain_text("none at 20")
    assert sum(value for value, _ in page.evaluate("window.shifts")) < MOST
    assert violations(page) == []
    page.reload()
    expect(first).to_contain_text("none at 20")
    for _ in "ab":
        page.get_by_role("button", name="Earlier step").click()
    expect(first).to_contain_text("It has no completions up to step 10.")
    first.get_by_title("Tides, each tenth").click()
    expect(page.get_by_role("slider", name="Step")).to_have_attribute("aria-valuetext", "step 10")


def test_hostile_and_long_completions_stay_text(new_page: NewPage, runs: dict[str, str]) -> None:
    page = new_page()
    rows = opened(page, runs)
    expect(rows).to_contain_text("seed 2")  # the one that logged last
    expect(rows).to_contain_text("It has no completions up to step 30.")
    expect(rows.get_by_role("button", name="Show all 6,000 characters").first).to_be_visible()
    for width in (320, 390, 1280, 2560):
        page.set_viewport_size({"width": width, "height": 844})
        assert unseen(page) == [], width
    assert unread(page) == []
    assert violations(page) == []
    page.get_by_role("button", name="Earlier step").click()
    expect(rows).to_contain_text('<img src=x onerror="document.title=1"> **bold** [link](javascript:alert(1))⟨U+202E⟩')
    expect(page).to_have_title("Compare runs · Proximal")
    expect(rows.locator("img, strong, a[href^=javascript]")).to_have_count(0)


def test_new_steps_of_a_run_arrive_and_a_deleted_run_is_named(
    new_page: NewPage, client: Client, runs: dict[str, str]
) -> None:
    page = new_page()
    rows = opened(page, runs, "goes on", "each tenth")
    with session_scope() as session:
        append_events(session, runs["goes on"], 1, [logged(40, "Question 0: how does a tide work?")])
    expect(rows).to_contain_text("Step 40 answers: Question 0")
    expect(rows).to_contain_text("none at 40")
    client.delete_job(runs["each tenth"])
    for _ in "ab":
        page.get_by_role("button", name="Earlier step").click()
    expect(page.get_by_role("alert")).to_contain_text("There is no job")
    expect(rows).to_contain_text("Its completions could not be loaded.")
    expect(rows).to_contain_text("Step 10 answers: Question 0")
    page.goto(page.url.replace("step=20", "step=40"))
    expect(page.get_by_role("alert")).to_contain_text("1 run not found")
    expect(rows).to_contain_text("Step 40 answers: Question 0")
    expect(rows.get_by_title("Tides, each tenth")).to_have_count(0)
