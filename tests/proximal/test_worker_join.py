"""`proximal worker join`: a machine becomes a worker of a platform, with a token."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from core import child
from proximal.data_folder import DataFolder
from proximal.sdk import Client
from tests.proximal.conftest import Up
from tests.waiting import eventually

PROXIMAL = [sys.executable, "-m", "proximal.cli"]
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(up: Up) -> Run:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"PROXIMAL_URL": up.url, "PROXIMAL_API_KEY": DataFolder(up.folder).key() or ""}
        return subprocess.run([*PROXIMAL, *arguments], env=environment, capture_output=True, text=True, check=False)

    return run


def join_options(client: Client, folder: Path) -> list[str]:
    return [client.url, "--token", client.create_worker_token()["token"], "--data-dir", str(folder)]


def test_the_printed_command_starts_a_worker(up: Up, run: Run, client: Client, tmp_path: Path) -> None:
    for job in list(client.list_jobs(status=["queued"])):  # of other tests: the worker would begin with one
        client.cancel_job(job["id"])
    printed = run("workers", "token").stdout.split()
    assert printed[:3] == ["proximal", "worker", "join"] and printed[3] == up.url
    command = [*PROXIMAL, *printed[1:], "--data-dir", str(tmp_path / "w"), "--name", "second", "--labels", "eu fast"]
    said = tmp_path / "said"
    with said.open("wb") as file:
        worker = child.start(command, stdout=file)
    try:
        eventually(lambda: [one["name"] for one in client.list_workers()] == ["second"] or worker.poll() is not None)
        assert worker.poll() is None, said.read_text()
        (listed,) = client.list_workers()
        assert listed["labels"] == ["eu", "fast"] and not listed["busy"]
    finally:
        status = worker.stop(grace=60)
    assert (status, client.list_workers() == []) == (0, True), said.read_text()
    assert "ok       storage" in said.read_text() and "ok       database" in said.read_text()
    kept = DataFolder(tmp_path / "w").worker_file
    assert kept.stat().st_mode & 0o077 == 0


def test_a_machine_that_joined_starts_without_a_token(run: Run, client: Client, tmp_path: Path) -> None:
    assert run("worker", "join", *join_options(client, tmp_path), "--check").returncode == 0
    again = run("worker", "start", "--check", "--data-dir", str(tmp_path))
    assert again.returncode == 0 and "ok       name" in again.stdout
    second = run("worker", "join", *join_options(client, tmp_path), "--check")
    assert second.returncode == 1 and f"has joined {client.url} already" in second.stderr
    kept = json.loads((tmp_path / "worker.json").read_text())
    assert kept["environment"]["PROXIMAL_DATA_DIR"] == str(tmp_path)


def test_a_failed_check_keeps_the_worker_from_starting(run: Run, client: Client, tmp_path: Path) -> None:
    assert run("worker", "join", *join_options(client, tmp_path), "--check").returncode == 0
    file = tmp_path / "worker.json"
    kept = json.loads(file.read_text())
    kept["environment"]["PROXIMAL_BLOB_URL"] = (tmp_path / "elsewhere").as_uri()
    file.write_text(json.dumps(kept))
    failed = run("worker", "start", "--data-dir", str(tmp_path))
    assert failed.returncode == 1
    assert "failed   storage" in failed.stdout and "not the platform's store" in failed.stdout
    assert "does not start" in failed.stderr
    assert client.list_workers() == []


def test_a_used_token_and_a_folder_without_one_are_named(run: Run, client: Client, tmp_path: Path) -> None:
    options = join_options(client, tmp_path / "one")
    assert run("worker", "join", *options, "--check").returncode == 0
    used = run("worker", "join", *options[:-1], str(tmp_path / "two"), "--check")
    assert used.returncode == 1 and "lets one worker join" in used.stderr
    assert not (tmp_path / "two" / "worker.json").exists()
    nothing = run("worker", "start", "--data-dir", str(tmp_path / "two"))
    assert nothing.returncode == 1 and "has not joined a platform" in nothing.stderr
    nowhere = run("worker", "join", "http://127.0.0.1:9", "--token", "prxw_x", "--data-dir", str(tmp_path / "two"))
    assert nowhere.returncode == 3 and "No answer from the platform" in nowhere.stderr


def test_a_folder_that_cannot_be_written_costs_no_token(run: Run, client: Client, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    options = join_options(client, tmp_path / "file" / "folder")
    refused = run("worker", "join", *options, "--check")
    assert refused.returncode == 1 and "cannot be written" in refused.stderr and "Traceback" not in refused.stderr
    assert run("worker", "join", *options[:-1], str(tmp_path / "folder"), "--check").returncode == 0


def test_damaged_settings_of_a_worker_are_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "worker.json").write_text('{"platform": ')
    refused = run("worker", "start", "--data-dir", str(tmp_path))
    assert refused.returncode == 1 and "worker.json cannot be read" in refused.stderr
    assert "Traceback" not in refused.stderr
