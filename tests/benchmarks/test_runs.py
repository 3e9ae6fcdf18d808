"""Reading a run's results into the form that both systems share, and measuring a process."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks.measuring.device_memory import DeviceWatch
from benchmarks.ppo.runs import Iteration, counted, from_events, from_peer, measured


def test_events_become_iterations(tmp_path: Path) -> None:
    values = {
        "time/step": 10.0,
        "time/rollout": 2.0,
        "time/score": 1.0,
        "time/train": 6.5,
        "val/response_length": 30.0,
        "objective/scores": 0.25,
        "objective/kl": 1.5,
    }
    events = [
        {"type": "run_started"},
        {"type": "metrics", "stage": "sft", "step": 1, "values": {"time/step": 1.0}},
        {"type": "metrics", "stage": "ppo", "step": 0, "values": {"eval/score": 1.0}},
        {"type": "metrics", "stage": "ppo", "step": 1, "values": values},
    ]
    path = tmp_path / "events.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    # what is neither sampling nor update counts as scoring: 10 − 2 − 6.5
    assert from_events(path, batch=4) == [Iteration(10.0, 2.0, 1.5, 6.5, 120.0, 0.25, 1.5)]


def test_the_peers_report_becomes_iterations() -> None:
    row = {
        "seconds": 9.0,
        "rollout_s": 1.0,
        "score_s": 2.0,
        "train_s": 6.0,
        "response_tokens": 80,
        "reward": 0.5,
        "kl": 0.1,
    }
    assert from_peer({"iterations": [row]}) == [Iteration(9.0, 1.0, 2.0, 6.0, 80, 0.5, 0.1)]


@pytest.mark.parametrize(("last_too", "expected"), [(True, [2, 3]), (False, [2])])
def test_counted_skips_first_and_evaluating_iterations(last_too: bool, expected: list[int]) -> None:
    found = [Iteration(n, 0, 0, 0, 0, None, None) for n in (1, 2, 3, 4)]
    assert [it.seconds for it in counted(found, 3, last_too)] == expected


def test_a_process_is_measured_from_outside(tmp_path: Path) -> None:
    program = "x = bytearray(80 * 2**20); x[::4096] = b'1' * len(x[::4096]); print('done')"
    done = measured([sys.executable, "-c", program], tmp_path / "log", {})
    assert (tmp_path / "log").read_text() == "done\n"
    assert done.peak_rss_mib > 80
    assert done.cpu_seconds > 0


def test_measured_process_failure_exits_with_its_message(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no such thing"):
        measured([sys.executable, "-c", "raise ValueError('no such thing')"], tmp_path / "log", {})


@pytest.mark.parametrize(("said", "peak"), [("1000", 0.0), ("[N/A]", None)])
def test_device_memory_is_read_from_the_driver_if_present(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, peak: float | None
) -> None:
    """The driver reports nothing for a slice of a GPU, which must not end a benchmark."""
    driver = tmp_path / "nvidia-smi"
    driver.write_text(f"#!/bin/sh\necho '{said}'\n")
    driver.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with DeviceWatch("cuda") as watch:
        pass
    assert watch.peak_mib == peak
