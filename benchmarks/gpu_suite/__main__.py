"""The command: `python -m benchmarks.gpu_suite --json FILE`. It holds no torch; its parts do."""

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.gpu_suite import plug_ins, work
from benchmarks.gpu_suite.options import OPTIONS
from benchmarks.measuring.places import path, say, write_json
from benchmarks.measuring.schedule import Outcome, Part, Schedule

MINUTES = 9.0
_AT_ONCE = {"cuda": 5, "cpu": 2}
"""Small runs side by side: most of their time is a processor's."""
_TESTS = tuple(
    f"tests/trainer/{name}"
    for name in (
        "sampling",
        "rollout",
        "ppo",
        "optim",
        "models/lora",
        "distributed",
        "run",
        "stages",
        "rewards",
        "preflight",
    )
)
_GRAPHS_AND_SLICES = ("tests/trainer/sampling/test_graphs.py", "tests/trainer/distributed/test_sharding.py")
"""They hold the tests that need a GPU: captures after all graphs of a pool are gone, and the memory of a model while it is sliced."""
_ENVIRONMENT = Part("environment", work.environment, 60)


def parts(rehearsal: bool) -> list[Part]:
    """All of them but the environment, the most wanted first."""
    tests = ("tests/trainer/optim/test_moments.py",) if rehearsal else _TESTS
    return [
        Part("ceilings", work.ceilings, 60),
        Part("models of the options", work.start, 60),
        *(Part(option.name, partial(work.option, option), 75, shared=True) for option in OPTIONS),
        Part("graphs and slices", partial(work.pytest_part, _GRAPHS_AND_SLICES), 60),
        Part("demo", work.demo, 120, shared=True),
        Part("0.5b", partial(work.benchmark, "0.5b"), 130),
        Part("7b-lora", partial(work.benchmark, "7b-lora"), 200),
        Part("tests", partial(work.pytest_part, tests), 120),
        Part("trl 0.5b", work.trl, 150),
    ]


def main(argv: list[str] | None = None) -> dict[str, Any]:
    """Run every part, print one line each, write the JSON after each; return what the JSON holds."""
    arguments = _parser().parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that no part outlives this process
    folder = Path(tempfile.mkdtemp(prefix="gpu-suite-"))
    _prepare(folder)
    record = Record(arguments.json, arguments.minutes, arguments.rehearse)
    schedule = Schedule(
        folder,
        time.monotonic() + arguments.minutes * 60,
        1,
        record.take,
        preload=("benchmarks.gpu_suite.work", "trainer.run.process", "benchmarks.ppo.variants"),
    )
    try:
        schedule.run([_ENVIRONMENT], "cpu", arguments.rehearse)
        device = "cpu" if arguments.rehearse else record.device
        record.rehearsed = device == "cpu"
        schedule.at_once = _AT_ONCE[device]
        schedule.run(parts(record.rehearsed), device, record.rehearsed)
    finally:
        if arguments.keep:
            say(f"the runs are in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return record.figures()


class Record:
    """Every part's outcome so far, in a file after each."""

    def __init__(self, target: Path | None, minutes: float, rehearsed: bool) -> None:
        self._target, self._minutes, self.rehearsed = target, minutes, rehearsed
        self._began, self._started = time.monotonic(), datetime.now(UTC)
        self._outcomes: list[Outcome] = []

    @property
    def device(self) -> str:
        """The device that the environment's part found. If that part failed, "cuda" on a machine with NVIDIA's driver."""
        found = self._outcomes[0].figures.get("device") if self._outcomes else None
        return str(found or ("cuda" if shutil.which("nvidia-smi") else "cpu"))

    def take(self, outcome: Outcome) -> None:
        self._outcomes.append(outcome)
        say(f"{outcome.status:8} {outcome.seconds:6.1f} s  {outcome.name}{_because(outcome)}")
        write_json(self.figures(), self._target)

    def figures(self) -> dict[str, Any]:
        by_status: dict[str, list[str]] = {}
        for outcome in self._outcomes:
            by_status.setdefault(outcome.status, []).append(outcome.name)
        return {
            "started": self._started.isoformat(timespec="seconds"),
            "seconds": round(time.monotonic() - self._began, 1),
            "budget_s": self._minutes * 60,
            "rehearsed": self.rehearsed,
            "summary": by_status,
            "parts": [outcome.as_json() for outcome in self._outcomes],
        }


def _because(outcome: Outcome) -> str:
    return "" if outcome.reason is None else f": {outcome.reason.splitlines()[0][:200]}"


def _prepare(folder: Path) -> None:
    """Set the environment of all parts: no network, and the plug-ins of examples/."""
    os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    if not plug_ins.are_installed():
        declared = str(plug_ins.write_metadata(folder / "plug-ins"))
        sys.path.append(declared)
        os.environ["PYTHONPATH"] = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), declared])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu_suite", description="Prove the GPU path, in minutes."
    )
    parser.add_argument("--json", type=path, required=True, help="every figure, written after each part")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="of all parts together (default 9)")
    parser.add_argument("--rehearse", action="store_true", help="tiny sizes on the CPU, as without a GPU")
    parser.add_argument("--keep", action="store_true", help="keep the runs' folders, and print where they are")
    return parser


if __name__ == "__main__":
    main()
