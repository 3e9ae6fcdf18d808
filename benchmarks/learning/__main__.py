"""Whether ours learns as much as TRL's PPO from the same samples: `python -m benchmarks.learning --json FILE --svg FILE`.

Six verifiable tasks, from random weights and after a brief SFT, with three seeds. The benchmark records the mean reward of
every batch, ours and TRL's at equal settings. docs/explanation/performance.md lists the settings that are equal. Each finished run is one line of
`runs.jsonl` in the cache, and is not repeated.
"""

import argparse
import itertools
import json
import math
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, get_args

from benchmarks.learning import starts
from benchmarks.learning.curves import drawing
from benchmarks.learning.forked import train_forked
from benchmarks.learning.starts import Start
from benchmarks.measuring.places import CACHE, PEER_SCRIPT, path, say, write_json
from benchmarks.peer import trl_ppo
from benchmarks.ppo import compare, ours
from benchmarks.ppo.models import OFFLINE, Models
from benchmarks.ppo.runs import measured
from benchmarks.ppo.settings import Settings
from benchmarks.ppo.sizes import Shape, Size
from examples.strings.server import serving
from examples.strings.tasks import TASKS, Task

STARTS = get_args(Start)
LAST = 0.1
"""Share of the iterations at the end whose mean reward is compared."""
SHAPE = Shape(hidden=64, layers=2, heads=4, ffn=128)
Record = dict[str, Any]
VARIANTS: dict[str, Record] = {
    "base": {},
    "advantages not whitened": {"advantage": {"normalize": "none"}},
    "no value clipping": {"critic": {"value_clip_range": None}},
    "missing EOS -1": {"shaping": {"missing_eos_penalty": 1.0}},
    "no KL": {"kl": {"coef": 0.0}},
    "KL 0.1": {"kl": {"coef": 0.1}},
    "KL in the loss": {"kl": {"placement": "loss"}},
    "batch 256": {"steps": None, "batch_size": 256, "minibatches": 8},
    "rewards whitened": {"shaping": {"whiten_rewards": True}},
    "gradients clipped to 1": {"max_grad_norm": 1.0, "adam_eps": 1e-5},
    "lambda 1": {"advantage": {"gae_lambda": 1.0}},
    "critic warm-up of 3": {"critic": {"warmup_steps": 3}},
    "as examples/ppo.toml": {
        "learning_rate": 3e-4,
        "minibatches": 4,
        "critic": {"learning_rate": 3e-4},
        "kl": {"coef": 0.1},
        "shaping": {"missing_eos_penalty": 1.0},
        "max_grad_norm": 1.0,
        "adam_eps": 1e-5,
        "warmup_ratio": 0.03,
    },
}
"""One factor each, laid over the spec's `ppo` of the base; ours alone. `steps`: as many as give the same samples."""


@dataclass(frozen=True)
class Budget:
    """The budget of both systems. Samples are `iterations` × `batch`.

    A policy after SFT needs fewer and smaller steps than one with random weights.
    """

    iterations: int = 60
    batch: int = 64
    epochs: int = 4
    minibatches: int = 2
    rate: float = 2e-3
    sft_iterations: int = 30
    sft_rate: float = 5e-4
    kl_coef: float = 0.01
    missing_eos_penalty: float = 0.0

    def settings(self, task: Task, start: Start, seed: int) -> Settings:
        size = Size(task.name, SHAPE, self.batch, task.longest, self.epochs, self.minibatches)
        given = (self.iterations, self.rate) if start == "random" else (self.sft_iterations, self.sft_rate)
        return Settings(size, given[0], 1, seed, False, True, given[1], self.kl_coef, self.missing_eos_penalty)


def main(argv: list[str] | None = None) -> Record:
    """Run what has no record yet, then print the table and write the files; return what the JSON holds."""
    arguments = _parser().parse_args(argv)
    budget = Budget(**{name: value for name in asdict(Budget()) if (value := getattr(arguments, name)) is not None})
    records = _records(arguments, budget)
    figures = summary(records, budget)
    print(table(figures))
    write_json(figures, arguments.json)
    if arguments.svg is not None:
        arguments.svg.write_text(drawing(figures))
    return figures


def _records(arguments: argparse.Namespace, budget: Budget) -> list[Record]:
    """Every run's record, those of earlier calls included."""
    log = Log(arguments.cache / "learning" / "runs.jsonl")
    if arguments.report:
        return log.records
    with serving() as url:
        for start, name, variant in itertools.product(
            arguments.starts, arguments.tasks, VARIANTS if arguments.ablate else ["base"]
        ):
            seeds = range(arguments.seeds)
            wanted = [Wanted(TASKS[name], start, seed, budget, arguments.cache, variant) for seed in seeds]
            for run in wanted:
                if not log.has(run.about("ours")):
                    log.add(run.about("ours") | run_ours(run, url))
            if variant != "base":
                continue
            ahead = [run for run in wanted if not log.has(run.about("trl"))]
            if arguments.peer == "trl" and ahead:
                for run, record in zip(ahead, _run_peers(ahead, arguments), strict=True):
                    log.add(run.about("trl") | record)
    return log.records


