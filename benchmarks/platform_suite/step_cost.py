"""Measures the platform's cost per step: a watched job on a whole platform against the bare trainer command, in turn.

    python -m benchmarks.platform_suite.step_cost --json FILE

Both do the same steps (same spec, same seed: the same numbers), so each step is compared with itself. The platform is
`proximal up` in a folder of its own: embedded PostgreSQL and Valkey, API, sweeper and worker. The worker renews the lease,
stores and streams every event, and uploads checkpoints while the training goes on. The trainer computes in one thread,
because with as many threads as cores the result would measure the cores.
"""

import argparse
import json
import os
import shutil
import socket
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import psutil  # type: ignore[import-untyped]

from benchmarks.measuring.places import CACHE, say, write_json
from benchmarks.ppo import corpus
from benchmarks.ppo.compare import Spread
from benchmarks.ppo.sizes import SIZES
from proximal.data_folder import DataFolder
from proximal.local import services
from proximal.local.options import Options
from proximal.sdk import Client
from proximal.sdk.spec_files import with_uploads

WARM_UP = 2
"""Steps that are not counted."""
_OWN = "time/step"
_OFFLINE = {"HF_HUB_OFFLINE": "1"}
_PARTS = {"sweep": "sweeper", "worker": "worker", "api": "api", "postgres": "postgres", "valkey": "valkey", "up": "up"}


@dataclass(frozen=True)
class Steps:
    """Seconds of each counted step: as the trainer's own clock has it, and from one step's end to the next, saving included."""

    own: list[float]
    whole: list[float]

    @classmethod
    def of(cls, ends: Sequence[tuple[float, float]]) -> "Steps":
        """From (end in Unix seconds, `time/step`) of each step."""
        whole = [after[0] - before[0] for before, after in pairwise(ends)]
        return cls([own for _, own in ends[WARM_UP:]], whole[WARM_UP - 1 :])


def main(argv: list[str] | None = None) -> dict[str, Any]:
    """Measure, print, write the JSON; return what it holds."""
    arguments = _parser().parse_args(argv)
    spec = _spec(arguments, arguments.cache / "platform-data")
    bare, hosted, cpu = [], [], []
    for number in range(arguments.pairs):
        folder = arguments.cache / "runs" / f"platform-{os.getpid()}-{number}"
        shutil.rmtree(folder, ignore_errors=True)
        bare.append(run_bare(spec, folder / "bare"))
        steps, seconds = run_hosted(spec, folder / "hosted")
        hosted.append(steps)
        cpu.append({part: 1000 * spent / spec["ppo"]["steps"] for part, spent in seconds.items()})
        say(f"pair {number + 1} of {arguments.pairs}: {median(bare[-1].whole):.3f} s bare, {median(steps.whole):.3f} s")
        shutil.rmtree(folder)
    figures = summary(bare, hosted, cpu) | {"steps": spec["ppo"]["steps"], "threads": 1}
    write_json(figures, arguments.json)
    print(json.dumps(figures, indent=1))
    return figures


def summary(bare: Sequence[Steps], hosted: Sequence[Steps], cpu: Sequence[dict[str, float]]) -> dict[str, Any]:
    """How many times as long a step takes on the platform, step by step; and the platform's CPU milliseconds a step."""

    def slowdown(kind: str) -> dict[str, float]:
        pairs = [zip(getattr(h, kind), getattr(b, kind), strict=True) for h, b in zip(hosted, bare, strict=True)]
        return Spread.of([median(with_it / without for with_it, without in pair) for pair in pairs]).__dict__

    step = median(seconds for run in bare for seconds in run.whole)
    parts = {part: round(median(run.get(part, 0.0) for run in cpu), 2) for part in sorted(cpu[0])}
    return {
        "step_s": step,
        "slowdown": slowdown("whole"),
        "slowdown_of_the_step_alone": slowdown("own"),
        "platform_cpu_ms_per_step": parts,
        "platform_cpu_share_of_a_core": sum(parts.values()) / 1000 / step,
    }


def run_bare(spec: dict[str, Any], folder: Path) -> Steps:
    """Run the trainer's command."""
    ours_folder = folder / "run"
    folder.mkdir(parents=True)
    (folder / "spec.json").write_text(json.dumps(spec))
    command = [sys.executable, "-m", "trainer", "run", str(folder / "spec.json"), "--run-dir", str(ours_folder)]
    with (folder / "log").open("wb") as log:
        done = psutil.Popen(command, stdout=log, stderr=log, env=os.environ | _OFFLINE).wait()
    if done != 0:
        sys.exit((folder / "log").read_text())
    found = [json.loads(line) for line in (ours_folder / "events.jsonl").read_text().splitlines()]
    return Steps.of(
        [(e["at"], e["values"][_OWN]) for e in found if e["type"] == "metrics" and _is_step(e["stage"], e["values"])]
    )


