"""A sampler with a planted gap, with and without importance correction: `python -m benchmarks.gap --json FILE`.

Each gap (`GAPS`) is planted in the sampler of a run that believes to sample by its own policy. It is run without a
correction and with each kind, five seeds each, beside a run without a gap. The final reward is the mean score of one response
of the policy itself to each of 64 held-out prompts, after the last iteration. The record also has the health rules that
fired. Two runs work side by side. Each finished run is one line of `runs.jsonl` in the cache, and is not repeated.
"""

import argparse
import itertools
import json
import math
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from benchmarks.critic.tasks import MAKERS, Task
from benchmarks.gap.specs import (
    CLEAN,
    CORRECTIONS,
    GAPS,
    ITERATIONS,
    LETTERS,
    TASK,
    TOKENS,
    Setting,
    plant_in_process,
    spec_of,
)
from benchmarks.learning.forked import train_forked
from benchmarks.measuring.places import CACHE, path, say, write_json
from benchmarks.ppo import compare
from examples.strings.server import serving

Record = dict[str, Any]
RULES = ("sampler_gap", "sampler_differs")
"""The rules of health about the sampler. Others may fire as well."""
RATE = 1e-2


def settings(arguments: argparse.Namespace) -> list[Setting]:
    """The runs, seed by seed."""
    chosen = [(CLEAN, "none"), *itertools.product(arguments.gaps, arguments.corrections)]
    iterations = arguments.iterations or ITERATIONS
    return [Setting(*one, seed, arguments.rate, iterations) for seed in range(arguments.seeds) for one in chosen]


class Log:
    """Records of finished runs, one JSON line each, written as they come."""

    def __init__(self, file: Path) -> None:
        self._file, self._lock = file, threading.Lock()
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = file.read_text().splitlines() if file.exists() else []
        self._records: dict[str, Record] = {(record := json.loads(line))["label"]: record for line in lines}

    def has(self, setting: Setting) -> bool:
        return setting.label in self._records

    def get(self, setting: Setting) -> Record:
        return self._records[setting.label]

    def add(self, setting: Setting, record: Record) -> None:
        record = {"label": setting.label} | asdict(setting) | record
        say(f"{setting.label}: {record['final']:.3f}, {record['seconds']:.0f} s, {record['rules']}")
        with self._lock:
            self._records[setting.label] = record
            with self._file.open("a") as out:
                out.write(json.dumps(record) + "\n")


def _run(setting: Setting, log: Log, cache: Path, url: str) -> None:
    from benchmarks.critic import starts

    task, folder = MAKERS[TASK](LETTERS, TOKENS), cache / "runs" / setting.label
    start = starts.ready(task, setting.seed, cache / "starts")
    train_forked(spec_of(setting, start, url), folder, first=partial(plant_in_process, setting.gap))
    log.add(setting, read(folder / "run" / "events.jsonl"))


def read(file: Path) -> Record:
    """The figures of a finished run: its final reward, its rules that fired, and means over its iterations."""
    events = [json.loads(line) for line in file.read_text().splitlines()]
    rows = [event["values"] for event in events if event["type"] == "metrics"]
    learned = [row for row in rows if "reward/task" in row]
    means = {
        name: fmean(row[key] for row in learned)
        for name, key in (
            ("gap", "sampling/logp_difference/mean"),
            ("outside", "sampling/ratio/outside"),
            ("beyond", "sampling/ratio/beyond_rounding"),
        )
    }
    fired = {event["rule"]: event["step"] for event in reversed(events) if event["type"] == "health"}
    return {
        "final": [row["eval/score"] for row in rows if "eval/score" in row][-1],
        "rewards": [round(row["reward/task"], 4) for row in learned],
        "rules": dict(sorted(fired.items())),
        "seconds": events[-1]["at"] - events[0]["at"],
    } | means


def summary(log: Log, runs: Sequence[Setting]) -> Record:
    """Final rewards, rules and means by gap and correction."""
    found: Record = {}
    for setting in runs:
        record = log.get(setting)
        cell = found.setdefault(setting.gap, {}).setdefault(setting.correction, {"final": [], "rules": []})
        cell["final"].append(record["final"])
        cell["rules"].append([name for name in RULES if name in record["rules"]])
        for name in ("gap", "outside", "beyond"):
            cell.setdefault(name, []).append(record[name])
    return {"runs": found}


def distance(planted: Sequence[float], clean: Sequence[float]) -> float:
    """The difference of the means in standard errors of it (Welch 1947). Infinite where neither varies; 0 if they are equal."""
    difference = fmean(planted) - fmean(clean)
    if (
        len(planted) < 2
        or (error := math.hypot(*(stdev(ends) / math.sqrt(len(ends)) for ends in (planted, clean)))) == 0
    ):
        return math.copysign(math.inf, difference) if difference else 0.0
    return difference / error


def table(figures: Record) -> str:
    """For people."""
    runs = figures["runs"]
    clean = runs[CLEAN]["none"]
    rows: list[tuple[str, ...]] = [
        ("gap", "correction", "final", "standard error", "from clean", "|log r|", "outside", *RULES)
    ]
    for gap, correction in ((name, kind) for name, kinds in runs.items() for kind in kinds):
        cell = runs[gap][correction]
        ends = cell["final"]
        error = stdev(ends) / math.sqrt(len(ends)) if len(ends) > 1 else math.nan
        fired = [f"{sum(name in rules for rules in cell['rules'])}/{len(ends)}" for name in RULES]
        away = "" if gap == CLEAN else f"{distance(ends, clean['final']):+.1f}"
        means = [f"{fmean(cell['gap']):.2g}", f"{fmean(cell['outside']):.2g}"]
        rows.append((gap, correction, f"{fmean(ends):.3f}", f"{error:.3f}", away, *means, *fired))
    return compare.columns(rows)


def main(argv: list[str] | None = None) -> Record:
    """Run what has no record yet, print the table and write the file; return what it holds."""
    arguments = _parser().parse_args(argv)
    log, runs = Log(arguments.cache / "gap" / "runs.jsonl"), settings(arguments)
    tasks: dict[str, Task] = {TASK: MAKERS[TASK](LETTERS, TOKENS)}
    with serving(tasks=tasks) as url, ThreadPoolExecutor(2) as pool:
        wanted = [setting for setting in runs if not log.has(setting)]
        for _ in pool.map(partial(_run, log=log, cache=arguments.cache / "gap", url=f"{url}/{TASK}"), wanted):
            pass
    figures = summary(log, runs)
    print(table(figures))
    write_json(figures, arguments.json)
    return figures


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="A sampler with a planted gap, with and without importance correction."
    )
    parser.add_argument("--json", type=path, help="write the figures to this file")
    parser.add_argument("--gaps", nargs="+", choices=GAPS, default=list(GAPS))
    parser.add_argument("--corrections", nargs="+", choices=CORRECTIONS, default=list(CORRECTIONS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--iterations", type=int, help="of every run, for a rehearsal")
    parser.add_argument("--cache", type=path, default=CACHE)
    return parser


if __name__ == "__main__":
    main()
