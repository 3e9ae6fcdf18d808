"""Where the benchmarks keep things, and which Python runs the trainer. Torch-free, as is whatever starts the runs: a
process that is started inherits the memory high-water mark of the one that starts it."""

import importlib.util
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "out" / "bench"
"""Models, the peer's virtual environment and results; git ignores it."""
PEER_SCRIPT = ROOT.parent / "shared" / "bench" / "trl_ppo.py"


def trainer_python() -> str:
    """This Python where it has torch, else the one that `make setup` made. Ends the program where there is neither."""
    own = ROOT / ".venv" / "bin" / "python"
    if importlib.util.find_spec("torch") is not None:
        return sys.executable
    if own.exists():
        return str(own)
    sys.exit("The trainer needs torch, and this Python has none: run `make setup` first.")


def say(text: str) -> None:
    """A line of progress, on stderr: stdout is for results."""
    print(text, file=sys.stderr, flush=True)


def path(text: str) -> Path:
    """The absolute path of an argument, because the runs have another working directory.

    Links are kept, because a virtual environment's Python is one.
    """
    return Path(text).absolute()


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor() -> str:
    """The processor's name, or "unknown"."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def write_json(figures: Mapping[str, Any], target: Path | None) -> None:
    """Nothing where no file is named."""
    if target is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(figures, indent=1) + "\n")
