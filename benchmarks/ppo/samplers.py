"""The built-in sampler beside vLLM on a CPU, in runs of PPO: `.venv-vllm/bin/python -m benchmarks.ppo.samplers --json FILE`.

`.setup/vllm.py` makes that environment. Both sample the same number of responses from the same weights, in turn.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from statistics import median
from typing import Any

from benchmarks.measuring.places import CACHE, cores, path, processor, say, write_json
from benchmarks.ppo import models, ours
from benchmarks.ppo.runs import Iteration, counted, from_events
from benchmarks.ppo.settings import Settings
from benchmarks.ppo.sizes import SIZES

ENGINES = ("built_in", "vllm")


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """For each size, the response tokens per second of each engine while it samples, and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", nargs="+", default=["3m", "28m"], choices=sorted(SIZES))
    parser.add_argument("--pairs", type=int, default=2, help="runs of each engine (default 2)")
    parser.add_argument("--iterations", type=int, default=4)
    parser.add_argument("--cache", type=path, default=CACHE)
    parser.add_argument("--json", type=path)
    chosen = parser.parse_args(arguments)
    if find_spec("vllm") is None:
        sys.exit("This Python has no vLLM. `.venv/bin/python .setup vllm` makes an environment that has it.")
    sizes = {name: _compared(name, chosen) for name in chosen.size}
    found = {"sizes": sizes, "machine": {"cores": cores(), "processor": processor()}}
    write_json(found, chosen.json)
    return found


def _compared(name: str, chosen: argparse.Namespace) -> dict[str, Any]:
    size = SIZES[name]
    given = models.ready(size, chosen.cache)
    settings = Settings(size, chosen.iterations, cores())
    rates: dict[str, list[float]] = {engine: [] for engine in ENGINES}
    for number in range(chosen.pairs):
        for engine in ENGINES:
            folder = chosen.cache / "samplers" / f"{name}-{engine}"
            spec = ours.spec(settings, given)
            spec["ppo"]["rollout"] = {"engine": engine}
            ours.train(spec, folder)
            iterations = from_events(folder / "run" / "events.jsonl", size.batch)
            rates[engine] += _rates(counted(iterations, settings.iterations, last_too=True))
            say(f"{name}, pair {number + 1} of {chosen.pairs}, {engine}: {median(rates[engine]):.0f} tokens/s")
    own, vllm = (median(rates[engine]) for engine in ENGINES)
    return {"tokens_per_second": {"built_in": own, "vllm": vllm}, "built_in_over_vllm": own / vllm}


def _rates(iterations: Sequence[Iteration]) -> list[float]:
    return [one.tokens / one.rollout for one in iterations]


if __name__ == "__main__":
    main()
