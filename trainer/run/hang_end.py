"""Ends a run that hangs, as `hang.action` = "fail" or "restart" asks. The main thread does not take part: it hangs."""

import os
import sys
import threading
from contextlib import suppress
from typing import NoReturn

from trainer.distributed.peer_failure import PeerMonitor, failure_of
from trainer.errors import Hang, RestartAfterHang
from trainer.events import Event
from trainer.hangs import Finding
from trainer.hangs.restart import MOST_ATTEMPTS, Restarts
from trainer.session.session import Session

_REPORT_SECONDS = 5.0
"""How long the last event may take. The main thread may hang while it writes another one."""
_STACKS = "The trainer's log has the stacks of its threads."


class HangEnd:
    """Called with the session that hangs and the finding. The call does not return."""

    def __init__(self, whole: Session, monitor: PeerMonitor | None, restarts: Restarts | None) -> None:
        """`whole`: the session of the whole job. `restarts`: None under a worker, which restarts the job itself."""
        self._whole, self._monitor, self._restarts = whole, monitor, restarts

    def __call__(self, session: Session, finding: Finding) -> NoReturn:
        problem = self._problem(finding)
        failure = failure_of(problem, self._whole.world.rank, session.stage, session.step or None)
        if self._monitor is not None:
            self._monitor.fail(failure)
        writing = threading.Thread(target=self._emit, args=(failure.event(),), daemon=True)
        writing.start()
        writing.join(_REPORT_SECONDS)
        print(f"error: {problem}", file=sys.stderr, flush=True)  # noqa: T201 the process edge
        if self._restarts is not None and isinstance(problem, RestartAfterHang):
            self._restarts.start_again(self._whole.has_saved)
        os._exit(problem.exit_status)  # no clean-up: it would wait for the main thread

    def _problem(self, finding: Finding) -> Hang:
        text = f"The run hangs. {finding.text} {_STACKS}"
        if self._whole.spec.hang.action == "fail":
            return Hang(f"{text} Mend the cause and run the same command again: it resumes from its checkpoint.")
        if self._restarts is not None and not self._restarts.remain(self._whole.has_saved):
            return Hang(f"{text} This was attempt {MOST_ATTEMPTS} in a row without a new checkpoint.")
        return RestartAfterHang(f"{text} `hang.action` asks for a restart from the last checkpoint.")

    def _emit(self, event: Event) -> None:
        with suppress(OSError):  # the disk may be what hangs
            self._whole.emit(event)