class Log:
    """Records of finished runs, one JSON line each, written as they come."""

    def __init__(self, file: Path) -> None:
        self._file = file
        file.parent.mkdir(parents=True, exist_ok=True)
        self.records: list[Record] = (
            [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        )

    def has(self, about: Record) -> bool:
        """Whether a record has all items of `about`."""
        return any(about.items() <= record.items() for record in self.records)

    def add(self, record: Record) -> None:
        say(
            f"{record['task']} from {record['start']} weights, seed {record['seed']}, {record['system']}: "
            f"{end_of(record['rewards']):.3f}"
        )
        with self._file.open("a") as out:
            out.write(json.dumps(record) + "\n")
        self.records.append(record)


@dataclass(frozen=True)
class Wanted:
    """One run of either system."""

    task: Task
    start: Start
    seed: int
    budget: Budget
    cache: Path
    variant: str = "base"
    """Which of VARIANTS is laid over ours."""

    def about(self, system: str) -> Record:
        names = {"task": self.task.name, "start": self.start, "seed": self.seed, "system": system}
        return names | {"variant": self.variant} | asdict(self.budget)

    @property
    def settings(self) -> Settings:
        return self.budget.settings(self.task, self.start, self.seed)

    @property
    def changes(self) -> Record:
        """The changes of the variant in the spec's `ppo`."""
        found = dict(VARIANTS[self.variant])
        if "steps" in found:
            found["steps"] = self.settings.iterations * self.budget.batch // found["batch_size"]
        return found

    @property
    def models(self) -> Models:
        return starts.ready(self.task, self.start, self.seed, self.cache / "learning")

    def folder(self, system: str) -> Path:
        return (
            self.cache
            / "learning"
            / "runs"
            / f"{self.task.name}-{self.start}-{self.seed}-{self.variant}-{system}".replace(" ", "_")
        )


def run_ours(run: Wanted, url: str) -> Record:
    """Train by `trainer run` against the reward server at `url`."""
    spec = ours.spec(run.settings, run.models)
    spec |= {"rewards": [{"type": "http", "name": "task", "url": f"{url}/{run.task.name}"}]}
    spec["ppo"] = _merged(spec["ppo"], run.changes)
    folder = run.folder("ours")
    train_forked(spec, folder)
    events = [json.loads(line) for line in (folder / "run" / "events.jsonl").read_text().splitlines()]
    rows = [event["values"] for event in events if event["type"] == "metrics" and "reward/task" in event["values"]]
    return {
        "rewards": [row["reward/task"] for row in rows],
        "kl": [row["objective/kl"] for row in rows],
        "finished": [row["val/eos_rate"] for row in rows],
    }


def _run_peers(runs: Sequence[Wanted], arguments: argparse.Namespace) -> list[Record]:
    """The peer's script once for each run, in one process with its imports."""
    python, script = trl_ppo.python_of(arguments.cache, arguments.peer_python), trl_ppo.script_at(arguments.peer_script)
    jobs = []
    for run in runs:
        folder = run.folder("trl")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _, *options = trl_ppo.command_for(run.settings, run.models, python, [], folder / "peer.json")
        jobs.append(json.dumps({"task": run.task.name, "log": str(folder / "rewards.jsonl"), "arguments": options}))
    environment = {**OFFLINE, "PYTHONWARNINGS": "ignore", "CUDA_VISIBLE_DEVICES": ""}
    measured(
        [str(python), "-m", "benchmarks.peer.verified", str(script), *jobs],
        runs[0].folder("trl") / "log.txt",
        environment,
    )
    return [_peers_record(run.folder("trl"), run.settings.iterations) for run in runs]


def _peers_record(folder: Path, iterations: int) -> Record:
    """A run that diverged has no report: from then on it earns nothing."""
    rewards = [json.loads(line) for line in (folder / "rewards.jsonl").read_text().splitlines()]
    report = folder / "peer.json"
    if not report.exists():
        return {"rewards": rewards + [0.0] * (iterations - len(rewards)), "kl": [], "finished": [], "diverged": True}
    rows = json.loads(report.read_text())["iterations"]
    return {"rewards": rewards, "kl": [row["kl"] for row in rows], "finished": [row["finished"] for row in rows]}


def _merged(whole: Record, changes: Record) -> Record:
    """`changes` laid over `whole`, sections within sections."""
    both = {
        name: _merged(whole[name], value) if isinstance(value, dict) and isinstance(whole.get(name), dict) else value
        for name, value in changes.items()
    }
    return whole | both


def end_of(rewards: Sequence[float]) -> float:
    """Mean reward of the last tenth of the iterations."""
    return fmean(rewards[-max(1, round(LAST * len(rewards))) :])


@dataclass(frozen=True)
class Ends:
    """The mean over seeds of a figure, and its standard error (0 for one seed)."""

    mean: float
    error: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Ends":
        return cls(fmean(values), stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0)


def summary(records: Sequence[Record], budget: Budget) -> Record:
    """Rows by task and start: each system's final reward over the seeds, its mean curve, and whether ours is as good."""
    rows = []
    wanted = asdict(budget) | {"variant": "base"}
    mine = [record for record in records if wanted.items() <= record.items()]
    for start, name in itertools.product(STARTS, TASKS):
        row: Record = {"task": name, "start": start}
        for system in ("ours", "trl"):
            found = sorted(
                (r for r in mine if (r["task"], r["start"], r["system"]) == (name, start, system)),
                key=lambda record: record["seed"],
            )
            if found:
                ends = [end_of(record["rewards"]) for record in found]
                curves = [[round(reward, 4) for reward in record["rewards"]] for record in found]
                row[system] = asdict(Ends.of(ends)) | {"ends": ends, "curves": curves}
                distances = [end_of(record["kl"]) for record in found if record["kl"]]
                row[system] |= {"kl": fmean(distances) if distances else None}
                row[system] |= {"diverged": sum(record.get("diverged", False) for record in found)}
                row["first"] = fmean(curve[0] for curve in curves)
        if "trl" in row:
            row["holds"] = row["ours"]["mean"] >= row["trl"]["mean"] - max(row["ours"]["error"], row["trl"]["error"])
        if "ours" in row:
            rows.append(row)
    return {"budget": asdict(budget), "tasks": rows, "ablations": _ablations(records, budget)}


def _ablations(records: Sequence[Record], budget: Budget) -> list[Record]:
    """Each variant's reward at the end less the base's, of the same task, start and seed."""
    ends = {
        (r["task"], r["start"], r["variant"], r["seed"]): end_of(r["rewards"])
        for r in records
        if (asdict(budget) | {"system": "ours"}).items() <= r.items()
    }
    rows = []
    for start, name, variant in itertools.product(STARTS, TASKS, VARIANTS):
        seeds = [seed for (*case, seed) in ends if case == [name, start, variant]]
        seeds = [seed for seed in seeds if (name, start, "base", seed) in ends]
        if variant != "base" and seeds:
            found = [ends[name, start, variant, seed] for seed in seeds]
            gains = [ends[name, start, variant, seed] - ends[name, start, "base", seed] for seed in seeds]
            row = {"task": name, "start": start, "variant": variant, "mean": fmean(found)}
            rows.append(row | {"gain": asdict(Ends.of(gains)), "ends": found})
    return rows


def table(figures: Record) -> str:
    """For people."""
    rows: list[tuple[str, ...]] = [("task", "start", "first", "ours", "±", "TRL", "±", "KL ours", "KL TRL", "")]
    for row in figures["tasks"]:
        cells = [row["task"], row["start"], f"{row['first']:.3f}"]
        for system in ("ours", "trl"):
            found = row.get(system)
            cells += [f"{found['mean']:.3f}", f"{found['error']:.3f}"] if found else ["-", "-"]
        kls = [row.get(system, {}).get("kl") for system in ("ours", "trl")]
        cells += ["-" if kl is None else f"{kl:.1f}" for kl in kls]
        rows.append((*cells, "" if row.get("holds", True) else "below"))
    lines = compare.columns(rows)
    if figures["ablations"]:
        lines += "\n\n" + compare.columns(
            [("variant", "task", "start", "end", "gain", "±"), *map(_gain, figures["ablations"])]
        )
    return lines


def _gain(row: Record) -> tuple[str, ...]:
    gain = row["gain"]
    return (
        row["variant"],
        row["task"],
        row["start"],
        f"{row['mean']:.3f}",
        f"{gain['mean']:+.3f}",
        f"{gain['error']:.3f}",
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Reward curves on verifiable tasks, ours and TRL's at equal samples.")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--starts", nargs="+", choices=STARTS, default=list(STARTS))
    parser.add_argument("--seeds", type=int, default=3, help="runs of each, with seeds 0, 1, … (default 3)")
    for name, value in asdict(Budget()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), help=f"of both (default {value})")
    parser.add_argument("--ablate", action="store_true", help="every variant of ours too, one factor each")
    parser.add_argument("--report", action="store_true", help="run nothing: show the runs that are done")
    parser.add_argument("--peer", choices=("trl", "none"), default="trl", help="none: ours alone")
    parser.add_argument("--json", type=path, help="write the curves and their ends here")
    parser.add_argument("--svg", type=path, help="draw the curves here")
    parser.add_argument("--cache", type=path, default=CACHE, help="starts, runs, the peer's environment (out/bench)")
    parser.add_argument("--peer-python", type=path, help="a Python that has trl 1.12.0")
    parser.add_argument("--peer-script", type=path, default=PEER_SCRIPT, help="default ../shared/bench/trl_ppo.py")
    return parser


if __name__ == "__main__":
    main()
