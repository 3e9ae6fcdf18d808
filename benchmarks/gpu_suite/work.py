"""The work of each part, in a process of its own that holds torch. Each function returns its figures.

The suite imports this file too, on a machine where packages may be missing. Functions therefore import them themselves.
"""

import importlib.util
import json
import os
import platform
import resource
import signal
import subprocess
import sys
import time
import tomllib
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.gpu_suite.options import Option, option_spec, start_spec
from benchmarks.measuring.device_memory import DeviceWatch
from benchmarks.measuring.places import PEER_SCRIPT, ROOT, cores, processor
from benchmarks.measuring.schedule import Broken, Place, Skipped
from benchmarks.peer import trl_ppo
from benchmarks.ppo import compare, floors, machine, models, ours, runs
from benchmarks.ppo.settings import Settings
from benchmarks.ppo.sizes import SIZES, Shape, Size

REQUIRED = ("torch", "transformers", "accelerate", "peft", "pydantic", "safetensors")
"""The packages that the trainer needs."""
_OTHERS = (
    "numpy",
    "triton",
    "pytest",
    "hypothesis",
    "vllm",
    "bitsandbytes",
    "torchao",
    "trl",
    "tokenizers",
    "huggingface_hub",
)
_DENSE_BF16 = {"H100": 989e12, "H200": 989e12, "A100": 312e12}
"""Floating-point operations a second of the tensor cores without sparsity, by NVIDIA's datasheets of the SXM modules."""
_REPORTING = 10.0
"""Seconds that pytest has for its report after it was interrupted."""
_SQUARE = {"cuda": 8192, "cpu": 256}
REHEARSED = {
    "0.5b": Size("0.5b", Shape(32, 2, 4, 64), 8, 12, epochs=1, minibatches=2, trained=False, full_length=True,
                 sft_steps=4, sft_batch=16, reward_steps=1),
    "7b-lora": Size("7b-lora", Shape(32, 2, 4, 64, tied=False), 8, 12, epochs=1, minibatches=2, trained=False,
                    full_length=True, sft_steps=4, sft_batch=16, reward_steps=1, lora=True, dtype="bfloat16"),
}  # fmt: skip
"""Stand-ins of the measured sizes for a CPU."""


def environment(place: Place) -> dict[str, Any]:
    """The machine and its packages. `missing`: required packages that are not importable."""
    figures: dict[str, Any] = {
        "python": platform.python_version(),
        "cores": cores(),
        "processor": processor(),
        "versions": {name: _version(name) for name in (*REQUIRED, *_OTHERS)},
        "missing": [name for name in REQUIRED if importlib.util.find_spec(name) is None],
        "nvidia_smi": _nvidia_smi(),
        "device": "cpu",
    }
    if "torch" in figures["missing"]:
        return figures
    import torch

    figures["torch_build"] = {"cuda": torch.version.cuda, "git": torch.version.git_version}
    if torch.cuda.is_available():
        found = torch.cuda.get_device_properties(0)
        figures["device"] = "cuda"
        figures["gpus"] = torch.cuda.device_count()
        figures["gpu"] = {
            "name": found.name,
            "memory_bytes": found.total_memory,
            "multiprocessors": found.multi_processor_count,
            "capability": list(torch.cuda.get_device_capability(0)),
        }
    return figures


def ceilings(place: Place) -> dict[str, Any]:
    """The highest rates of the machine."""
    return _ceilings(place.device)


def start(place: Place) -> dict[str, Any]:
    """The policy and the reward model that the options begin with, by SFT and a reward model on this device."""
    run_dir = place.cache / "start"
    return _run(start_spec(place.device, place.rehearsal), place, run_dir, stage="reward_model")


def option(option: Option, place: Place) -> dict[str, Any]:
    """A few iterations of PPO with one option."""
    _require(option, place)
    start = place.cache / "start" / "checkpoints"
    if not (start / "reward_model").exists():
        raise Skipped("the run that makes its models did not end")
    spec = option_spec(option, start, place.device, place.rehearsal)
    return _run(spec, place, place.folder / "run", stage="ppo")


def demo(place: Place) -> dict[str, Any]:
    """The demo's whole pipeline on this device, by its own data and spec, and what it learnt."""
    from examples.reviews import generate

    amounts = {"reviews": 300, "pairs": 300} if place.rehearsal else {}
    files = generate.write(place.folder / "data", 0, **amounts)
    spec = tomllib.loads((ROOT / "examples" / "reviews" / "demo.toml").read_text(encoding="utf-8"))
    spec["data"] |= {name: str(path) for name, path in files.items()}
    spec["runtime"] = {"device": place.device, "threads": "auto"}
    if place.rehearsal:
        spec["runtime"]["threads"] = 1
        spec["sft"]["epochs"] = 1
        spec["ppo"] |= {"steps": 1, "batch_size": 16, "epochs": 1, "eval_every": 1}
        spec["evaluation"]["prompts"] = 16
    return _run(spec, place, place.folder / "run", stage="ppo")


