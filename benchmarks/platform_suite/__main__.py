"""The command: `python -m benchmarks.platform_suite --json FILE`, or `make bench-platform JSON=FILE`."""

import argparse
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.measuring.places import cores, path, processor, say, write_json
from benchmarks.measuring.schedule import Outcome, Part, Schedule
from benchmarks.platform_suite.claims import claims, many_claims
from benchmarks.platform_suite.ingest import ingest, sustained_ingest
from benchmarks.platform_suite.large_cluster import large_cluster
from benchmarks.platform_suite.metric_rows import metric_rows
from benchmarks.platform_suite.reading import read_long_run
from benchmarks.platform_suite.streaming import idle_memory, stream_from_worker, stream_to_many

MINUTES = 15.0
PARTS = (
    Part("reading a long run", read_long_run, 420),
    Part("ingest", ingest, 180),
    Part("claims", claims, 180),
    Part("large cluster", large_cluster, 240),
    Part("streaming to many clients", stream_to_many, 120),
    Part("streaming from the worker", stream_from_worker, 90),
    Part("idle memory", idle_memory, 120),
)
"""The measurements, with the seconds after which each is ended."""
LONG_PARTS = (
    Part("sustained ingest", sustained_ingest, 720),
    Part("many claims", many_claims, 480),
    Part("metric rows", metric_rows, 3600),
)
"""Measurements that are made when they are named."""


def main(argv: list[str] | None = None) -> dict[str, Any]:
    """Run the measurements one after another, and write the JSON after each. Returns the content of the JSON."""
    arguments = _parser().parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that no part outlives this process
    wanted = [part for part in (*PARTS, *LONG_PARTS) if part.name in arguments.only]
    folder = Path(tempfile.mkdtemp(prefix="platform-"))
    outcomes: list[Outcome] = []

    def ended(outcome: Outcome) -> None:
        outcomes.append(outcome)
        say(f"{outcome.status:8} {outcome.seconds:6.1f} s  {outcome.name}: {outcome.reason or outcome.figures}")
        write_json(figures(outcomes), arguments.json)

    try:
        schedule = Schedule(folder, time.monotonic() + arguments.minutes * 60, 1, ended)
        schedule.run(wanted, "cpu", arguments.rehearse)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return figures(outcomes)


def figures(outcomes: list[Outcome]) -> dict[str, Any]:
    """The figures of all measurements by name, the machine, and how each measurement ended."""
    found = {name: value for outcome in outcomes for name, value in outcome.figures.items()}
    machine = {"cores": cores(), "processor": processor()}
    return found | {"machine": machine, "parts": [outcome.as_json() for outcome in outcomes]}


def _parser() -> argparse.ArgumentParser:
    usual = [part.name for part in PARTS]
    names = usual + [part.name for part in LONG_PARTS]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.platform_suite", description="Measure the platform.")
    parser.add_argument("--json", type=path, help="write every figure to this file")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="limit for all parts together (default 15)")
    parser.add_argument("--rehearse", action="store_true", help="small sizes, to check that every part works")
    parser.add_argument("--only", nargs="+", choices=names, default=usual, help="measure only these parts")
    return parser


if __name__ == "__main__":
    sys.exit(0 if all(part["status"] == "passed" for part in main()["parts"]) else 1)
