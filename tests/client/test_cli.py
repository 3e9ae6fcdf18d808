"""The `proximal` command as a person types it."""

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from client import cli
from client.errors import ClientError
from tests.client.conftest import Up


@pytest.fixture
def run(up: Up, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Without --url and --key: both are found in the data folder."""
    monkeypatch.setenv("PROXIMAL_DATA_DIR", str(up.folder))

    def run(*arguments: str) -> Result:
        result = CliRunner().invoke(cli.app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result

    return run


def test_submit_list_show_cancel_logs(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "pairs.jsonl").write_text(json.dumps({"prompt": "p", "chosen": "a", "rejected": "b"}) + "\n")
    (tmp_path / "job.toml").write_text('name = "mine"\nmodel = "m"\n[data]\npreferences = "pairs.jsonl"\n[ppo]\n')
    job_id = run("jobs", "submit", str(tmp_path / "job.toml")).output.strip()
    assert job_id.startswith("job_")
    assert "mine" in run("jobs", "list").output
    assert "queued" in run("jobs", "show", job_id).output
    assert run("jobs", "cancel", job_id).output == "cancelled\n"
    assert "cancelled: Cancelled by its owner." in run("jobs", "logs", job_id).output


def test_datasets_are_uploaded_and_listed(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "prompts.jsonl"
    file.write_text('{"prompt": "p"}\n')
    assert "1 rows" in run("datasets", "upload", str(file), "--kind", "prompts", "--name", "few").output
    assert "few" in run("datasets", "list", "--kind", "prompts").output


def test_a_new_key_opens_the_door(run, up: Up) -> None:  # type: ignore[no-untyped-def]
    key = run("keys", "create", "ada", "--data-dir", str(up.folder)).output.strip()
    assert "No jobs" not in run("--key", key, "jobs", "list").output


def test_without_a_key_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROXIMAL_DATA_DIR", str(tmp_path))
    with pytest.raises(ClientError, match="--key"):
        CliRunner().invoke(cli.app, ["jobs", "list"], catch_exceptions=False)
