"""PPO's speed against TRL's, in turn on the same models, prompts and settings: `python -m benchmarks.ppo.speed --size 3m --peer trl`.

docs/explanation/performance.md describes the measurement and how the two differ.
"""

import argparse
import os
import platform
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.measuring.places import CACHE, PEER_SCRIPT, cores, path, processor, say, write_json
from benchmarks.peer import trl_ppo
from benchmarks.ppo import compare, models, ours
from benchmarks.ppo.runs import Run
from benchmarks.ppo.settings import Settings
from benchmarks.ppo.sizes import SIZES


def main(argv: list[str] | None = None) -> dict[str, Any]:
    """Measure, print the table, write the JSON; return what the JSON holds."""
    arguments = _parser().parse_args(argv)
    settings = _settings(arguments)
    found = models.ready(settings.size, arguments.cache, settings.full_length, settings.threads)
    python = script = None
    if arguments.peer == "trl" and not settings.size.lora:  # its script trains whole models: four of 7B do not fit
        script = trl_ppo.script_at(arguments.peer_script)
        python = trl_ppo.python_of(arguments.cache, arguments.peer_python)
    mine, peers = _pairs(settings, found, arguments, python, script)
    figures = about(settings, found) | compare.summary(mine, peers)
    figures["runs"] = [run.as_json() for run in (*mine, *peers)]
    print(f"{settings.label}, {settings.threads} threads\n{compare.table(figures)}")
    write_json(figures, arguments.json)
    return figures


def _pairs(
    settings: Settings, found: models.Models, arguments: argparse.Namespace, python: Path | None, script: Path | None
) -> tuple[list[Run], list[Run]]:
    """A B A B: ours, then the peer. While learning, each pair has a seed of its own."""
    mine: list[Run] = []
    peers: list[Run] = []
    for number in range(arguments.pairs):
        this = replace(settings, seed=settings.seed + number) if settings.learn else settings
        folder = arguments.cache / "runs" / f"{this.label}-{os.getpid()}-{number}"
        mine.append(ours.run(this, found, folder))
        say(
            f"{this.label}, pair {number + 1} of {arguments.pairs}: ours {compare.seconds(mine[-1]):.3f} s an iteration"
        )
        if python is not None and script is not None:
            peers.append(trl_ppo.run(this, found, folder, python, script))
            say(f"{this.label}, pair {number + 1} of {arguments.pairs}: peer {compare.seconds(peers[-1]):.3f} s")
    return mine, peers


def _settings(arguments: argparse.Namespace) -> Settings:
    size = SIZES[arguments.size]
    return Settings(
        size,
        arguments.iterations or (25 if arguments.learn else size.iterations),
        arguments.threads or cores(),
        arguments.seed,
        arguments.full_length or size.full_length,
        arguments.learn,
        arguments.lr,
    )


def about(settings: Settings, found: models.Models) -> dict[str, Any]:
    """The settings, the machine and the data of a measurement."""
    return {
        "size": settings.size.name,
        "settings": asdict(settings) | {"learning_rate": settings.learning_rate},
        "vocab": found.vocab,
        "prompt_tokens": found.prompt_tokens,
        "machine": {"cores": cores(), "processor": processor(), "python": platform.python_version()},
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="PPO's speed, memory and reward curve against TRL's, in turn: A B A B."
    )
    parser.add_argument("--size", choices=SIZES, required=True)
    parser.add_argument("--peer", choices=("trl", "none"), default="trl", help="none: ours alone")
    parser.add_argument("--json", type=path, help="write every figure here")
    parser.add_argument("--pairs", type=int, default=3, help="runs of each system (default 3)")
    parser.add_argument(
        "--iterations", type=int, help="PPO iterations a run, the first not counted (default: the size's)"
    )
    parser.add_argument("--threads", type=int, help="CPU threads of both (default: one per core)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--full-length", action="store_true", help="every response runs to its limit")
    parser.add_argument(
        "--learn", action="store_true", help="25 iterations at 3e-4, a seed per pair: for the reward curves"
    )
    parser.add_argument("--lr", type=float, help="learning rate (default 1e-6; with --learn 3e-4)")
    parser.add_argument(
        "--cache", type=path, default=CACHE, help="models, the peer's environment, logs (default out/bench)"
    )
    parser.add_argument(
        "--peer-python", type=path, help="a Python that has trl 1.12.0; left out: one is set up in the cache"
    )
    parser.add_argument("--peer-script", type=path, default=PEER_SCRIPT, help="default ../shared/bench/trl_ppo.py")
    return parser


if __name__ == "__main__":
    main()