def run_hosted(spec: dict[str, Any], folder: Path) -> tuple[Steps, dict[str, float]]:
    """Run a job on a platform of its own, watched by one client. Returns the CPU seconds of the platform's parts too."""
    os.environ.update(_OFFLINE)
    options = Options(folder, port=free_port())
    up = services.start_in_background(options)
    try:
        with client_of(options) as client:
            job = client.create_job(with_uploads(client, spec, Path("/")))
            return _watch(client, job["id"], up.pid)
    finally:
        up.stop(grace=60)


def _watch(client: Client, job_id: str, up: int) -> tuple[Steps, dict[str, float]]:
    ends: list[tuple[float, float]] = []
    first: dict[str, float] = {}
    last: dict[str, float] = {}
    for event in client.stream_job_events(job_id):
        if event["type"] == "metrics" and _is_step(event["stage"], event["data"]["values"]):
            ends.append((datetime.fromisoformat(event["created_at"]).timestamp(), event["data"]["values"][_OWN]))
            last = _cpu_seconds(up)
        elif event["type"] == "run_started":
            first = _cpu_seconds(up)
    job = client.get_job(job_id)
    if job["status"] != "succeeded":
        sys.exit(f"The job ended as {job['status']}: {job['error']}")
    return Steps.of(ends), {part: last[part] - first.get(part, 0.0) for part in last}


def _is_step(stage: str | None, values: dict[str, float]) -> bool:
    """PPO's, and not what it reports before its first."""
    return stage == "ppo" and _OWN in values


def _cpu_seconds(up: int) -> dict[str, float]:
    """User and system time so far of everything under `up` but the trainer, with what ended meanwhile; and of this client."""
    seconds: dict[str, float] = defaultdict(float)
    root = psutil.Process(up)
    for process in (root, *root.children(recursive=True)):
        if (part := _part(process.cmdline())) is not None:
            seconds[part] += sum(process.cpu_times()[:4])
    seconds["client"] = time.process_time()
    return seconds


def _part(command: list[str]) -> str | None:
    """Which of the platform's processes it is, by its last words that tell; None for the trainer."""
    words = " ".join(command)
    if " trainer " in f" {words} ":
        return None
    return next((part for word, part in _PARTS.items() if word in words), "other")


def client_of(options: Options) -> Client:
    """Once the platform answers."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if (key := DataFolder(options.folder.path).key()) is not None and options.folder.running() is not None:
            client = Client(options.url, key)
            try:
                client.is_ready()
            except Exception:  # noqa: BLE001 whatever it is, it is not ready yet
                client.close()
            else:
                return client
        time.sleep(0.2)
    sys.exit(f"The platform did not start; see {options.folder.logs}.")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _spec(arguments: argparse.Namespace, data: Path) -> dict[str, Any]:
    """PPO on 3M random weights with a step of about half a second. Samples and checkpoints are as often as by default, or more."""
    shape = SIZES["3m"].shape
    corpus.write(data, counts=(1,), texts=200, pairs=1)
    config = {
        "model_type": "llama",
        "hidden_size": shape.hidden,
        "intermediate_size": shape.ffn,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "max_position_embeddings": 256,
        "tie_word_embeddings": True,
    }
    ppo = {"steps": arguments.steps, "batch_size": 16, "epochs": 1, "minibatches": 1, "max_new_tokens": 48}
    return {
        "name": "the platform's cost",
        "model": {"config": config, "tokenizer": {"vocab_size": 512}},
        "data": {"sft": str(data / "sft.jsonl"), "prompts": str(data / "prompts.jsonl")},
        "stages": ["sft", "ppo"],
        "sft": {"batch_size": 200},
        "rewards": [{"type": "length", "target": 20}],
        "ppo": ppo | {"save_every": arguments.save_every, "eval_every": 1_000_000},
        "evaluation": {"prompts": 16, "keep_best": False},
        "runtime": {"device": "cpu", "threads": 1},
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Measure the platform's cost per step against the bare trainer, in turn: A B A B."
    )
    parser.add_argument("--pairs", type=int, default=3, help="runs of each (default 3)")
    parser.add_argument("--steps", type=int, default=40, help="PPO steps a run (default 40)")
    parser.add_argument("--save-every", type=int, default=10, help="steps between checkpoints, which are uploaded")
    parser.add_argument("--json", type=Path, help="write every figure here")
    parser.add_argument("--cache", type=Path, default=CACHE, help="models and runs (default out/bench)")
    return parser


if __name__ == "__main__":
    main()
