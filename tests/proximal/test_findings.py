"""`proximal findings`, and the health of jobs in `proximal jobs list`."""

from collections.abc import Iterator
from typing import Any

import pytest
from typer.testing import CliRunner

from proximal import cli
from proximal.sdk import Client

FINDING: dict[str, Any] = {
    "id": "find_a",
    "job_id": "job_a",
    "job_name": "first run",
    "severity": "error",
    "title": "No clipping",
    "seed": 5,
    "stage": "ppo",
    "step": 30,
    "cause": "Nothing is clipped.",
    "last_at": "2026-11-20T00:00:00Z",
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The filters of each request for findings."""
    asked: list[dict[str, Any]] = []

    def list_findings(_: Client, **filters: Any) -> Iterator[dict[str, Any]]:
        asked.append(filters)
        return iter([FINDING, FINDING | {"id": "find_b", "seed": None, "stage": None, "step": None}])

    monkeypatch.setattr(Client, "list_findings", list_findings)
    return asked


def run(*arguments: str) -> str:
    command = ["--url", "http://platform.test", "--key", "prx_a", *arguments]
    result = CliRunner().invoke(cli.app, command, env={"COLUMNS": "200"}, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_findings_are_shown_in_words_with_their_job(asked: list[dict[str, Any]]) -> None:
    lines = run("findings", "--limit", "1")
    assert "error: No clipping" in lines and "first run" in lines and "seed 5 ppo step 30" in lines
    assert "job_a" in lines and "find_b" not in lines


def test_options_are_the_filters_of_the_request(asked: list[dict[str, Any]]) -> None:
    run("findings", "--severity", "error", "--rule", "truncation", "--rule", "message", "--job", "job_a", "--archived")
    assert asked == [
        {"job": "job_a", "archived": True, "severity": ["error"], "rule": ["truncation", "message"], "status": ()}
    ]
