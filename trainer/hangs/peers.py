"""Questions between the processes of a run: where is each of them?

The first process that finds a hang writes a file into the run folder, which all processes share. Every process looks for that
file once a second, writes its own place into another one, and writes its stacks into its own log. A collective could not do
this, because the processes hang in one.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from trainer.hangs.finding import Place

MARKS = ".hang-*"
"""Pattern of the names of all files that are written here."""


class PeerPlaces:
    """The places of the processes of one launch. Questions are numbered, and all processes count them alike."""

    def __init__(self, run_dir: Path, launch: str, rank: int, processes: int, peers: Mapping[int, int]) -> None:
        """`peers`: process ids of the others on this machine, by rank."""
        self._folder, self._launch = run_dir, launch
        self.rank = rank
        self.processes = processes
        self._peers = peers
        self._number = 0

    def ask(self) -> None:
        """Ask every process for its place, unless one has asked already."""
        self._question.touch()

    def is_asked(self) -> bool:
        return self._question.exists()

    def respond(self, place: Place) -> None:
        draft = self._file(f"{self.rank}.new")
        draft.write_text(json.dumps(asdict(place)))
        draft.replace(self._file(str(self.rank)))

    def responses(self) -> dict[int, Place]:
        """The places of the processes that have responded so far, by rank."""
        found = {}
        for rank in range(self.processes):
            with suppress(FileNotFoundError):
                found[rank] = Place(**json.loads(self._file(str(rank)).read_text()))
        return found

    def next_question(self) -> None:
        """The present question is settled."""
        self._number += 1

    def is_one_paused(self) -> bool:
        """Whether a process on this machine is stopped by a signal or a debugger, so that waiting for it is no hang."""
        return any(map(_is_paused, self._peers.values()))

    @property
    def _question(self) -> Path:
        return self._file("question")

    def _file(self, name: str) -> Path:
        return self._folder / f".hang-{self._launch}-{self._number}-{name}"


def _is_paused(pid: int) -> bool:
    """The state is the first letter after the command's name, which may hold spaces and brackets (`man proc_pid_stat`)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1]
    except OSError:  # it has ended, or this is not Linux
        return False
    return state in ("T", "t")
