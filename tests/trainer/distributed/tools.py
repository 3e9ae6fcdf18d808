"""Runs of several processes on this machine, as a launcher starts them."""

import json
import os
import signal
import socket
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from safetensors.torch import load_file

import trainer.events
from tests import tolerance
from tests.trainer.running import forked, tiny_spec
from trainer.events import Event

Processes = list[BaseProcess]

STAGES = {
    # A Llama has no weight whose gradient is 0 but for rounding, which Adam would make into steps of the whole rate.
    "sft": {"epochs": 1, "batch_size": 5, "learning_rate": 1e-3, "save_every": 100, "max_grad_norm": 1.0},
    "reward_model": {"epochs": 1, "batch_size": 9, "learning_rate": 1e-4, "save_every": 100},
    "ppo": {
        "steps": 6, "batch_size": 6, "epochs": 2, "minibatches": 2, "learning_rate": 1e-4, "max_new_tokens": 8,
        "save_every": 2, "eval_every": 2, "log_samples": 1, "critic": {"learning_rate": 1e-4},
    },
    "evaluation": {"prompts": 5},
}  # fmt: skip
"""Uneven everywhere: 5 examples, 9 pairs, 3 responses of a minibatch, 5 prompts on 2 processes."""


def write_spec(folder: Path, model: dict[str, Any] | None = None, **changes: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "spec.json"
    path.write_text(json.dumps(tiny_spec(**(STAGES | changes)) | ({"model": model} if model else {})))
    return path


def start(spec: Path, run_dir: Path, count: int = 2, nodes: int = 1, errors: Path | None = None) -> Processes:
    """`count` processes for each of `nodes` machines, all on this one, with a launcher's environment.

    `errors`: a folder in which each rank's standard error is written to a file of its number.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    everyones = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(count * nodes)}
    processes: Processes = []
    for rank in range(count * nodes):
        own = {"RANK": str(rank), "LOCAL_RANK": str(rank % count), "LOCAL_WORLD_SIZE": str(count)}
        stderr = errors / str(rank) if errors is not None else None
        if stderr is not None:
            stderr.touch()
        command = ["run", str(spec), "--run-dir", str(run_dir)]
        processes.append(forked(command, everyones | own, str(stderr) if stderr is not None else None))
    return processes


def statuses(processes: Processes, timeout: float = 120) -> list[int | None]:
    """Exit status of each, once all have ended; none is left behind."""
    for process in processes:
        process.join(timeout)
    for process in processes:
        process.kill()
    return [process.exitcode for process in processes]


def signal_when(
    processes: Processes, run_dir: Path, seen: Callable[[Event], bool], rank: int, number: signal.Signals
) -> list[int | None]:
    """Signal one of the processes as soon as an event of theirs satisfies `seen`; the exit statuses of all."""
    path = run_dir / "events.jsonl"
    offset = path.stat().st_size if path.exists() else 0
    while all(process.is_alive() for process in processes):
        for event, after in trainer.events.read(path, offset):
            offset = after
            if seen(event):
                pid = processes[rank].pid
                assert pid is not None  # it has been started
                os.kill(pid, number)
                return statuses(processes)
        time.sleep(0.01)  # between looks, so as not to take the processor from the run
    raise AssertionError(f"the run ended before the event came: {statuses(processes)}")


def assert_like(run_dir: Path, other: Path, stages: tuple[str, ...] = ("sft", "reward_model", "ppo")) -> None:
    """The same weights but for rounding: rates are at most 1e-4."""
    for stage in stages:
        ours, theirs = (load_file(folder / "checkpoints" / stage / "model.safetensors") for folder in (run_dir, other))
        assert ours.keys() == theirs.keys()
        for name, weight in theirs.items():
            furthest = float((ours[name] - weight).abs().max())
            assert furthest <= tolerance.weights(rate=1e-4, steps=2), (stage, name, furthest)
