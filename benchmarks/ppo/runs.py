"""One run of either system, as a process, and what it left behind in the same form for both."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.measuring.device_memory import DeviceWatch
from benchmarks.measuring.places import ROOT

FOREIGN_LOAD = 0.15
"""Cores busy with other things, above which a run is called disturbed."""


@dataclass(frozen=True)
class Iteration:
    """One PPO iteration: seconds of its phases, its response tokens, and what it learnt."""

    seconds: float
    rollout: float
    score: float
    train: float
    tokens: float
    reward: float | None
    kl: float | None


@dataclass(frozen=True)
class Run:
    """The iterations of one run. `counted` are those that figures are taken from."""

    system: str
    iterations: list[Iteration]
    counted: list[Iteration]
    peak_rss_mib: float
    cpu_seconds: float
    wall_seconds: float
    foreign_cores: float
    peak_device_mib: float | None = None
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def disturbed(self) -> bool:
        return self.foreign_cores > FOREIGN_LOAD

    def as_json(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if key != "counted"} | {
            "counted": len(self.counted),
            "disturbed": self.disturbed,
        }


@dataclass(frozen=True)
class Finished:
    """A process that ended well: its memory's high-water mark, its time, and what else the machine did meanwhile."""

    peak_rss_mib: float
    cpu_seconds: float
    wall_seconds: float
    foreign_cores: float
    peak_device_mib: float | None


def measured(command: Sequence[str], log: Path, environment: Mapping[str, str], device: str = "cpu") -> Finished:
    """Run a command to its end, everything it prints into `log`. Ends the program when it fails.

    Memory is the largest single process's, as the system keeps it: of several processes, that of one.
    """
    busy, began = _busy_seconds(), time.perf_counter()
    with log.open("w") as out, DeviceWatch(device) as watch:
        process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment}, stdout=out, stderr=out)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            process.wait()
            raise
        process.returncode = os.waitstatus_to_exitcode(status)
    wall, cpu = time.perf_counter() - began, usage.ru_utime + usage.ru_stime
    if process.returncode:
        sys.exit(f"`{' '.join(command)}` ended with {process.returncode}; {log} ends with:\n{log.read_text()[-3000:]}")
    foreign = max(0.0, (_busy_seconds() - busy - cpu) / wall)
    return Finished(usage.ru_maxrss / 1024, cpu, wall, foreign, watch.peak_mib)


def _busy_seconds() -> float:
    """Seconds that all cores together have been busy since boot; 0 where the system does not say."""
    path = Path("/proc/stat")
    if not path.exists():
        return 0.0
    user, nice, system, _idle, _iowait, irq, softirq = (int(n) for n in path.read_text().split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def from_events(path: Path, batch: int) -> list[Iteration]:
    """The iterations of a run of ours, from its events.jsonl."""
    found = []
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line)
            if event["type"] != "metrics" or event["stage"] != "ppo" or "time/train" not in event["values"]:
                continue
            values = event["values"]
            found.append(
                Iteration(
                    values["time/step"],
                    values["time/rollout"],
                    # The critic's pass, advantages and metrics are in no phase of the log: with the scoring.
                    values["time/step"] - values["time/rollout"] - values["time/train"],
                    values["time/train"],
                    values["val/response_length"] * batch,
                    values.get("objective/scores"),
                    values.get("objective/kl"),
                )
            )
    return found


def from_peer(report: Mapping[str, Any]) -> list[Iteration]:
    """The iterations of a run of the peer, from the JSON of its script."""
    return [
        Iteration(
            row["seconds"],
            row["rollout_s"],
            row["score_s"],
            row["train_s"],
            row["response_tokens"],
            row["reward"],
            row["kl"],
        )
        for row in report["iterations"]
    ]


def counted(iterations: Sequence[Iteration], measured_by: int, last_too: bool) -> list[Iteration]:
    """All but the first, and but for `last_too` the last, of the first `measured_by`."""
    found = list(iterations[:measured_by])
    kept = found[1:] if last_too else found[1:-1]
    return kept or found
