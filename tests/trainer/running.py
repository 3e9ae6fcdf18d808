"""Runs the trainer as people do: as a command, in a process of its own.

The processes are forked from one that has imported the trainer and done nothing else: seconds of imports are paid once, not
by each of them. `python -m trainer` itself is started by `test_command.py`.
"""

import json
import multiprocessing
import os
import re
import signal
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Mapping
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NoReturn

import trainer.events
from tests.trainer.other_rounding import install_if_asked
from trainer.cli import main
from trainer.events import Event, Metrics, console
from trainer.metrics import METRICS

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


_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["trainer.run.process"])


def forked(
    command: list[str],
    environment: Mapping[str, str] | None = None,
    stderr: str | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> BaseProcess:
    """`python -m trainer COMMAND`, started; with these variables besides, and its stderr in that file.

    The process calls `on_event` for each event, once it is written. It must be picklable.
    """
    process = _context.Process(target=_command, args=(command, dict(environment or {}), stderr, on_event))
    process.start()
    return process


def _command(
    command: list[str], environment: dict[str, str], stderr: str | None, on_event: Callable[[Event], None] | None
) -> NoReturn:
    os.environ |= environment | {"HF_HUB_OFFLINE": "1"}
    if stderr is not None:
        os.dup2(os.open(stderr, os.O_WRONLY | os.O_APPEND), 2)
    install_if_asked()
    if on_event is not None:
        console.show = on_event
    sys.exit(main(command))


def start(
    spec: Path,
    run_dir: Path,
    *options: str,
    stderr: str | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> BaseProcess:
    return forked(["run", str(spec), "--run-dir", str(run_dir), *options], stderr=stderr, on_event=on_event)


def run(spec: Path, run_dir: Path, *options: str, timeout: float = 240) -> tuple[int, str]:
    """Exit status and the text on stderr."""
    with tempfile.NamedTemporaryFile("r") as said:
        process = start(spec, run_dir, *options, stderr=said.name)
        return status_of(process, timeout), said.read()


def status_of(process: BaseProcess, timeout: float) -> int:
    """How it ended, of itself."""
    process.join(timeout)
    if process.exitcode is None:
        process.kill()
        raise AssertionError(f"the run was not over after {timeout} s")
    return process.exitcode


def signal_when(process: BaseProcess, run_dir: Path, seen: Callable[[Event], bool], number: signal.Signals) -> int:
    """Send a signal as soon as an event satisfies `seen`; return the exit status."""
    offset, path = 0, run_dir / "events.jsonl"
    while process.is_alive():
        for event, after in trainer.events.read(path, offset):
            offset = after
            if seen(event):
                assert process.pid is not None  # it has been started
                os.kill(process.pid, number)
                return status_of(process, 60)
        time.sleep(0.01)  # between looks, so as not to take the processor from the run
    raise AssertionError(f"the run ended before the event came, with status {process.exitcode}")


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


def unexplained(folder: Path) -> set[tuple[str, str]]:
    """The reported metrics, by stage and name, that have no row in the metric table; rewards by the table's pattern."""
    table = {(metric.stage, re.sub("<name>", "[^/]+", metric.name)) for metric in METRICS}
    reported = {(stage, name) for (stage, _), values in metrics_of(folder).items() for name in values}
    return {
        (stage, name)
        for stage, name in reported
        if not any(stage == known and re.fullmatch(pattern, name) for known, pattern in table)
    }
