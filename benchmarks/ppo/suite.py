"""The CPU part of the benchmarks in one go: `make bench`, or `python -m benchmarks.ppo.suite`. At most 15 minutes on two quiet cores.

Few pairs each: for a figure to quote, call the single benchmarks with more of them.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.measuring.places import CACHE, PEER_SCRIPT, ROOT, path, say, write_json
from benchmarks.ppo.compare import columns

STEPS: tuple[tuple[str, str, list[str]], ...] = (
    ("demo", "ppo.speed", ["--size", "demo", "--pairs", "2"]),
    ("3m", "ppo.speed", ["--size", "3m", "--pairs", "1"]),
    ("3m, full length", "ppo.speed", ["--size", "3m", "--full-length", "--pairs", "1", "--iterations", "3"]),
    ("28m", "ppo.speed", ["--size", "28m", "--pairs", "1", "--iterations", "2"]),
    ("3m-32k", "ppo.speed", ["--size", "3m-32k", "--pairs", "1"]),
    ("share of the ceiling", "ppo.machine", ["--size", "28m", "--rounds", "1", "--iterations", "2"]),
    ("2 processes", "ppo.parallel", ["--pairs", "1", "--iterations", "3"]),
    ("memory", "ppo.memory", ["--size", "3m", "3m-32k"]),
    ("platform", "platform_suite.step_cost", ["--pairs", "1", "--steps", "20"]),
)
"""Name, module, arguments; the most wanted first, in case the time runs out."""


def main() -> int:
    """Run the benchmarks. Returns the exit status: 1 if one of them failed."""
    arguments = _parser().parse_args()
    began, folder = time.monotonic(), arguments.json or CACHE / "results"
    found: dict[str, dict[str, Any]] = {}
    failed = []
    for name, script, options in STEPS:
        if time.monotonic() - began > arguments.minutes * 60:
            say(f"== {name}: left out, {arguments.minutes:g} minutes are over")
        else:
            say(f"== {name}")
            further = [*(_peer(arguments) if script == "ppo.speed" else []), "--cache", str(arguments.cache)]
            figures = _step(name, script, [*options, *further], folder)
            failed += [] if figures else [name]
            found |= figures
    print(f"\n{table(found)}\n{(time.monotonic() - began) / 60:.1f} minutes; every figure is in {folder}")
    write_json(summary(found), folder / "summary.json")
    if failed:
        say(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


def _step(name: str, script: str, options: list[str], folder: Path) -> dict[str, dict[str, Any]]:
    """One benchmark in a process of its own; nothing where it failed, which does not end the others."""
    target = folder / f"{name.replace(', ', '-').replace(' ', '-')}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", f"benchmarks.{script}", *options, "--json", str(target)]
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        say(f"== {name} failed")
        return {}
    return {name: json.loads(target.read_text())}


def _peer(arguments: argparse.Namespace) -> list[str]:
    if arguments.peer == "none" or not arguments.peer_script.is_file():
        say("without the peer: ours alone")
        return ["--peer", "none"]
    python = ["--peer-python", str(arguments.peer_python)] if arguments.peer_python else []
    return ["--peer-script", str(arguments.peer_script), *python]


def summary(found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The figures that have goals."""
    wanted = ("speedup", "speedup_tokens", "memory_ratio")
    figures: dict[str, Any] = {name: {key: one[key] for key in wanted if key in one} for name, one in found.items()}
    if "2 processes" in found:
        figures["2 processes"]["apart (weights)"] = found["2 processes"]["apart"]["weights"]
    if share := found.get("share of the ceiling"):
        figures["share of the ceiling"] = {"train_share": share["sizes"]["28m"]["train_share"]}
    return figures


def table(found: dict[str, dict[str, Any]]) -> str:
    rows: list[tuple[str, ...]] = [("", "figure", "value")]
    for name, figures in summary(found).items():
        rows += [(name, key, f"{value:.3g}") for key, value in figures.items()]
    return columns(rows)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="All CPU benchmarks, briefly, and a summary.")
    parser.add_argument("--json", type=path, metavar="FOLDER", help="where the JSON goes (default out/bench/results)")
    parser.add_argument("--minutes", type=float, default=13, help="after which no further one begins")
    parser.add_argument("--cache", type=path, default=CACHE)
    parser.add_argument("--peer", choices=("trl", "none"), default="trl")
    parser.add_argument("--peer-python", type=path)
    parser.add_argument("--peer-script", type=path, default=PEER_SCRIPT)
    return parser


if __name__ == "__main__":
    sys.exit(main())
