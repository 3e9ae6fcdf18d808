"""How much of the machine a run of ours uses: measured ceilings and floors on paper, `python -m benchmarks.ppo.machine`.

The ceilings are measured before and after each run, so that the share holds while the machine's speed drifts.
"""

import argparse
import json
import os
import subprocess
from statistics import fmean, median
from typing import Any

from benchmarks.measuring.places import CACHE, ROOT, cores, path, processor, say, trainer_python, write_json
from benchmarks.ppo import floors, models, ours
from benchmarks.ppo.compare import columns, of_iterations
from benchmarks.ppo.runs import Run
from benchmarks.ppo.settings import Settings
from benchmarks.ppo.sizes import SIZES, Size


def main(argv: list[str] | None = None) -> dict[str, Any]:
    """Measure each size, print the table, write the JSON; return what the JSON holds."""
    arguments = _parser().parse_args(argv)
    threads = arguments.threads or cores()
    figures: dict[str, Any] = {"machine": {"cores": cores(), "processor": processor()}, "threads": threads, "sizes": {}}
    for name in arguments.size:
        figures["sizes"][name] = _measure(SIZES[name], threads, arguments)
    print(_table(figures["sizes"]))
    write_json(figures, arguments.json)
    return figures


def _measure(size: Size, threads: int, arguments: argparse.Namespace) -> dict[str, Any]:
    settings = Settings(size, arguments.iterations or size.iterations, threads, full_length=arguments.full_length)
    found = models.ready(size, arguments.cache, settings.full_length or size.full_length, threads)
    before, rounds = ceilings(size, threads), []
    for number in range(arguments.rounds):
        run = ours.run(settings, found, arguments.cache / "runs" / f"machine-{size.name}-{os.getpid()}-{number}")
        after = ceilings(size, threads)
        rounds.append(shares(size, found, run, [before, after]))
        say(
            f"{size.name}, round {number + 1} of {arguments.rounds}: train at {rounds[-1]['train_share']:.0%} of the ceiling"
        )
        before = after
    return summary(rounds)


def ceilings(size: Size, threads: int) -> dict[str, Any]:
    """The ceilings of the machine right now, measured by a separate process."""
    tokens = str(size.batch // size.minibatches * 45)
    command = [trainer_python(), "-m", "benchmarks.ppo.ceilings", "--threads", str(threads), "--device", size.device]
    done = subprocess.run(
        [*command, "--size", size.name, "--tokens", tokens], cwd=ROOT, capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def shares(size: Size, found: models.Models, run: Run, measured: list[dict[str, Any]]) -> dict[str, Any]:
    """The share of the ceilings around a run that it reached, over the real tokens' work."""
    tokens = of_iterations(run, lambda it: it.tokens) / size.batch
    batch = floors.Batch(size.batch, found.prompt_tokens, tokens)
    least = floors.iteration(size.shape, found.vocab, batch, size.epochs, adapters=size.lora)
    rate = fmean(one["matrix_flops"] for one in measured)
    bandwidth = fmean(one["bandwidth_bytes"] for one in measured)
    read = floors.decode_bytes(size.shape, found.vocab, batch, 2 if size.dtype == "bfloat16" else floors.FLOAT)
    figures: dict[str, Any] = {
        "parameters": floors.parameters(size.shape, found.vocab),
        "response_tokens": tokens,
        "matrix_gflops": rate / 1e9,
        "bandwidth_gb": bandwidth / 1e9,
        "shapes_gflops": {
            k: fmean(one["shapes_flops"][k] for one in measured) / 1e9 for k in measured[0]["shapes_flops"]
        },
    }
    for phase, work in vars(least).items():
        seconds = of_iterations(run, lambda it, phase=phase: getattr(it, phase))  # type: ignore[misc]
        floor = work / rate
        figures |= {f"{phase}_s": seconds, f"{phase}_floor_s": floor, f"{phase}_share": floor / seconds}
    figures |= {"decode_floor_s": read / bandwidth, "decode_share": read / bandwidth / figures["rollout_s"]}
    figures["foreign_cores"] = run.foreign_cores
    return figures


def summary(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians over the rounds, and each round."""
    numbers = [key for key, value in rounds[0].items() if isinstance(value, int | float)]
    return {key: median(one[key] for one in rounds) for key in numbers} | {"rounds": rounds}


def _table(found: dict[str, dict[str, Any]]) -> str:
    rows = [("", "parameters", "matrix GFLOP/s", "phase", "measured s", "floor s", "share")]
    for name, one in found.items():
        for phase in ("rollout", "score", "train"):
            first = (
                (name, f"{one['parameters'] / 1e6:.2f} M", f"{one['matrix_gflops']:.0f}")
                if phase == "rollout"
                else ("",) * 3
            )
            rows.append(
                (
                    *first,
                    phase,
                    f"{one[f'{phase}_s']:.3f}",
                    f"{one[f'{phase}_floor_s']:.3f}",
                    f"{one[f'{phase}_share']:.0%}",
                )
            )
        rows.append(
            (
                "",
                "",
                "",
                "decode bytes",
                f"{one['rollout_s']:.3f}",
                f"{one['decode_floor_s']:.3f}",
                f"{one['decode_share']:.0%}",
            )
        )
    return columns(rows)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="The machine's ceilings, the floors on paper, and how near a run comes."
    )
    parser.add_argument("--size", choices=SIZES, nargs="+", default=["3m", "28m"])
    parser.add_argument("--rounds", type=int, default=3, help="runs of each size, ceilings measured around each")
    parser.add_argument("--iterations", type=int)
    parser.add_argument("--threads", type=int, help="default: one per core")
    parser.add_argument("--full-length", action="store_true")
    parser.add_argument("--json", type=path)
    parser.add_argument("--cache", type=path, default=CACHE)
    return parser


if __name__ == "__main__":
    main()
