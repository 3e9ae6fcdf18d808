"""How fast a file of preferences is checked and converted on one core: `python -m benchmarks.datasets.validation`.

Pairs as many and as long as hh-rlhf's (benchmarks/datasets/pairs.py), written as other people write them. `check` is what every
record passes: JSON, each key once, no NaN, no NUL, no half of a surrogate pair, nesting and sizes within their bounds.
`convert` is the whole import: that, the format's mapping, the canonical form, and the rows with their index and sum on disk.
Both are in MB (10^6 bytes of the unpacked file) a second, in one process with one thread. They are measured by the clock, and
as `_cpu` by processor time, which does not depend on other users of the machine. Memory is the process's highest.
"""

import argparse
import gzip
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.datasets import pairs
from benchmarks.measuring.places import CACHE, ROOT, processor, say, write_json

Row = dict[str, Any]


@dataclass(frozen=True)
class _Seconds:
    """By the clock, and of the processor."""

    wall: float
    cpu: float

    def __sub__(self, other: "_Seconds") -> "_Seconds":
        return _Seconds(self.wall - other.wall, self.cpu - other.cpu)

    def speeds(self, name: str, size: int) -> dict[str, float]:
        return {f"{name}_MB_s": round(size / self.wall / 1e6, 1), f"{name}_MB_s_cpu": round(size / self.cpu / 1e6, 1)}


def _now() -> _Seconds:
    return _Seconds(time.perf_counter(), time.process_time())


def _talk(row: Row, answer: str) -> list[dict[str, str]]:
    return [*row["prompt"], {"role": "assistant", "content": answer}]


def _text(row: Row, answer: str) -> str:
    names = {"user": "Human", "assistant": "Assistant"}
    return "".join(f"\n\n{names[message['role']]}: {message['content']}" for message in _talk(row, answer))


WRITTEN: dict[str, Callable[[Row], Row]] = {
    "rows": lambda row: row,
    "hh_rlhf": lambda row: {"chosen": _text(row, row["a"]), "rejected": _text(row, row["b"])},
    "trl_conversational": lambda row: {"chosen": _talk(row, row["a"]), "rejected": _talk(row, row["b"])},
    "trl_explicit": lambda row: {"prompt": _text(row, ""), "chosen": row["a"], "rejected": row["b"]},
}


def main(argv: list[str] | None = None) -> dict[str, Any]:
    """Measure, print, write the JSON; return what it holds."""
    arguments = _parser().parse_args(argv)
    if arguments.one is not None:
        return _one(Path(arguments.one), arguments.cache / "scratch")
    folder = arguments.cache / "validation"
    rows = folder / f"rows-{arguments.rows}.jsonl"
    say(f"writing {arguments.rows} rows")
    pairs.write(rows, arguments.rows)
    figures: dict[str, Any] = {"rows": arguments.rows, "machine": {"processor": processor()}, "files": {}}
    for file in _files(rows, folder):
        rounds = [_in_a_process(file, arguments.cache) for _ in range(arguments.rounds)]
        figures["files"][file.name] = {name: max(one[name] for one in rounds) for name in rounds[0]}
        say(f"{file.name}: {figures['files'][file.name]}")
    write_json(figures, arguments.json)
    print(json.dumps(figures, indent=1))
    return figures


def _files(rows: Path, folder: Path) -> Iterator[Path]:
    """The rows in each format, and hh-rlhf's in other containers too."""
    for name, say_it in WRITTEN.items():
        target = folder / f"{name}-{rows.stem}.jsonl"
        if not target.exists():
            with rows.open() as source, target.open("w") as file:
                file.writelines(json.dumps(say_it(json.loads(line)), ensure_ascii=False) + "\n" for line in source)
        yield target
    lines = folder / f"hh_rlhf-{rows.stem}.jsonl"
    packed, array = lines.with_suffix(".jsonl.gz"), lines.with_suffix(".json")
    if not packed.exists():
        with lines.open("rb") as plain, gzip.open(packed, "wb", 6) as small:
            shutil.copyfileobj(plain, small)
    if not array.exists():
        with lines.open() as source, array.open("w") as file:
            indented = (json.dumps(json.loads(line), ensure_ascii=False, indent=2) for line in source)
            file.writelines(f"{'[' if number == 0 else ','}\n{text}" for number, text in enumerate(indented))
            file.write("\n]\n")
    yield packed
    yield array


def _in_a_process(file: Path, cache: Path) -> dict[str, float]:
    """Measure in a new process on one core, without memory or caches of earlier measurements."""
    command = [sys.executable, "-m", "benchmarks.datasets.validation", "--one", str(file), "--cache", str(cache)]
    answer = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    figures: dict[str, float] = json.loads(answer.stdout)
    return figures


def _one(file: Path, scratch: Path) -> dict[str, Any]:
    from core.datasets.row_store import drafting
    from data.convert import convert
    from data.detect import detect
    from data.files.opened import opened
    from data.files.streams import Limits
    from data.plan import make_plan

    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    limits, size = Limits(), 0
    began = _now()
    with opened(lambda: file.open("rb"), file.name, limits) as found:
        for _, _, raw in found.records(None):
            size += len(raw or b"") + 1
    checked = _now() - began
    plan = make_plan(detect(lambda: file.open("rb"), file.name, limits), kind="preferences")
    began = _now()
    with drafting(scratch) as out:
        made = convert(lambda: file.open("rb"), file.name, plan, limits, out)
        out.finish()
    converted = _now() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures: dict[str, Any] = {"MB": round(size / 1e6, 1), "records": made.records, "peak_MiB": round(peak, 1)}
    figures |= checked.speeds("check", size) | converted.speeds("convert", size)
    print(json.dumps(figures))
    return figures


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--rounds", type=int, default=3, help="of which the best is kept")
    parser.add_argument("--cache", type=lambda text: Path(text).absolute(), default=CACHE)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    main()
