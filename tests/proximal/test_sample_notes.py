"""`proximal jobs notes …`"""

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from proximal import cli
from proximal.sdk import Client

COMPLETION: dict[str, Any] = {"seed": None, "stage": "ppo", "step": 120, "index": 3, "response": " I like it."}
NOTE: dict[str, Any] = {
    "id": "note_a",
    "text": "Repeats the question.",
    "author": "ada",
    "replaced": False,
    "completion": COMPLETION,
    "updated_at": "2026-11-20T00:00:00Z",
}


def run(*arguments: str) -> str:
    command = ["--url", "http://platform.test", "--key", "prx_a", "jobs", "notes", *arguments]
    result = CliRunner().invoke(cli.app, command, env={"COLUMNS": "200"}, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_notes_are_shown_with_their_completions(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def list_sample_notes(_: Client, job_id: str, **filters: Any) -> Any:
        asked.append({"job_id": job_id} | filters)
        return iter([NOTE, NOTE | {"id": "note_b", "replaced": True, "completion": COMPLETION | {"seed": 5}}])

    monkeypatch.setattr(Client, "list_sample_notes", list_sample_notes)
    lines = run("list", "job_a", "--stage", "ppo", "--seed", "5")
    assert "ppo.120.3 " in lines and "Repeats the question." in lines and "I like it." in lines
    assert "ppo.120.3 seed 5 (replaced)" in lines
    assert asked == [{"job_id": "job_a", "stage": "ppo", "seed": 5}]
    assert "note_b" not in run("list", "job_a", "--limit", "1")


def test_note_is_written_and_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[Any, ...]] = []

    def write_sample_note(_: Client, *given: Any, **options: Any) -> Any:
        calls.append((*given, options))
        return NOTE

    monkeypatch.setattr(Client, "write_sample_note", write_sample_note)
    monkeypatch.setattr(Client, "delete_sample_note", lambda _, *given: calls.append(given))
    assert run("write", "job_a", "ppo.120.3", "A note", "--author", "ada").strip() == "note_a"
    assert json.loads(run("delete", "job_a", "note_a", "--output", "json")) == {"id": "note_a", "deleted": True}
    assert calls == [("job_a", "ppo.120.3", "A note", "ada", {"seed": None}), ("job_a", "note_a")]
