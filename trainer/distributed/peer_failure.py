"""Peer failure detection: when one process of a run fails, all of them end, with one cause in events.jsonl.

The first process that fails writes a failure file into the run folder. A thread of each process watches for that file and
ends its process with the same cause and exit status. It does so even while the main thread waits in a collective, which
NCCL would do for many minutes. A process that is killed writes no file. The kernel reports its end to the other processes
on its machine, and one of them writes the file.

The main process writes the cause into events.jsonl. If the main process is the one that ended, the process that wrote the
failure file does so.
"""

import json
import os
import select
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NoReturn

from trainer.errors import ProcessLost, StorageError, TrainerError
from trainer.events import RunFailed, RunStopped
from trainer.events.log import EventLog, last_event
from trainer.hangs import PeerPlaces
from trainer.run_folder import alone_in

_LOOK_SECONDS = 0.25
_GRACE_SECONDS = 3.0
"""How long to wait after a process has ended: for its failure file to appear, or for this process to end normally too."""
_TAKE_OVER_SECONDS = 10.0
"""How long to wait for the main process to release the run folder."""

Position = tuple[str | None, int | None]
"""Stage and step."""


@dataclass(frozen=True)
class Failure:
    """The cause of a run's end, as the failure file holds it."""

    code: str
    message: str
    exit_status: int
    rank: int
    stage: str | None = None
    step: int | None = None

    def event(self) -> RunFailed:
        fields = {"code": self.code, "message": self.message, "stage": self.stage, "step": self.step}
        return RunFailed.model_validate(fields)


class PeerMonitor:
    """Watches the other processes of a run, from `start` to `stop`."""

    def __init__(self, run_dir: Path, launch: str, rank: int, processes: int, peers: Mapping[int, int]) -> None:
        """`launch`: an id that the processes of this launch share. `peers`: process ids of the others on this machine, by rank."""
        self._run_dir = run_dir
        self._file = run_dir / f".failure-{launch}.json"
        self._rank = rank
        self._peers = peers
        self.places = PeerPlaces(run_dir, launch, rank, processes, peers)
        self._log: EventLog | None = None
        self._position: Callable[[], Position] = lambda: (None, None)
        self._stopping = threading.Event()
        self._ending = threading.Lock()

    def start(self, log: EventLog | None, position: Callable[[], Position]) -> None:
        """Start the watching thread. `log`: the run's event log in the main process, else None."""
        self._log, self._position = log, position
        threading.Thread(target=self._watch, name="peer monitor", daemon=True).start()

    def stop(self) -> None:
        """Stop watching: the run ends normally in all processes."""
        self._stopping.set()

    def fail(self, failure: Failure | None) -> NoReturn:
        """End this process with the failure that was written first: this one, or that of another process.

        None: a collective failed because another process ended. The watching thread finds the cause meanwhile.
        """
        if failure is None:  # the watching thread usually ends this process during the sleep
            time.sleep(2 * _GRACE_SECONDS)
            failure = self._lost("Another process of this run no longer responds")
        with (
            self._ending
        ):  # the main thread and the watching thread may both come here; the second waits until the process ends
            found = failure if self._write(failure) else self._read() or failure
            if self._log is not None:
                self._log.emit(found.event())
            elif failure is found:
                self._stand_in(found)
            print(f"error: {found.message}", file=sys.stderr, flush=True)  # noqa: T201 the process edge
            sys.stdout.flush()
            os._exit(found.exit_status)  # no clean-up: it would wait for processes that are gone

    def _lost(self, what: str) -> Failure:
        why = "it was killed, or its machine has run out of memory. Run the same command to resume."
        return Failure(ProcessLost.code, f"{what}: {why}", ProcessLost.exit_status, self._rank, *self._position())

    def _write(self, failure: Failure) -> bool:
        """Write the failure file; False where one exists. It is written under another name and linked, so it is never partial."""
        draft = self._file.with_suffix(f".{self._rank}")
        try:
            draft.write_text(json.dumps(asdict(failure)))
            os.link(draft, self._file)
        except FileExistsError:
            return False
        except OSError:  # for example a full disk, which must not hide the failure itself
            return True
        finally:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
        return True

    def _read(self) -> Failure | None:
        try:
            return Failure(**json.loads(self._file.read_text()))
        except OSError:  # the file does not exist, or the folder cannot be read now and the next poll reads it
            return None

    def _stand_in(self, failure: Failure) -> None:
        """Write the event after the main process has ended without doing so. It holds the folder's lock until its end."""
        deadline = time.monotonic() + _TAKE_OVER_SECONDS
        while time.monotonic() < deadline:
            with suppress(StorageError), alone_in(self._run_dir):
                path = self._run_dir / "events.jsonl"
                last = last_event(path)
                if not isinstance(last, RunFailed | RunStopped) or last.seed is not None:
                    log = EventLog(path)
                    log.emit(failure.event())
                    log.close()
                return
            time.sleep(_LOOK_SECONDS)

    def _watch(self) -> None:
        ended = _EndedProcesses(self._peers)
        while not self._stopping.wait(_LOOK_SECONDS):
            if (failure := self._read()) is not None:
                self.fail(failure)
            gone = ended.look()
            if gone and not self._stopping.wait(_GRACE_SECONDS):
                ranks = ", ".join(map(str, gone))
                self.fail(self._read() or self._lost(f"Process {ranks} of this run has ended without a message"))


def failure_of(error: TrainerError, rank: int, stage: str | None, step: int | None) -> Failure:
    return Failure(error.code, str(error), error.exit_status, rank, stage, step)


class _EndedProcesses:
    """Reports which of these processes have ended, by pidfd. Reports none where there is no pidfd (not Linux)."""

    def __init__(self, pids: Mapping[int, int]) -> None:
        self._ranks: dict[int, int] = {}
        self._poll = select.poll()
        opened: Callable[[int], int] | None = getattr(os, "pidfd_open", None)
        for rank, pid in pids.items() if opened is not None else ():
            with suppress(OSError):
                descriptor = opened(pid)  # type: ignore[misc]
                self._ranks[descriptor] = rank
                self._poll.register(descriptor, select.POLLIN)

    def look(self) -> list[int]:
        return sorted(self._ranks[descriptor] for descriptor, _ in self._poll.poll(0))
