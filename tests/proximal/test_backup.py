"""The restore drill: a backup of a platform that runs jobs, restored on an empty host."""

import hashlib
import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import psycopg
import pytest

from proximal.data_folder import DataFolder
from proximal.local.options import Options
from proximal.local.services import postgres
from tests.proximal.conftest import Up, running_up
from tests.waiting import eventually

TINY = Path(__file__).parents[2] / "examples" / "tiny"


def proximal(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "proximal.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def submit(client: Any, data: dict[str, str], **ppo: Any) -> str:
    spec = tomllib.loads((TINY.parent / "tiny.toml").read_text())
    spec["data"] |= data
    spec["ppo"] |= ppo
    return client.create_job(spec)["id"]


def newest_step(client: Any, job_id: str) -> int:
    """The newest step of PPO with a stored checkpoint; 0 before the first."""
    return max((one["step"] for one in client.list_job_checkpoints(job_id) if one["stage"] == "ppo"), default=0)


def counts(folder: Path) -> dict[str, int]:
    with psycopg.connect(postgres(DataFolder(folder)).url.replace("+psycopg", "")) as connection:
        tables = ("jobs", "datasets", "dataset_rows", "checkpoints", "job_metrics", "api_keys")
        return {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables}


@pytest.mark.slow
def test_drill_restores_a_running_platform(tmp_path: Path) -> None:
    """The rows of the restored platform are those of the backup: the running job has written more since."""
    backup, restored = tmp_path / "backup", tmp_path / "restored"
    with running_up(tmp_path / "data") as up, up.client() as client:
        data = {kind: client.upload_dataset(TINY / f"{kind}.jsonl", kind)["id"] for kind in ("sft", "preferences")}
        finished = submit(client, data, steps=1)
        eventually(lambda: client.get_job(finished)["status"] == "succeeded")
        files = list(client.list_job_checkpoints(finished, final=True))
        long = submit(client, data, steps=2000, save_every=1)
        eventually(lambda: newest_step(client, long) > 0)
        made = proximal("--output", "json", "backup", str(backup), "--data-dir", str(up.folder))
        assert made.returncode == 0, made.stderr
        parts = {one["part"]: one["count"] for one in json.loads(made.stdout)}
        assert client.get_job(long)["status"] == "running"
        key = DataFolder(up.folder).key()
    assert proximal("backup", "--check", str(backup)).returncode == 0
    done = proximal("--output", "json", "restore", str(backup), "--data-dir", str(restored))
    assert done.returncode == 0, done.stderr
    found = {one["part"]: one["count"] for one in json.loads(done.stdout)}
    assert found.pop("jobs paused") == 1 and found == parts
    again = proximal("restore", str(backup), "--data-dir", str(restored))
    assert again.returncode == 1 and "The database is not empty" in again.stderr
    assert key is not None
    DataFolder(restored).keep_key(key)
    with running_up(restored) as up, up.client() as client:
        rows = counts(restored)
        assert rows == {name: parts[name] for name in rows}
        for one in files:
            for file in one["files"]:
                target = client.download_checkpoint_file(one["id"], file["path"], tmp_path / "file")
                assert hashlib.sha256(target.read_bytes()).hexdigest() == file["sha256"]
        job = client.get_job(long)
        assert job["status"] == "paused" and job["status_reason"].startswith("Restored from the backup of ")
        before = newest_step(client, long)
        client.resume_job(long)
        eventually(lambda: newest_step(client, long) > before)
        client.cancel_job(long)
    shutil.rmtree(restored)


def test_restore_of_no_backup_makes_no_database(tmp_path: Path) -> None:
    (tmp_path / "backup").mkdir()
    done = proximal("restore", str(tmp_path / "backup"), "--data-dir", str(tmp_path / "data"))
    assert done.returncode == 1 and "has no manifest.json" in done.stderr
    assert not DataFolder(tmp_path / "data").postgres.exists()


def test_backup_of_an_empty_folder_is_refused(tmp_path: Path) -> None:
    done = proximal("backup", str(tmp_path / "backup"), "--data-dir", str(tmp_path / "data"))
    assert done.returncode == 1 and "has no database" in done.stderr


def test_running_platform_is_backed_up_and_restored(up: Up, tmp_path: Path) -> None:
    made = proximal("backup", str(tmp_path / "backup"), "--data-dir", str(up.folder))
    assert made.returncode == 0, made.stderr
    refused = proximal("restore", str(tmp_path / "backup"), "--data-dir", str(up.folder))
    assert refused.returncode == 1 and "already running" in refused.stderr
    done = proximal("restore", str(tmp_path / "backup"), "--data-dir", str(tmp_path / "restored"))
    assert done.returncode == 0, done.stderr
    assert Options(tmp_path / "restored").folder.postgres.exists()
