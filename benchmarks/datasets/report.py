"""How long the validation report takes on as many pairs as hh-rlhf has: `python -m benchmarks.datasets.report`.

The rows are written once (benchmarks/datasets/pairs.py). The report is the trainer's own command, with a byte-level BPE
tokenizer. It has 32,000 tokens and is trained on the first rows, or is given by `--tokenizer FOLDER`. Time is the command's,
with start and imports. Memory is the highest sum of the resident memory of its processes.
"""

import argparse
import json
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

from benchmarks.datasets import pairs
from benchmarks.measuring.places import CACHE, ROOT, cores, processor, say, trainer_python, write_json

_MAKE_TOKENIZER = """
import json, sys  # prose: a program, not a text
from trainer.text.codec import train_tokenizer
rows, folder = sys.argv[1:]
def texts():
    with open(rows, encoding="utf-8") as file:
        for line, _ in zip(file, range(10_000)):
            row = json.loads(line)
            yield from (row["a"], row["b"], *(message["content"] for message in row["prompt"]))
train_tokenizer(texts(), 32_000).save_pretrained(folder)
"""
_LOOK_SECONDS = 0.2


def main(argv: list[str] | None = None) -> dict[str, Any]:
    """Measure, print, write the JSON; return what it holds."""
    arguments = _parser().parse_args(argv)
    folder = arguments.cache / "report"
    rows = folder / f"pairs-{arguments.rows}.jsonl"
    say(f"writing {arguments.rows} rows")
    planted = pairs.write(rows, arguments.rows)
    tokenizer = None if arguments.no_tokenizer else arguments.tokenizer or _tokenizer(rows, folder / "bpe-32000")
    settings = {"kind": "preferences", "model": tokenizer and str(tokenizer)}
    (folder / "settings.json").write_text(json.dumps(settings))
    figures: dict[str, Any] = {
        "rows": arguments.rows,
        "bytes": rows.stat().st_size,
        "tokenizer": tokenizer and tokenizer.name,
        "processes": arguments.processes or cores(),
        "machine": {"cores": cores(), "processor": processor()},
        "planted": vars(planted),
    }
    figures["rounds"] = [_measure(rows, folder, arguments.processes) for _ in range(arguments.rounds)]
    report = json.loads((folder / "report.json").read_text())
    figures["found"] = {finding["code"]: finding["count"] for finding in report["findings"]}
    figures["summary"] = report["summary"]
    write_json(figures, arguments.json)
    print(json.dumps(figures, indent=1))
    return figures


def _tokenizer(rows: Path, folder: Path) -> Path:
    if not (folder / "tokenizer.json").exists():
        say("training a tokenizer")
        subprocess.run([trainer_python(), "-c", _MAKE_TOKENIZER, str(rows), str(folder)], cwd=ROOT, check=True)
    return folder


def _measure(rows: Path, folder: Path, processes: int | None) -> dict[str, Any]:
    command = [trainer_python(), "-m", "trainer", "report", str(rows), "--settings", str(folder / "settings.json")]
    command += ["--out", str(folder / "report.json"), "--rows-dir", str(folder / "rows")]
    command += [] if processes is None else ["--processes", str(processes)]
    began, spent = time.perf_counter(), _cpu()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    memory = _Memory(process.pid)
    phases: dict[str, float] = {}
    assert process.stdout is not None
    for line in process.stdout:
        phases[json.loads(line).get("note", "")] = round(time.perf_counter() - began, 2)
    status = process.wait()
    seconds = time.perf_counter() - began
    if status:
        sys.exit(f"The report ended with status {status}.")
    say(f"{seconds:.1f} s, {memory.peak() / 2**20:.0f} MiB")
    cpu = round(_cpu() - spent, 2)
    return {"seconds": round(seconds, 2), "cpu_seconds": cpu, "peak_bytes": memory.peak(), "ends_of_phases": phases}


def _cpu() -> float:
    """CPU seconds of all child processes that have ended. They hardly depend on how busy the machine is."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class _Memory:
    """Looks at a process and its children until it has ended."""

    def __init__(self, pid: int) -> None:
        self._pid, self._peak = pid, 0
        threading.Thread(target=self._look, daemon=True).start()

    def peak(self) -> int:
        return self._peak

    def _look(self) -> None:
        try:
            while True:
                parent = psutil.Process(self._pid)
                everyone = [parent, *parent.children(recursive=True)]
                self._peak = max(self._peak, sum(_resident(process) for process in everyone))
                time.sleep(_LOOK_SECONDS)
        except psutil.NoSuchProcess:
            return


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=pairs.ROWS)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--processes", type=int, help="of the report; left out: one for each core")
    parser.add_argument(
        "--tokenizer", type=lambda text: Path(text).absolute(), help="a folder; left out: one is trained"
    )
    parser.add_argument("--no-tokenizer", action="store_true", help="a report without a model")
    parser.add_argument("--cache", type=lambda text: Path(text).absolute(), default=CACHE)
    parser.add_argument("--json", type=Path)
    return parser


if __name__ == "__main__":
    main()
