"""Columns that an import would lose, asked about on the page of an upload."""

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from proximal.sdk import Client
from tests.e2e.adding import choose, confirm, status
from tests.e2e.axe import violations
from tests.e2e.conftest import NewPage


def written(file: Path, *rows: dict[str, Any]) -> Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_verdict_column_is_asked_about_and_mapped(new_page: NewPage, client: Client, tmp_path: Path) -> None:
    rows = [
        {
            "prompt": f"Question {at}?",
            "response": f"Answer {at}.",
            "mood": "grand" if at % 2 else "grim",
            "helpful": at % 2,
        }
        for at in range(4)
    ]
    page = new_page()
    choose(page, written(tmp_path / "chats.jsonl", *rows))
    asked = page.get_by_role("region", name="Questions about columns")
    expect(asked).to_contain_text("helpful looks like a verdict on the answer (0, 1)")
    expect(page.get_by_role("button", name="Import", exact=True)).to_be_disabled()
    assert violations(page) == []
    asked.get_by_role("button", name="Ignore helpful").click()
    expect(page.get_by_role("region", name="Ignored columns")).to_contain_text("helpful")
    expect(asked).to_have_count(0)
    page.get_by_role("button", name="Use it again: helpful").click()
    asked.get_by_role("button", name="Thumbs: helpful marks an answer as good").click()
    columns = page.get_by_role("region", name="Columns")
    columns.get_by_label("Whether it is good", exact=True).select_option("mood")
    columns.get_by_label("grand").select_option("up")
    columns.get_by_label("grim").select_option("down")
    dataset_id = confirm(page)
    status(page, "ready")
    thumbs = [one["row"]["thumb"] for one in client.list_dataset_rows(dataset_id)]
    assert thumbs == ["down", "up", "down", "up"]
