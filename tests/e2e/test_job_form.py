"""The form of a new job, in a real browser on the real platform: no run, and no result of a check is waited for."""

import json
import re
from urllib.parse import quote

from playwright.sync_api import expect

from proximal.sdk import Client
from tests.e2e.axe import violations
from tests.e2e.conftest import TINY, NewPage

MODEL = {"config": {"model_type": "gpt_neox", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}}


def test_job_is_what_the_form_showed_and_unreadable_text_blocks(new_page: NewPage, client: Client) -> None:
    dataset = client.upload_dataset(TINY / "preferences.jsonl", "preferences")["id"]
    model = {**MODEL, "tokenizer": {"vocab_size": 512}}
    given = {"model": model, "data.preferences": dataset, "ppo.critic.value_clip_range": None}
    page = new_page()
    page.goto("/jobs/new?set=not-json")
    expect(page.get_by_role("heading", name="1 field cannot be read")).to_be_visible()
    expect(page.get_by_label("Check of the job")).to_contain_text("The changes in the address (set=not-json)")
    page.goto(f"/jobs/new?set={quote(json.dumps(given))}")

    steps = page.get_by_label("Steps", exact=True)
    for text in ("abc", "1,5", "0.0o5"):
        steps.fill(text)
        expect(page.locator('[data-path="ppo.steps"]')).to_contain_text(f"“{text}” is no number.")
    expect(page.get_by_role("heading", name="1 field cannot be read")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name="Submit the job").click()
    expect(steps).to_be_focused()
    page.get_by_role("button", name=re.compile("copy or export")).click()
    expect(page.get_by_role("dialog")).to_contain_text("cannot be read. Correct or discard them first.")
    page.keyboard.press("Escape")
    page.get_by_placeholder(re.compile("Search the settings")).fill("value clip")
    expect(page.get_by_label(re.compile("value clip range", re.IGNORECASE)).first).to_have_value("none")
    page.get_by_role("button", name="PPO › Steps", exact=True).click()  # leaves the search
    expect(steps).to_be_focused()
    page.goto("/jobs/new")  # the draft
    expect(steps).to_have_value("0.0o5")
    steps.fill("3")
    expect(page.get_by_role("heading", name=re.compile("cannot be read"))).to_have_count(0)

    page.get_by_role("button", name=re.compile("copy or export")).click()
    page.get_by_role("radio", name="TOML").check(force=True)
    expect(page.get_by_role("dialog")).to_contain_text("value_clip_range = { null = true }")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Submit the job").click()
    page.wait_for_url(re.compile("/jobs/job_"))
    made = client.get_job(page.url.rpartition("/")[2])
    assert (made["spec"]["ppo"]["steps"], made["spec"]["ppo"]["critic"]["value_clip_range"]) == (3, None)

    page.goto(f"/jobs/new?clone={made['id']}&set={quote(json.dumps({'ppo.rollout.importance_cap': None}))}")
    page.get_by_role("button", name="Submit the job").click()
    page.wait_for_url(lambda url: "/jobs/job_" in url and made["id"] not in url)
    clone = client.get_job(page.url.rpartition("/")[2])
    assert clone["spec"]["ppo"]["rollout"]["importance_cap"] is None
    assert clone["spec"]["ppo"]["critic"]["value_clip_range"] is None
    for job in (made, clone):
        client.cancel_job(job["id"])


def test_form_offers_settings_for_what_the_job_contains(new_page: NewPage) -> None:
    page = new_page()
    given = {"model.path": "some/model", "rewards": [{"type": "exact_match"}], "stages": ["ppo"], "ppo.kl.coef": 0.1}
    page.goto(f"/jobs/new?set={quote(json.dumps(given))}")
    offer = page.get_by_text("For this model and these rewards there are settings: After SFT, with a verifiable reward")
    offer.click()
    expect(page.get_by_text("ppo.kl.coef = 0.02, now 0.1")).to_be_visible()
    page.get_by_role("button", name=re.compile("^Use [0-9]+ settings")).click()
    expect(page.get_by_text("The settings are those of “After SFT, with a verifiable reward”.")).to_be_visible()
    expect(page.locator("#field-ppo-learning_rate")).to_have_value("0.00001")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("ppo.kl.coef = 0.02, now 0.1")).to_be_attached()