def benchmark(name: str, place: Place) -> dict[str, Any]:
    """PPO at that size: seconds, tokens a second, shares of the machine's ceilings, memory beside the preflight's estimate."""
    size, found = _size(name, place)
    settings = Settings(size, size.iterations, 1 if place.rehearsal else cores())
    spec = place.folder / "spec.json"
    spec.write_text(json.dumps(ours.spec(settings, found), indent=1), encoding="utf-8")
    before = _ceilings(place.device)
    began = time.perf_counter()
    with DeviceWatch(place.device) as watch:
        _trainer("run", str(spec), "--run-dir", str(place.folder / "run"))
    wall, events = time.perf_counter() - began, place.folder / "run" / "events.jsonl"
    iterations = runs.from_events(events, size.batch)
    run = runs.Run(
        ours.SYSTEM, iterations[: settings.iterations], runs.counted(iterations, settings.iterations, last_too=True),
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 0.0, wall, 0.0, watch.peak_mib,
    )  # fmt: skip
    after = _ceilings(place.device)
    figures = _speed(size, found, run, [before, after])
    figures["iterations"] = [vars(one) for one in iterations]
    figures["messages"] = _messages(events)
    report = place.folder / "check.json"
    _trainer("check", str(spec), "--json", str(report))
    return figures | {"memory": _memory(report, events, place.device, watch.peak_mib)}


def trl(place: Place) -> dict[str, Any]:
    """TRL's PPO at the size 0.5b by the script that drives it, where both are here."""
    if place.rehearsal:
        raise Skipped("a rehearsal does not measure the peer")
    if importlib.util.find_spec("trl") is None:
        raise Skipped("trl is not importable here")
    if not PEER_SCRIPT.is_file():
        raise Skipped(f"the peer's script is not at {PEER_SCRIPT.name} in the shared folder")
    size, found = _size("0.5b", place)
    settings = Settings(size, size.iterations, cores())
    return compare.system([trl_ppo.run(settings, found, place.folder / "peer", Path(sys.executable), PEER_SCRIPT)])


def pytest_part(paths: tuple[str, ...], place: Place) -> dict[str, Any]:
    """The tests in those paths: how many passed. Raises Broken, with the names of those that failed, where some did.

    pytest is interrupted shortly before the part's time is over, so that it reports the tests that were run until then.
    A file whose imports are missing is one failed test.
    """
    if importlib.util.find_spec("pytest") is None:
        raise Skipped("pytest is not importable here")
    told = place.folder / "junit.xml"
    plugins = [name for name in ("pytest_timeout", "xdist") if importlib.util.find_spec(name) is not None]
    command = [sys.executable, "-m", "pytest", *paths, "-m", "not slow", "-q", "-p", "no:cacheprovider"]
    command.append("--continue-on-collection-errors")
    command += [f"--junitxml={told}", f"--basetemp={place.folder / 'tmp'}"]
    for plugin in plugins:
        command += ["-p", "xdist.plugin" if plugin == "xdist" else plugin]
    if "xdist" in plugins and cores() > 2 and not place.rehearsal:
        command += ["-n", str(min(12, cores() - 2))]
    if "pytest_timeout" not in plugins:
        command += ["--override-ini=timeout=", "-W", "ignore::pytest.PytestConfigWarning"]
    # other plugins of the machine warn, and the tests take a warning for an error
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "OMP_NUM_THREADS": "1"}
    status = _until_interrupted(command, environment, place.seconds - _REPORTING)
    figures: dict[str, Any] = {"exit_status": status, "plugins": plugins} | (_counts(told) if told.exists() else {})
    if status not in (0, 1, 2):
        raise Broken(f"pytest ended with {status}", figures)
    if status == 2:
        figures["begun"] = figures.pop("passed", 0)  # the interrupted ones are among them
        raise Broken(f"not all tests were run within {place.seconds:.0f} s", figures)
    if status:
        raise Broken(f"{len(figures.get('failed', []))} tests failed", figures)
    return figures


def _until_interrupted(command: list[str], environment: dict[str, str], seconds: float) -> int:
    """Run a program and return its exit status; after `seconds` it gets the signal of Ctrl-C.

    A shell lets its background jobs ignore that signal, which a program inherits.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(command, cwd=ROOT, env=environment) as process:
        try:
            return process.wait(max(0.0, seconds))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            return process.wait()


def _run(spec: dict[str, Any], place: Place, run_dir: Path, stage: str) -> dict[str, Any]:
    """The trainer on that spec; the figures of `stage`, of its first and its last step."""
    path = place.folder / "spec.json"
    path.write_text(json.dumps(spec, indent=1), encoding="utf-8")
    verb = "launch" if spec.get("resources", {}).get("processes", 1) > 1 else "run"
    _trainer(verb, str(path), "--run-dir", str(run_dir))
    events = run_dir / "events.jsonl"
    with events.open(encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    steps = [event["values"] for event in found if event["type"] == "metrics" and event["stage"] == stage]
    learnt = [values for values in steps if any(name.startswith("time/") for name in values)] or steps
    finished = next(event for event in found if event["type"] == "run_finished")
    return {
        "seconds": finished["seconds"],
        "summary": finished["summary"],
        "messages": _messages(events),
        "first": learnt[0],
        "last": learnt[-1],
    }


def _trainer(*arguments: str) -> None:
    """The trainer's own command, in this process. Raises RuntimeError where it does not end well."""
    from trainer.cli import main

    status = main(list(arguments))
    if status:
        raise RuntimeError(f"`python -m trainer {arguments[0]}` ended with {status}")


