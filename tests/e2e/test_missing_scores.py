"""Completions that a reward or a judge has no value for: the dashboard states it in words, and names the cause."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from benchmarks.platform_suite.stored_runs import sampled_run
from core.db import session_scope
from proximal.sdk import Client
from tests.e2e.axe import unread, unseen, violations
from tests.e2e.conftest import NewPage
from trainer.events import RewardMissing, Sample, Samples

QUESTION = "How does a tide work?"


@pytest.fixture
def run(client: Client, owner_id: str) -> Iterator[str]:
    """A run with scored completions, and with some that have no score."""
    training = [
        Sample(prompt=QUESTION, response="The moon.", score=0.5, tokens=3, finished=True),
        Sample(prompt=QUESTION, response="The wind.", score_missing="time_out", tokens=3, finished=True),
    ]
    pair = {"reference": "No idea.", "reference_score": 0.25}
    compared = [
        Sample(prompt=QUESTION, response="The moon.", score=0.5, **pair),
        Sample(prompt=f"{QUESTION} Again.", response="The wind.", score_missing="bad_output", **pair),
    ]
    missing = RewardMissing(
        stage="ppo",
        step=1,
        reward="remote",
        asked=2,
        missing={"time_out": 1},
        share=0.005,
        reason="no answer within 60 s",
    )
    logged = [Samples(stage="ppo", step=1, rows=training), missing, Samples(stage="evaluation", step=1, rows=compared)]
    with session_scope() as session:
        found = sampled_run(session, owner_id, "Tides", logged)  # type: ignore[arg-type]  # it stores any events
    yield found
    client.delete_job(found)


def test_missing_score_is_stated_in_words_with_its_cause(new_page: NewPage, run: str) -> None:
    page = new_page()
    page.goto(f"/jobs/{run}?stage=ppo&tab=completions&step=1")
    late = page.get_by_role("article").filter(has_text="The wind.")
    expect(late.get_by_role("definition").first).to_have_text("no value (time-out)")
    expect(page.get_by_role("article").filter(has_text="The moon.").get_by_role("definition").first).to_have_text(
        "0.50"
    )
    for width in (320, 1280):
        page.set_viewport_size({"width": width, "height": 844})
        assert unseen(page) == [], width
    assert unread(page) == [] and violations(page) == []
    page.goto(f"/jobs/{run}?stage=evaluation&tab=completions")
    expect(page.get_by_role("status").filter(has_text="2 prompts")).to_contain_text("without a value on 1.")
    expect(page.get_by_text("score no value (bad output)")).to_be_visible()
    page.goto(f"/jobs/{run}?tab=events")
    expect(page.get_by_text("remote has no value for 1 of 2 responses, left out (1 time-out).")).to_be_visible()
