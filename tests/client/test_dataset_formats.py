"""`proximal datasets formats` and `export`, against a platform that runs."""

import json
from pathlib import Path

from client.sdk import Client
from tests.client.conftest import Up
from tests.client.test_dataset_commands import Run, run

__all__ = ["run"]  # a fixture


def test_formats_are_listed_for_people_and_for_programs(run: Run) -> None:
    found = json.loads(run("formats", "--output", "json").output)
    assert {"id", "title", "example", "becomes"} <= found[0].keys() and len(found) > 30
    assert "hh_rlhf" in run("formats").output


def test_a_dataset_is_exported_and_uploaded_again(run: Run, up: Up, tmp_path: Path) -> None:
    file, target = tmp_path / "pairs.jsonl", tmp_path / "trl.jsonl"
    rows = [{"prompt": "p", "a": "x", "b": "y", "label": label} for label in ("b", "tie")]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with up.client() as client:
        made = client.upload_dataset(file, "preferences")
        told = run("export", made["id"], str(target)).output
        assert "1 rows left out" in told
        assert json.loads(target.read_text()) == {"prompt": "p", "chosen": "y", "rejected": "x"}
        assert client.export_dataset(made["id"], tmp_path / "all.parquet", "parquet") == 0
        again = client.upload_dataset(tmp_path / "all.parquet", "preferences")
        assert again["sha256"] == made["sha256"]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_the_sdk_knows_the_formats(up: Up) -> None:
    with up.client() as client:
        assert isinstance(client, Client)
        custom = next(one for one in client.list_formats() if one["id"] == "custom")
        assert custom["mapping"] is not None and custom["becomes"][0]["a"] == " blue."