def _messages(events: Path) -> list[str]:
    """Warnings, errors and findings of the run: a failed capture is one."""
    told = []
    with events.open(encoding="utf-8") as lines:
        for event in map(json.loads, lines):
            if event["type"] == "message" and event["level"] != "info":
                told.append(event["text"])
            if event["type"] == "health":
                told.append(f"{event['rule']}: {event['cause']}")
    return told


def _require(option: Option, place: Place) -> None:
    missing = [name for name in option.needs if importlib.util.find_spec(name) is None]
    if missing:
        raise Skipped(f"{', '.join(missing)} is not importable here")
    if place.rehearsal and not option.rehearsed:
        raise Skipped("left out of a rehearsal")
    if option.devices:
        import torch

        if torch.cuda.device_count() < option.devices:
            raise Skipped(f"it takes {option.devices} GPUs, and there are {torch.cuda.device_count()}")


def _size(name: str, place: Place) -> tuple[Size, models.Models]:
    """The size and its models, of random weights. Few iterations: each takes seconds."""
    from benchmarks.ppo import variants

    size = REHEARSED[name] if place.rehearsal else replace(SIZES[name], reward_steps=4, device=place.device)
    size = replace(size, iterations=1 if place.rehearsal else 3, device=place.device)
    return size, models.ready(size, place.cache, variants=variants.make)


def _speed(size: Size, found: models.Models, run: runs.Run, measured: list[dict[str, Any]]) -> dict[str, Any]:
    """Shares of the ceilings that were measured just before and after, and of the datasheet's peak (`train_mfu`)."""
    for one in measured:
        one.setdefault("shapes_flops", {})
    figures = machine.shares(size, found, run, measured)
    batch = floors.Batch(size.batch, found.prompt_tokens, figures["response_tokens"])
    work = floors.iteration(size.shape, found.vocab, batch, size.epochs, adapters=size.lora)
    seconds = compare.seconds(run)
    figures |= {
        "iteration_s": seconds,
        "tokens_per_s": compare.tokens_per_second(run),
        "decode_tokens_per_s": size.batch * figures["response_tokens"] / figures["rollout_s"],
        "train_tflops": work.train / figures["train_s"] / 1e12,
        "peak_rss_mib": run.peak_rss_mib,
        "peak_device_mib": run.peak_device_mib,
        "run_s": run.wall_seconds,
    }
    peak = _datasheet_peak()
    return figures | ({} if peak is None else {"train_mfu": work.train / figures["train_s"] / peak})


def _memory(report: Path, events: Path, device: str, peak_mib: float | None) -> dict[str, Any]:
    """The preflight's estimates beside what was measured: phase by phase, and of the whole process by the driver."""
    from benchmarks.ppo import memory
    from trainer.preflight.report import MemoryReport

    estimate = MemoryReport.model_validate(json.loads(report.read_text(encoding="utf-8"))["memory"])
    whole = (estimate.peak().expected + estimate.runtime) / 2**20
    found: dict[str, Any] = {
        "phases": memory.compare(estimate, memory.measured_peaks(events), device),
        "preflight_peak_mib": whole,
    }
    if peak_mib:
        found |= {"driver_peak_mib": peak_mib, "ratio": whole / peak_mib}
    return found


def _ceilings(device: str) -> dict[str, Any]:
    import torch

    from benchmarks.ppo.ceilings import bandwidth, matrix_rate

    where, square = torch.device(device), _SQUARE[device]
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    return {
        "matrix_flops": matrix_rate(square, square, square, dtype, where),
        "bandwidth_bytes": bandwidth(where, 4096 if device == "cuda" else 64),
    }


def _datasheet_peak() -> float | None:
    import torch

    name = torch.cuda.get_device_name(0) if torch.cuda.is_available() else ""
    return next((rate for kind, rate in _DENSE_BF16.items() if kind in name), None)


def _nvidia_smi() -> str | None:
    try:
        done = subprocess.run(["nvidia-smi"], capture_output=True, text=True, check=False, timeout=20)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return None
    return done.stdout


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _counts(junit: Path) -> dict[str, Any]:
    """The figures of a report by pytest."""
    cases = ElementTree.parse(junit).getroot().findall(".//testcase")
    kinds = {"failed": ("failure", "error"), "skipped": ("skipped",)}
    found: dict[str, list[str]] = {kind: [] for kind in kinds}
    for case in cases:
        for kind, tags in kinds.items():
            if any(case.find(tag) is not None for tag in tags):
                found[kind].append(f"{case.get('classname')}::{case.get('name')}")
    broken = len(found["failed"]) + len(found["skipped"])
    return {"passed": len(cases) - broken, "failed": found["failed"], "skipped": len(found["skipped"])}
