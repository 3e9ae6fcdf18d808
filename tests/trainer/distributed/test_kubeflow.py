"""The node that Kubeflow describes to a launcher, and the file for the output of a pod."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from trainer.distributed.kubeflow import take_node
from trainer.errors import SpecError

NODE = {"PET_NODE_RANK": "1", "PET_MASTER_ADDR": "run-node-0-0.run", "PET_MASTER_PORT": "29400", "PET_NNODES": "2"}


def test_node_is_taken_and_torchruns_variables_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """torchrun would read them as its own options, beside those of the launcher."""
    for name, value in NODE.items():
        monkeypatch.setenv(name, value)
    assert take_node() == (1, "run-node-0-0.run:29400")
    assert not [name for name in os.environ if name.startswith("PET_")]


def test_launcher_outside_a_train_job_names_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PET_NODE_RANK", "0")
    with pytest.raises(SpecError, match="PET_MASTER_ADDR and PET_MASTER_PORT is not set"):
        take_node()


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "trainer", *arguments], capture_output=True, text=True, check=False)


def test_output_is_appended_to_the_log(tmp_path: Path) -> None:
    log = tmp_path / "trainer.log"
    log.write_text("of the pod before\n")
    done = run("run", "nowhere.json", "--run-dir", str(tmp_path), "--log", str(log))
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")
    before, error = log.read_text().splitlines()
    assert before == "of the pod before" and "nowhere.json" in error


def test_log_that_cannot_be_written_is_named_on_the_console(tmp_path: Path) -> None:
    done = run("run", "nowhere.json", "--run-dir", str(tmp_path), "--log", str(tmp_path / "no" / "trainer.log"))
    assert done.returncode == 7 and "The output cannot be written to" in done.stderr
