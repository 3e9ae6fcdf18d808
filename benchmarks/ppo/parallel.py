"""Two processes with a thread each against one process with one thread, in turn: `python -m benchmarks.ppo.parallel`.

Beside the ratio of times stands how far the two runs' figures and weights lie apart: more processes are to change the time,
not the result.
"""

import argparse
import os
import shutil
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.measuring.places import CACHE, path, say, write_json
from benchmarks.ppo import compare, models, ours
from benchmarks.ppo.runs import Run
from benchmarks.ppo.settings import Settings
from benchmarks.ppo.sizes import SIZES


def main(argv: list[str] | None = None) -> dict[str, Any]:
    """Measure, print, write the JSON; return what the JSON holds."""
    arguments = _parser().parse_args(argv)
    size = SIZES[arguments.size]
    # The weights must move, else they would show no difference in the gradients. At a rate of 3e-4 the policy's responses
    # become almost empty within three iterations, and too little work is left to divide.
    settings = Settings(size, arguments.iterations or size.iterations, 1, rate=1e-5)
    found = models.ready(size, arguments.cache)
    alone: list[Run] = []
    together: list[Run] = []
    apart: list[dict[str, float]] = []
    for number in range(arguments.pairs):
        folder = arguments.cache / "runs" / f"parallel-{size.name}-{os.getpid()}-{number}"
        alone.append(ours.run(settings, found, folder / "one", keep=True))
        together.append(ours.run(settings, found, folder / "several", keep=True, processes=arguments.processes))
        apart.append(
            {"weights": weights_apart(folder / "one", folder / "several"), **curves_apart(alone[-1], together[-1])}
        )
        shutil.rmtree(folder)
        say(
            f"pair {number + 1} of {arguments.pairs}: {compare.seconds(alone[-1]) / compare.seconds(together[-1]):.2f} ×"
        )
    ratios = compare.ratios(together, alone, compare.seconds, more_is_better=False)
    figures = {
        "size": size.name,
        "processes": arguments.processes,
        "speedup": median(ratios),
        "speedup_pairs": ratios,
        "one_s": median(map(compare.seconds, alone)),
        "several_s": median(map(compare.seconds, together)),
        "apart": {name: max(one[name] for one in apart) for name in apart[0]},
        "runs": [run.as_json() for run in (*alone, *together)],
    }
    print(_told(figures))
    write_json(figures, arguments.json)
    return figures


def curves_apart(one: Run, other: Run) -> dict[str, float]:
    """Largest difference between the two runs' rewards, and their KLs, over the iterations."""
    pairs = list(zip(one.iterations, other.iterations, strict=True))
    rewards = [abs(a.reward - b.reward) for a, b in pairs if a.reward is not None and b.reward is not None]
    kls = [abs(a.kl - b.kl) for a, b in pairs if a.kl is not None and b.kl is not None]
    return {"reward": max(rewards), "kl": max(kls)}


def weights_apart(one: Path, other: Path) -> float:
    """Largest difference between the weights that two runs ended with, found by another process (see `places`)."""
    files = [str(folder / "run/checkpoints/ppo/model.safetensors") for folder in (one, other)]
    return float(ours.ask(_LARGEST_DIFFERENCE, *files))


_LARGEST_DIFFERENCE = """
import sys
from safetensors.torch import load_file
one, other = map(load_file, sys.argv[1:])
assert one.keys() == other.keys()
print(max(float((one[name] - other[name]).abs().max()) for name in one))
"""


def _told(figures: dict[str, Any]) -> str:
    apart = "  ".join(f"{name} {value:.1e}" for name, value in figures["apart"].items())
    pairs = ", ".join(f"{ratio:.2f}" for ratio in figures["speedup_pairs"])
    return (
        f"{figures['size']}: {figures['processes']} processes {figures['several_s']:.3f} s, one {figures['one_s']:.3f} s "
        f"an iteration: {figures['speedup']:.2f} × ({pairs}); apart at most: {apart}"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Several processes with a thread each against one.")
    parser.add_argument("--size", choices=SIZES, default="3m")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--iterations", type=int)
    parser.add_argument("--json", type=path)
    parser.add_argument("--cache", type=path, default=CACHE)
    return parser


if __name__ == "__main__":
    main()
