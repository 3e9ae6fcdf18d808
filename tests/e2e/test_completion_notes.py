"""Notes on completions: written on a card, shown in every view, and listed for the whole job."""

import re

from playwright.sync_api import expect

from proximal.sdk import Client
from tests.e2e.axe import unread, unseen, violations
from tests.e2e.conftest import NewPage


def test_note_is_written_listed_edited_and_deleted(new_page: NewPage, client: Client, finished_job: str) -> None:
    page = new_page()
    page.goto(f"/jobs/{finished_job}?stage=ppo&tab=completions&step=1")
    card = page.get_by_role("article", name="Completion 2 of step 1")
    card.get_by_role("button", name="Add a note to completion 2 of step 1").click()
    card.get_by_label("Note on completion 2 of step 1").fill("Repeats the question.\nStill scores high.")
    card.get_by_label("Your name").fill("Ada")
    assert violations(page) == []
    page.keyboard.press("Control+Enter")
    note = card.get_by_role("region", name="Note on completion 2 of step 1")
    expect(note).to_contain_text("Repeats the question.\nStill scores high.")
    expect(note.get_by_role("button", name="Edit")).to_be_focused()
    page.reload()
    expect(note).to_contain_text("Note by Ada")
    card.get_by_role("link", name="Same prompt").click()
    expect(page.get_by_role("region", name="Note on completion 2 of step 1")).to_contain_text("Still scores high.")

    # The evaluation's own completions have notes, too, and one list has those of all stages.
    client.write_sample_note(finished_job, "evaluation.1.0", "The better answer", "Ben")
    page.goto(f"/jobs/{finished_job}?stage=evaluation&tab=completions")
    expect(page.get_by_role("region", name="Note on completion 1 of step 1")).to_contain_text("Note by Ben")
    page.get_by_text("With notes (2)").click()
    expect(page.get_by_role("article")).to_have_count(2)
    expect(page.get_by_text("2 completions with a note, in 2 stages")).to_be_visible()
    assert violations(page) + unseen(page) + unread(page) == []
    mine = page.get_by_role("article").filter(has_text="Repeats the question.")
    mine.get_by_role("button", name="Edit the note").click()
    page.get_by_label("Note on completion 2 of step 1").fill("Edited")
    page.get_by_role("button", name="Save the note").click()
    page.get_by_role("article").filter(has_text="Edited").get_by_role("link", name="PPO, step 1").click()
    expect(page).to_have_url(re.compile("stage=ppo"))
    expect(note).to_contain_text("Edited")

    note.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog", name="Delete this note?").get_by_role("button", name="Delete the note").click()
    expect(note).to_have_count(0)
    expect(card.get_by_role("button", name="Add a note to completion 2 of step 1")).to_be_focused()
    (left,) = client.list_sample_notes(finished_job)
    client.delete_sample_note(finished_job, left["id"])
