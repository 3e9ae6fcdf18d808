"""The preflight's estimate beside what was measured, phase by phase: `python -m benchmarks.ppo.memory --size 3m --json FILE`.

One short run of ours per size. Its `memory/…` metrics are the process' resident memory at the peak of each phase, and on a
GPU the bytes of tensors. The preflight estimates a phase and the process itself.
"""

import argparse
import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measuring.places import CACHE, ROOT, say, trainer_python
from benchmarks.ppo import models, ours
from benchmarks.ppo.settings import Settings
from benchmarks.ppo.sizes import SIZES
from trainer.preflight.report import MemoryReport, Phase

PHASES: dict[str, Phase] = {"rollout": "ppo_rollout", "score": "ppo_score", "train": "ppo_update"}
"""The trainer's phase, and the preflight's name of it."""
WITHIN = 0.15


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", nargs="+", default=["demo", "3m", "3m-32k", "28m"], choices=sorted(SIZES))
    parser.add_argument("--iterations", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args(arguments)
    rows = [_compared(name, chosen.iterations, chosen.threads, chosen.cache) for name in chosen.size]
    for row in rows:
        for phase, found in row["phases"].items():
            say(f"{row['size']:8} {phase:8} {found['estimate'] / 2**20:7.0f} {found['measured'] / 2**20:7.0f} MiB "
                f"{found['ratio']:.2f}")  # fmt: skip
    if chosen.json is not None:
        chosen.json.write_text(json.dumps({"within": WITHIN, "sizes": rows}, indent=1))


def _compared(name: str, iterations: int, threads: int, cache: Path) -> dict[str, Any]:
    size = SIZES[name]
    found, folder = models.ready(size, cache), cache / "memory" / name
    settings = Settings(size, iterations, threads)
    run = ours.run(settings, found, folder)
    memory = _estimated(folder)
    measured = measured_peaks(folder / "run" / "events.jsonl")
    return {"size": name, "peak_rss_mib": run.peak_rss_mib, "phases": compare(memory, measured, size.device)}


def _estimated(folder: Path) -> MemoryReport:
    """By the command, in a process of its own, so that this one stays small: what it starts inherits its high-water mark."""
    report = folder / "check.json"
    command = [trainer_python(), "-m", "trainer", "check", str(folder / "spec.json"), "--json", str(report)]
    subprocess.run(command, cwd=ROOT, env=os.environ | models.OFFLINE, capture_output=True, check=True)
    return MemoryReport.model_validate(json.loads(report.read_text())["memory"])


def measured_peaks(events: Path) -> dict[str, float]:
    """The largest value of each phase over all iterations, in bytes."""
    found: dict[str, float] = {}
    with events.open(encoding="utf-8") as lines:
        for event in map(json.loads, lines):
            for phase in PHASES if event["type"] == "metrics" else ():
                found[phase] = max(found.get(phase, 0.0), event["values"].get(f"memory/{phase}", 0.0))
    return found


def compare(memory: MemoryReport, measured: dict[str, float], device: str) -> dict[str, dict[str, float]]:
    """Bytes estimated and measured, and their ratio. A GPU's count of tensors leaves out the process itself."""
    beside = memory.runtime if device == "cpu" else 0
    expected = {phase.phase: phase.expected + beside for phase in memory.phases}
    return {
        phase: {"estimate": expected[name], "measured": measured[phase], "ratio": expected[name] / measured[phase]}
        for phase, name in PHASES.items()
        if measured.get(phase)
    }


if __name__ == "__main__":
    main()
