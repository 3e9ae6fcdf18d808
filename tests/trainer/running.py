"""Runs the trainer as people do: as a command, in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import trainer.events
from trainer.events import Event, Metrics

ROOT = Path(__file__).parents[2]


def tiny_spec(**changes: Any) -> dict[str, Any]:
    """examples/tiny.toml with absolute paths; `changes` are merged into its sections."""
    spec = tomllib.loads((ROOT / "examples" / "tiny.toml").read_text())
    spec["data"] |= {name: str(ROOT / "examples" / spec["data"][name]) for name in ("sft", "preferences")}
    for section, values in changes.items():
        spec[section] = spec.get(section, {}) | values if isinstance(values, dict) else values
    return spec


def write_spec(folder: Path, **changes: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "spec.json"
    path.write_text(json.dumps(tiny_spec(**changes)))
    return path


def start(spec: Path, run_dir: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "trainer", "run", str(spec), "--run-dir", str(run_dir), *options]
    return subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=os.environ | {"HF_HUB_OFFLINE": "1"}
    )


def run(spec: Path, run_dir: Path, *options: str, timeout: float = 240) -> tuple[int, str]:
    """Exit status and what it said on stderr."""
    process = start(spec, run_dir, *options)
    _, complaint = process.communicate(timeout=timeout)
    return process.returncode, complaint


def signal_when(
    process: subprocess.Popen[str], run_dir: Path, seen: Callable[[Event], bool], number: signal.Signals
) -> int:
    """Send a signal as soon as an event satisfies `seen`; return the exit status."""
    offset, path = 0, run_dir / "events.jsonl"
    while process.poll() is None:
        for event, after in trainer.events.read(path, offset):
            offset = after
            if seen(event):
                process.send_signal(number)
                process.communicate(timeout=60)
                return process.returncode
        time.sleep(0.01)  # between looks, so as not to take the processor from the run
    raise AssertionError(f"the run ended before the event came: {process.communicate()[1]}")


def events_of(run_dir: Path) -> list[Event]:
    return [event for event, _ in trainer.events.read(run_dir / "events.jsonl")]


def metrics_of(run_dir: Path) -> dict[tuple[str, int], dict[str, float]]:
    """The last word on every (stage, step), clock and memory readings left out."""
    return {
        (event.stage, event.step): {k: v for k, v in event.values.items() if not k.startswith(("time/", "memory/"))}
        for event in events_of(run_dir)
        if isinstance(event, Metrics)
    }


def at(stage: str, step: int) -> Callable[[Event], bool]:
    return lambda event: isinstance(event, Metrics) and (event.stage, event.step) == (stage, step)
