"""`proximal datasets formats` and `export`, against a platform that runs."""

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from proximal.errors import ClientError
from proximal.sdk import Client
from tests.proximal.conftest import Up
from tests.proximal.test_dataset_commands import Run, run

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
        assert told == f"{target}, without what trl cannot hold:\n  ties left out: 1\n"
        assert json.loads(target.read_text()) == {"prompt": "p", "chosen": "y", "rejected": "x"}
        assert client.export_dataset(made["id"], tmp_path / "all.parquet", "parquet") == {}
        again = client.upload_dataset(tmp_path / "all.parquet", "preferences")
        assert again["sha256"] == made["sha256"]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_sdk_lists_the_formats(up: Up) -> None:
    with up.client() as client:
        assert isinstance(client, Client)
        custom = next(one for one in client.list_formats() if one["id"] == "custom")
        assert custom["mapping"] is not None and custom["becomes"][0]["a"] == " blue."


VOTES = [
    {"query": 'It\'s "red"?', "left": {"its text": "x"}, "right": {"its text": "y"}, "vote": verdict}
    for verdict in ("left", "right", "A=B")
]


def refused(run: Run, *arguments: str) -> list[str]:
    """The commands that the error of this one shows."""
    with pytest.raises(ClientError) as error:
        run(*arguments)
    return [line.strip() for line in str(error.value).splitlines() if line.startswith("  proximal ")]


def rows(up: Up, told: str) -> list[Any]:
    with up.client() as client:
        return [row["row"] for row in client.list_dataset_rows(told.split()[0])]


def test_the_command_that_the_error_shows_reads_the_file(run: Run, up: Up, tmp_path: Path) -> None:
    file = tmp_path / "Kim's votes $1.jsonl"
    file.write_text("".join(json.dumps(vote) + "\n" for vote in VOTES))
    (command,) = refused(run, "upload", str(file), "--name", "two words")
    words = shlex.split(command)
    assert words[:3] == ["proximal", "datasets", "upload"]
    assert (
        subprocess.run(
            ["sh", "-c", command.replace("proximal", "printf '%s\\n'", 1)], capture_output=True, text=True
        ).stdout.splitlines()
        == words[1:]
    )
    found = rows(up, run(*words[2:]).output)
    assert [(row["a"], row["b"], row["label"]) for row in found] == [
        ("x", "y", "a"),
        ("x", "y", "b"),
        ("x", "y", "tie"),
    ]


def test_each_way_to_read_a_file_is_a_command(run: Run, up: Up, tmp_path: Path) -> None:
    file = tmp_path / "listed.jsonl"
    file.write_text('{"instruction": "q", "output": ["x", "y"]}\n')
    first, second = refused(run, "upload", str(file), "--bad-rows", "report")[:2]
    assert (
        first
        == f"proximal datasets upload {file} --bad-rows report --format llama_factory_best_first --kind preferences"
    )
    assert rows(up, run(*shlex.split(first)[2:]).output)[0]["label"] == "a"
    assert rows(up, run(*shlex.split(second)[2:]).output)[0]["ranks"] is None


def test_a_file_that_is_not_utf8_is_read_with_its_encoding(run: Run, up: Up, tmp_path: Path) -> None:
    file = tmp_path / "texte.csv"
    file.write_bytes("prompt,chosen,rejected\nOù est le garçon ?,À l’école très tôt,Déjà là\n".encode("cp1252"))
    with pytest.raises(ClientError, match="it looks like cp1252") as refusal:
        run("upload", str(file), "--kind", "preferences")
    told = str(refusal.value).splitlines()
    assert told[1] == f"  proximal datasets upload {file} --kind preferences --encoding cp1252"
    assert rows(up, run("upload", str(file), "--encoding", "cp1252").output)[0]["prompt"] == "Où est le garçon ?"
