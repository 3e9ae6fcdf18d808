"""The peer: TRL's PPOTrainer, in a virtual environment of its own, driven by a script that uses its public API alone."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measuring.places import say, trainer_python
from benchmarks.ppo.models import OFFLINE, Models
from benchmarks.ppo.runs import Finished, Run, counted, from_peer, measured
from benchmarks.ppo.settings import Settings

SYSTEM = "trl"
VERSION = "1.12.0"
"""The last release with PPO: TRL removed the trainer in 1.13."""
_SMALL_TORCH = "download.pytorch.org"


def python_of(cache: Path, given: Path | None) -> Path:
    """The Python that has the peer: the one given, else that of a virtual environment made on first use."""
    if given is not None:
        _require(given)
        return given
    python = cache / "peer" / "bin" / "python"
    if not _has_peer(python):
        _install(cache / "peer")
        _require(python)
    return python


def _has_peer(python: Path) -> bool:
    asked = f"from importlib.metadata import version; assert version('trl') == '{VERSION}'; import torch, transformers"
    return (
        python.exists() and subprocess.run([str(python), "-c", asked], capture_output=True, check=False).returncode == 0
    )


def _require(python: Path) -> None:
    if not _has_peer(python):
        sys.exit(f"{python} cannot import trl {VERSION} with torch and transformers.")


def _install(venv: Path) -> None:
    """torch and transformers at the versions that ours run with, so that the two differ by their trainers alone."""
    say(
        f"making the peer's virtual environment in {venv} (trl {VERSION}; some minutes, once; -> peer-install.log beside it)"
    )
    venv.parent.mkdir(parents=True, exist_ok=True)
    log = venv.parent / "peer-install.log"
    torch, *others = _our_versions()
    pip = [str(venv / "bin" / "python"), "-m", "pip", "install"]
    # Where ours is PyTorch's small build without CUDA, so is the peer's.
    small = (
        ["--extra-index-url", f"https://{_SMALL_TORCH}/whl/cpu"] if "+cpu" in torch and _reachable(_SMALL_TORCH) else []
    )
    with log.open("w") as out:
        for command in (
            [sys.executable, "-m", "venv", "--clear", str(venv)],
            [*pip, torch.partition("+")[0], *small],
            [*pip, torch.partition("+")[0], f"trl=={VERSION}", *others],
        ):
            done = subprocess.run(command, stdout=out, stderr=out, check=False)
            if done.returncode:
                sys.exit(
                    f"`{' '.join(command)}` failed; {log} ends with:\n{log.read_text()[-2000:]}\n"
                    "A Python that has the packages already can be named with --peer-python."
                )


def _our_versions() -> list[str]:
    """The requirements for pip. torch has its build's local part (2.13.0+cpu), which most indexes lack."""
    asked = "from importlib.metadata import version as v; print(*[f'{p}=={v(p)}' for p in ('torch', 'transformers', 'accelerate')])"
    return subprocess.run([trainer_python(), "-c", asked], capture_output=True, text=True, check=True).stdout.split()


def _reachable(host: str) -> bool:
    """pip would try an index that is not there again and again, for every package."""
    try:
        socket.create_connection((host, 443), timeout=3).close()
    except OSError:
        return False
    return True


def run(settings: Settings, models: Models, folder: Path, python: Path, script: Path) -> Run:
    """One run of the peer's script, its report in `folder`."""
    through = [str(Path(__file__).with_name("on_gpu.py"))] if settings.size.device == "cuda" else []
    found, done = train(settings, models, folder, python, [*through, str(script)])
    iterations = from_peer(found)
    return Run(
        SYSTEM,
        iterations,
        counted(iterations, settings.iterations, last_too=not settings.learn),
        done.peak_rss_mib,
        done.cpu_seconds,
        done.wall_seconds,
        done.foreign_cores,
        done.peak_device_mib,
        {name: str(found[name]) for name in ("trl", "torch", "transformers", "threads")},
    )


def train(
    settings: Settings, models: Models, folder: Path, python: Path, program: Sequence[str]
) -> tuple[dict[str, Any], Finished]:
    """Run `program` (the script, behind a wrapper where one is needed); its report, and what the process took."""
    folder.mkdir(parents=True, exist_ok=True)
    report = folder / "peer.json"
    environment = {**OFFLINE, "PYTHONWARNINGS": "ignore"} | (
        {} if settings.size.device == "cuda" else {"CUDA_VISIBLE_DEVICES": ""}
    )
    command = command_for(settings, models, python, program, report)
    done = measured(command, folder / "peer-log.txt", environment, settings.size.device)
    return json.loads(report.read_text()), done


def command_for(settings: Settings, models: Models, python: Path, program: Sequence[str], report: Path) -> list[str]:
    size = settings.size
    values = {
        "--model": models.policy,
        "--reward-model": models.reward,
        "--prompts": models.prompts,
        "--steps": settings.iterations,
        "--batch-size": size.batch,
        "--response-length": size.response,
        "--epochs": size.epochs,
        "--minibatches": size.minibatches,
        "--lr": settings.learning_rate,
        "--lr-schedule": settings.schedule,
        "--kl-coef": settings.kl_coef,
        "--missing-eos-penalty": settings.missing_eos_penalty,
        "--threads": settings.threads,
        "--seed": settings.seed,
        "--out": report,
    }
    flags = ["--bf16"] if size.dtype == "bfloat16" else []
    return [str(python), *program, *(str(x) for pair in values.items() for x in pair), *flags]


def script_at(given: Path) -> Path:
    """The peer's script. Ends the program where it is not."""
    if not given.is_file():
        sys.exit(
            f"The peer's script is not at {os.path.relpath(given)}: name it with --peer-script, or measure ours alone with --peer none."
        )
    return given
