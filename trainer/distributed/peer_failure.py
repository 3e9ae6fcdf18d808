"""One process' end is everyone's, and it has one cause.

The first process that fails leaves a note in the run folder, which all of them watch; whoever finds it there ends with its
cause and its exit status, whatever collective its main thread is waiting in (NCCL's would wait for many minutes). A process
that is killed leaves none: the others on its machine hear of its end from the kernel, and note that it was lost.

The main process writes the note into events.jsonl; where it is itself the one that died, whoever left the note.
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
from trainer.run_folder import alone_in

_LOOK_SECONDS = 0.25
_LAST_WORDS_SECONDS = 3.0
"""How long a process that has ended may have gone on its way normally, or its note take to be seen."""
_TAKE_OVER_SECONDS = 10.0


Where = tuple[str | None, int | None]
"""Stage and step."""


@dataclass(frozen=True)
class Failure:
    """What ended the run."""

    code: str
    message: str
    exit_status: int
    rank: int
    stage: str | None = None
    step: int | None = None

    def event(self) -> RunFailed:
        fields = {"code": self.code, "message": self.message, "stage": self.stage, "step": self.step}
        return RunFailed.model_validate(fields)


class Fate:
    """Watches over one process of several, from `begin` to `leave`."""

    def __init__(self, run_dir: Path, launch: str, rank: int, peers: Mapping[int, int]) -> None:
        """`launch`: a name that only the processes of this launch have. `peers`: the others on this machine, rank by pid."""
        self._run_dir = run_dir
        self._note = run_dir / f".failure-{launch}.json"
        self._rank = rank
        self._peers = peers
        self._log: EventLog | None = None
        self._where: Callable[[], Where] = lambda: (None, None)
        self._leaving = threading.Event()
        self._ending = threading.Lock()

    def begin(self, log: EventLog | None, where: Callable[[], Where]) -> None:
        """Watch from now on. `log`: the run's, where this is the main process. `where` the run stands, for its last word."""
        self._log, self._where = log, where
        threading.Thread(target=self._watch, name="fate", daemon=True).start()

    def leave(self) -> None:
        """This process ends in good order, as all do."""
        self._leaving.set()

    def end(self, failure: Failure | None) -> NoReturn:
        """Note the failure, or take over the one that was noted before, see to it that events.jsonl has it, and end this
        process. None: another process must have one, or has been killed."""
        if failure is None:  # the watcher will hear of it, and not come back from here
            time.sleep(2 * _LAST_WORDS_SECONDS)
            failure = self._lost("Another process of this run does not answer any more")
        with self._ending:  # main thread and watcher may both come here; the second waits until the process is gone
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
        return Failure(ProcessLost.code, f"{what}: {why}", ProcessLost.exit_status, self._rank, *self._where())

    def _write(self, failure: Failure) -> bool:
        """Whether it is the first. Appears whole: written under another name, then linked."""
        draft = self._note.with_suffix(f".{self._rank}")
        try:
            draft.write_text(json.dumps(asdict(failure)))
            os.link(draft, self._note)
        except FileExistsError:
            return False
        except OSError:  # a full disk is not to hide the trouble that filled it
            return True
        finally:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
        return True

    def _read(self) -> Failure | None:
        try:
            return Failure(**json.loads(self._note.read_text()))
        except OSError:  # not there; or the folder does not answer, and then the next look finds it
            return None

    def _stand_in(self, failure: Failure) -> None:
        """Write the event, once the main process has gone without doing so: it holds the folder's lock until its end."""
        deadline = time.monotonic() + _TAKE_OVER_SECONDS
        while time.monotonic() < deadline:
            with suppress(StorageError), alone_in(self._run_dir):
                path = self._run_dir / "events.jsonl"
                if not isinstance(last_event(path), RunFailed | RunStopped):
                    log = EventLog(path)
                    log.emit(failure.event())
                    log.close()
                return
            time.sleep(_LOOK_SECONDS)

    def _watch(self) -> None:
        ended = _Ended(self._peers)
        while not self._leaving.wait(_LOOK_SECONDS):
            if (found := self._read()) is not None:
                self.end(found)
            gone = ended.look()
            if gone and not self._leaving.wait(_LAST_WORDS_SECONDS):
                ranks = ", ".join(map(str, gone))
                self.end(self._read() or self._lost(f"Process {ranks} of this run has ended without a word"))


def failure_of(error: TrainerError, rank: int, stage: str | None, step: int | None) -> Failure:
    return Failure(error.code, str(error), error.exit_status, rank, stage, step)


class _Ended:
    """Which processes of this machine have ended, by the kernel's word; of nobody where it gives none (not Linux)."""

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
