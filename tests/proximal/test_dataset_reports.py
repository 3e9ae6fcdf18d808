"""`proximal datasets report` and `fix`, as a person types them, against a real platform."""

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from proximal import cli
from proximal.errors import ApiError
from proximal.sdk import Client
from tests.proximal.conftest import Up

PAIRS = [
    {"prompt": "Where is the library, please?", "chosen": "Behind the church.[/b]</s>", "rejected": "No idea."},
    {"prompt": "Is it far?", "chosen": "Not at all.", "rejected": "Very far, I fear."},
    {"prompt": "Is it far?", "chosen": "Not at all.", "rejected": "Very far, I fear."},
]


def proximal(up: Up, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Result:
    monkeypatch.setenv("PROXIMAL_DATA_DIR", str(up.folder))
    result = CliRunner().invoke(cli.app, arguments, env={"COLUMNS": "200"}, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture
def dataset_id(client: Client, tmp_path: Path) -> str:
    file = tmp_path / "pairs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in PAIRS))
    return str(client.upload_dataset(file, "preferences")["id"])


def test_a_report_is_read_and_what_it_found_is_fixed(
    up: Up, client: Client, dataset_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = proximal(up, monkeypatch, "datasets", "report", dataset_id).output
    assert "Duplicate rows  [duplicate_rows]" in told
    assert "1 rows (33.33%), lines 3" in told and "Behind the church.[/b]</s>" in told
    assert f"proximal datasets fix {dataset_id} duplicate_rows special_tokens" in told
    fixed = proximal(up, monkeypatch, "datasets", "fix", dataset_id, "duplicate_rows", "special_tokens").output
    assert fixed == f"{dataset_id}@2  ready, 2 rows, 1 dropped, 1 changed\n"
    rows = list(client.list_dataset_rows(dataset_id))
    assert [row["row"]["a"] for row in rows] == ["Behind the church.[/b]", "Not at all."]
    found = json.loads(proximal(up, monkeypatch, "datasets", "report", dataset_id, "--output", "json").stdout)
    assert (found["version"], found["result"]["summary"]["duplicates"]) == (2, 0)
    assert [report["version"] for report in client.list_reports(dataset_id)] == [2, 1]


def test_cli_finding_without_fix_is_reported(client: Client, dataset_id: str) -> None:
    with pytest.raises(ApiError, match="has no fix for nonsense"):
        client.apply_fixes(dataset_id, ["nonsense"])
