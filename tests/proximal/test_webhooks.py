"""`proximal webhooks …`"""

import json
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner

from proximal import cli
from tests.proximal.conftest import Up

Run = Callable[..., str]


@pytest.fixture
def run(up: Up, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("PROXIMAL_DATA_DIR", str(up.folder))

    def run(*arguments: str, status: int = 0) -> str:
        command = ["webhooks", *arguments]
        result = CliRunner().invoke(cli.app, command, env={"COLUMNS": "200"}, catch_exceptions=status == 1)
        assert result.exit_code == status, result.output
        return result.output if status == 0 else str(result.exception)

    return run


def test_webhook_is_made_changed_and_deleted(run: Run) -> None:
    # An address of the public internet needs no look-up. Nothing is sent: no event of the kind occurs.
    made: dict[str, Any] = json.loads(
        run(
            "create",
            "https://93.184.215.14/hook",
            "--event",
            "dataset.failed",
            "--description",
            "chat",
            "--output",
            "json",
        )
    )
    assert made["secret"].startswith("whsec_") and made["event_types"] == ["dataset.failed"]
    assert "https://93.184.215.14/hook" in run("list") and "dataset.failed" in run("show", made["id"])
    assert "disabled" in run("change", made["id"], "--disable", "--event", "job.failed")
    rotated = json.loads(run("rotate", made["id"], "--overlap-hours", "1", "--output", "json"))
    assert rotated["secret"] != made["secret"] and rotated["previous_secret_until"] is not None
    assert rotated["event_types"] == ["job.failed"]
    assert run("deliveries", made["id"], "--quiet") == ""
    assert "deleted" in run("delete", made["id"])


def test_webhook_to_a_private_address_is_refused(run: Run) -> None:
    assert "PROXIMAL_WEBHOOK_NETWORKS" in run("create", "https://10.0.0.1/", "--event", "job.failed", status=1)
    assert "--event" in run("create", "https://93.184.215.14/", status=1)
