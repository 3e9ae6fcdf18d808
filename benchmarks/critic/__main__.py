"""PPO with a critic against GRPO on tasks of long credit: `python -m benchmarks.critic --json FILE`.

Three tasks, five seeds, responses up to four steps old, equal samples. The final reward of a run is the mean score of one
response to each of 64 held-out prompts after the last iteration. A second part trains critics with one pass and with two on
small versions of the tasks, where the exact value of every state is computed. Two runs work side by side. Each finished run is
one line of `runs.jsonl` in the cache, and is not repeated.
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
from typing import Any, get_args

from benchmarks.critic.specs import Algorithm, Setting, spec_of
from benchmarks.critic.tasks import MAKERS, Task
from benchmarks.learning.forked import train_forked
from benchmarks.measuring.places import CACHE, path, say, write_json
from benchmarks.ppo import compare
from examples.strings.server import serving

Record = dict[str, Any]
LARGE, SMALL = (24, 24), (4, 6)
"""Letters and tokens of the comparison, and of the tasks with exact values: 4⁶ = 4,096 responses."""
ITERATIONS, SMALL_ITERATIONS, SAVED_EVERY = 60, 30, 6
STALENESS = 4
CANDIDATES = (1e-3, 3e-3, 1e-2)
TUNING_SEED = 100
"""The rates of the table below are the best of `CANDIDATES` for this seed, which no comparison uses (`--tune`)."""
RATES: dict[tuple[str, Algorithm], float] = {
    ("delayed", "ppo"): 1e-2,
    ("delayed", "grpo"): 1e-2,
    ("distractors", "ppo"): 3e-3,
    ("distractors", "grpo"): 1e-2,
    ("sparse", "ppo"): 1e-3,
    ("sparse", "grpo"): 3e-3,
}


def main(argv: list[str] | None = None) -> Record:
    """Run what has no record yet, print the tables and write the file; return what it holds."""
    arguments = _parser().parse_args(argv)
    log = Log(arguments.cache / "critic" / "runs.jsonl")
    compared = tuning(arguments) if arguments.tune else comparisons(arguments)
    measured = [] if arguments.tune else critics(arguments)
    with serving(tasks=_tasks()) as url, ThreadPoolExecutor(2) as pool:
        wanted = [setting for setting in compared + measured if not log.has(setting)]
        for _ in pool.map(partial(_run, log=log, cache=arguments.cache / "critic", url=url), wanted):
            pass
    if arguments.tune:
        print(tuning_table(log, compared))
        return {}
    figures = summary(log, compared, measured)
    print(table(figures))
    write_json(figures, arguments.json)
    return figures


def comparisons(arguments: argparse.Namespace) -> list[Setting]:
    """The runs of the comparison, seed by seed."""
    return [
        Setting(
            name,
            *LARGE,
            algorithm,
            RATES[name, algorithm],
            arguments.staleness,
            arguments.iterations or ITERATIONS,
            seed,
        )
        for seed, name, algorithm in itertools.product(range(arguments.seeds), arguments.tasks, get_args(Algorithm))
    ]


def tuning(arguments: argparse.Namespace) -> list[Setting]:
    """The runs that choose the learning rates: as many for either algorithm."""
    return [
        Setting(name, *LARGE, algorithm, rate, arguments.staleness, arguments.iterations or ITERATIONS, TUNING_SEED)
        for name, rate, algorithm in itertools.product(arguments.tasks, CANDIDATES, get_args(Algorithm))
    ]


def critics(arguments: argparse.Namespace) -> list[Setting]:
    """The runs whose critics are compared with the exact values: one and two passes of the critic."""
    return [
        Setting(
            name,
            *SMALL,
            "ppo",
            RATES[name, "ppo"],
            arguments.staleness,
            arguments.iterations or SMALL_ITERATIONS,
            seed,
            critic_epochs=epochs,
            save_every=arguments.save_every,
        )
        for seed, name, epochs in itertools.product(range(arguments.seeds), arguments.tasks, (1, 2))
    ]


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
        say(f"{setting.label}: {record['final']:.3f}, {record['seconds']:.0f} s")
        with self._lock:
            self._records[setting.label] = record
            with self._file.open("a") as out:
                out.write(json.dumps(record) + "\n")


def _tasks() -> dict[str, Task]:
    """Each task of either size, by the path of its reward."""
    return {f"{name}-{size[0]}": MAKERS[name](*size) for name, size in itertools.product(MAKERS, (LARGE, SMALL))}


def _run(setting: Setting, log: Log, cache: Path, url: str) -> None:
    """Train by `trainer run`, and record the final reward, the curve and the errors of the critics."""
    from benchmarks.critic import starts, values

    name = f"{setting.task}-{setting.letters}"
    task, folder = _tasks()[name], cache / "runs" / setting.label
    start = starts.ready(task, setting.seed, cache / "starts" / f"K{setting.critic_epochs}-{setting.algorithm}")
    exact = setting.letters == SMALL[0]
    then = partial(values.write_errors, name=setting.task, letters=setting.letters, tokens=setting.tokens)
    train_forked(spec_of(setting, start, f"{url}/{name}"), folder, then if exact else None)
    events = [json.loads(line) for line in (folder / "run" / "events.jsonl").read_text().splitlines()]
    rows = [event["values"] for event in events if event["type"] == "metrics"]
    record: Record = {
        "final": [row["eval/score"] for row in rows if "eval/score" in row][-1],
        "rewards": [round(row["reward/task"], 4) for row in rows if "reward/task" in row],
        "explained": [round(row["val/explained_var"], 4) for row in rows if "val/explained_var" in row],
        "seconds": events[-1]["at"] - events[0]["at"],
    }
    if exact:
        record["errors"] = json.loads((folder / "run" / values.ERRORS).read_text())
    log.add(setting, record)


def summary(log: Log, compared: Sequence[Setting], measured: Sequence[Setting]) -> Record:
    """The final rewards by task and algorithm, and the mean error of the critics with two passes ÷ that with one."""
    tasks: Record = {}
    for setting in compared:
        tasks.setdefault(setting.task, {}).setdefault(setting.algorithm, []).append(log.get(setting)["final"])
    errors = {
        epochs: [fmean(log.get(one)["errors"].values()) for one in measured if one.critic_epochs == epochs]
        for epochs in (1, 2)
    }
    return {"tasks": tasks, "critic_error_ratio": fmean(errors[2]) / fmean(errors[1])}


def advantage(ppo: Sequence[float], grpo: Sequence[float]) -> float:
    """The difference of the means in standard errors of it (Welch 1947). Infinite where neither varies; 0 if they are equal."""
    difference = fmean(ppo) - fmean(grpo)
    if len(ppo) < 2 or (error := math.hypot(*(stdev(ends) / math.sqrt(len(ends)) for ends in (ppo, grpo)))) == 0:
        return math.copysign(math.inf, difference) if difference else 0.0
    return difference / error


def table(figures: Record) -> str:
    """For people."""
    rows: list[tuple[str, ...]] = [("task", "PPO", "GRPO", "difference in standard errors")]
    for name, ends in figures["tasks"].items():
        cells = [f"{fmean(ends[algorithm]):.3f}" for algorithm in ("ppo", "grpo")]
        rows.append((name, *cells, f"{advantage(ends['ppo'], ends['grpo']):+.1f}"))
    return f"{compare.columns(rows)}\nerror of the critic, two passes ÷ one: {figures['critic_error_ratio']:.3f}"


def tuning_table(log: Log, compared: Sequence[Setting]) -> str:
    """The final reward of each candidate."""
    rows: list[tuple[str, ...]] = [("task", "algorithm", "rate", "final")]
    rows += [(one.task, one.algorithm, f"{one.rate:g}", f"{log.get(one)['final']:.3f}") for one in compared]
    return compare.columns(rows)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="PPO with a critic against GRPO on tasks of long credit.")
    parser.add_argument("--json", type=path, help="write the figures to this file")
    parser.add_argument("--tasks", nargs="+", choices=MAKERS, default=list(MAKERS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--staleness", type=int, default=STALENESS, help="steps between sampling and learning")
    parser.add_argument("--iterations", type=int, help="of every run, for a rehearsal")
    parser.add_argument(
        "--save-every", type=int, default=SAVED_EVERY, help="steps between the critics that are measured"
    )
    parser.add_argument("--tune", action="store_true", help="run the candidates for the learning rates instead")
    parser.add_argument("--cache", type=path, default=CACHE)
    return parser


if __name__ == "__main__":
    main()
