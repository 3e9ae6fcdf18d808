"""`proximal demo`: picks up where it was, leaves nothing running, and its verdict is honest."""

import io
import json
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

from core import child
from examples.reviews import generate
from proximal.demo import submit_job
from proximal.demo.progress import Watcher
from proximal.demo.report import Range, has_learnt
from proximal.sdk import Client
from tests.processes import alive, descendants
from tests.proximal.conftest import free_port
from tests.waiting import eventually


def silent() -> Console:
    return Console(file=io.StringIO(), width=200)


def test_demo_unfinished_resumes_and_reuses_its_data(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generate, "write", partial(generate.write, reviews=20, pairs=20))
    first = submit_job(client, 5, tmp_path, silent())
    assert submit_job(client, 5, tmp_path, silent()) == first
    client.cancel_job(first)
    second = submit_job(client, 5, tmp_path, silent())
    assert second != first
    assert client.get_job(second)["spec"]["data"] == client.get_job(first)["spec"]["data"]
    other = client.get_job(submit_job(client, 6, tmp_path, silent()))
    assert (other["spec"]["seed"], other["name"]) == (6, "Demo: film reviews, seed 6")


@pytest.mark.parametrize(
    ("win_rate", "kl", "healthy", "verdict"),
    [
        (0.8, 5.0, (-0.5, 15.0), True),
        (0.79, 5.0, (-0.5, 15.0), False),
        (0.95, 15.1, (-0.5, 15.0), False),
        (0.95, -0.6, (-0.5, 15.0), False),
        (0.95, 99.0, (None, None), True),
    ],
)
def test_the_verdict(win_rate: float, kl: float, healthy: Range, verdict: bool) -> None:
    assert has_learnt(win_rate, kl, healthy) is verdict


def test_without_a_terminal_each_stage_is_a_line() -> None:
    console = silent()
    with Watcher(console) as watcher:
        for type_, data in [
            ("run_started", {"stages": [{"stage": "sft", "total_steps": 2}]}),
            ("stage_started", {"start_step": 0}),
            ("metrics", {"step": 2, "values": {"loss": 1.234, "lr": 0.1}}),
            ("stage_finished", {"seconds": 3.21}),
        ]:
            about = {"object": "job.event", "seq": 1, "attempt": 1, "created_at": "", "stage": "sft", "step": None}
            watcher.see({**about, "type": type_, "data": data})  # type: ignore[typeddict-item]
    assert watcher.stage_seconds == {"sft": 3.21}
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == "SFT: 3.2 s, loss 1.23\n"


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.slow)])
def test_demo_leaves_no_process_however_it_ends(number: signal.Signals, tmp_path: Path) -> None:
    output = tmp_path / "output"
    command = [
        sys.executable,
        "-m",
        "proximal.cli",
        "demo",
        "--data-dir",
        str(tmp_path / "data"),
        "--port",
        str(free_port()),
    ]
    with output.open("wb") as file:
        demo = child.start(command, stdout=file)
    try:
        eventually(lambda: "This run" in output.read_text())
        started = descendants(demo.pid)
        assert len(started) > 5
        demo.send(number)
        assert demo.wait(240) == (130 if number is signal.SIGINT else -9)
        eventually(lambda: not any(alive(pid) for pid in started))
    finally:
        demo.kill()


@pytest.mark.slow
@pytest.mark.timeout(1000)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_demo_learns(seed: int, tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    options = ["--exit", "--json", str(figures), "--seed", str(seed), "--port", str(free_port())]
    command = [sys.executable, "-m", "proximal.cli", "demo", "--data-dir", str(tmp_path / "data"), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(figures.read_text())
    assert found["win_rate"] >= 0.8
    assert found["win_rate_interval"][0] < found["win_rate"] <= found["win_rate_interval"][1]
    assert set(found["stage_seconds"]) == {"sft", "reward_model", "ppo", "evaluation"}
