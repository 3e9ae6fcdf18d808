"""The slots of a data worker: processes that claim and run data tasks side by side (core/lanes.py)."""

import logging
import signal
import sys
import time
from collections.abc import Sequence

from core import child
from core.lanes import slots_of
from core.models.base import new_id
from core.settings import Settings
from data.start_up import importing
from worker.capacity import data_slots
from worker.process import StopRequest

_POLL_SECONDS = 0.2
_RESTART_SECONDS = 1.0
COMMAND = (sys.executable, "-m", "worker", "data", "--slot")
log = logging.getLogger(__name__)


def serve(settings: Settings, command: Sequence[str] = COMMAND) -> int:
    """Run the data worker until SIGTERM or SIGINT. Returns the exit status.

    With one slot, it is this process. Else `command`, the name of a slot and the id of this data worker start each slot, and
    one that ends is started again. All slots end with this process, even if it is killed.
    """
    kinds = slots_of(data_slots(settings))
    if len(kinds) == 1:
        with importing("worker.tasks.claim"):  # with the readers of all file formats
            from worker.tasks import claim
        return claim.serve(settings)
    stop = StopRequest()
    stop.on_signals()
    data_worker = new_id("dwk")
    commands = [[*command, kind.value, "--data-worker", data_worker] for kind in kinds]
    running = [_start(one) for one in commands]
    log.info("data worker with the slots %s", ", ".join(kinds))
    while not stop.requested:
        for index, process in enumerate(running):
            if (status := process.poll()) is not None:
                log.warning("the slot %s ended with status %d and is started again", kinds[index], status)
                stop.pause(_RESTART_SECONDS)
                if not stop.requested:
                    running[index] = _start(commands[index])
        stop.pause(_POLL_SECONDS)
    return _ended(running, stop)


def _start(command: Sequence[str]) -> child.Child:
    return child.start(command, stdout=sys.stdout.fileno(), stderr=sys.stderr.fileno())


def _ended(running: Sequence[child.Child], stop: StopRequest) -> int:
    """Stop all slots: each gives its task back to the queue. A second request is passed on, and ends them at once.

    Returns the worst exit status. A slot that is still being started has no task, and ends by the signal itself.
    """
    for _ in range(2):
        for process in running:
            if process.poll() is None:
                process.send(signal.SIGTERM)
        while any(process.poll() is None for process in running) and not stop.urgent:
            time.sleep(_POLL_SECONDS)
    statuses = [process.wait() for process in running]
    return max(0 if status == -signal.SIGTERM else abs(status) for status in statuses)
