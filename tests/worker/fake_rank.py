"""A process of several that does not train: `launch spec.json …` starts them as `python -m trainer launch` does.

The spec's `name` lists the actions. Process 0, the fake trainer, does those before a `|`, the other processes those after it.
"""

import argparse
import json
import os
import signal
import sys
import time
from pathlib import Path

from tests.worker.fake_trainer import Fake
from trainer.distributed.launch import Machine, launch
from trainer.spec import ResourcesSpec


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("what")
    parser.add_argument("spec", type=Path)
    parser.add_argument("--run-dir", type=Path)
    parser.add_argument("--lease", type=Path)
    parser.add_argument("--local-paths", type=Path)
    parser.add_argument("--machine-rank", type=int, default=0)
    parser.add_argument("--rendezvous")
    parser.add_argument("--rank-logs", type=Path)
    arguments = parser.parse_args()
    spec = json.loads(arguments.spec.read_text())
    if arguments.what == "launch":
        machine = Machine(arguments.machine_rank, arguments.rendezvous)
        program = ["tests.worker.fake_rank", "run", *sys.argv[2:]]
        resources = ResourcesSpec.model_validate(spec["resources"])
        return launch(resources, machine, program, arguments.rank_logs)
    return rank(arguments.run_dir, arguments.lease, spec)


def rank(folder: Path, lease: Path, spec: dict[str, object]) -> int:
    rank, first, others = int(os.environ["RANK"]), *str(spec["name"]).split(" | ")
    (folder / f"rank-{rank}").write_text(str(os.getpid()))
    if rank == 0:
        while len(list(folder.glob("rank-*"))) < int(os.environ["WORLD_SIZE"]):
            time.sleep(0.02)
        return play(Fake(folder, lease, spec), first)
    return play(Other(folder), others)


def play(who: object, actions: str) -> int:
    for action in actions.split():
        if (status := getattr(who, action)()) is not None:
            return int(status)
    return 0


class Other:
    """The actions of processes other than the first one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked = False
        signal.signal(signal.SIGTERM, self._ask)

    def _ask(self, *_: object) -> None:
        self.asked = True

    def wait(self) -> int:
        while not self.asked:
            time.sleep(0.02)
        return 75

    def deaf(self) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(60)

    def die(self) -> None:
        self.when_all_are_there()
        os.kill(os.getpid(), signal.SIGKILL)

    def run_out_of_memory(self) -> int:
        self.when_all_are_there()
        sys.stderr.write("error: The device ran out of memory.\n")
        return 6

    def when_all_are_there(self) -> None:
        """Wait until the first process has reported `run_started`, when it handles signals."""
        while (
            not (self.folder / "events.jsonl").exists()
            or "run_started" not in (self.folder / "events.jsonl").read_text()
        ):
            time.sleep(0.02)


if __name__ == "__main__":
    sys.exit(main())
