"""`python -m trainer.tracking.sidecar TRACKER RUN_DIR`: the process of one tracker. The trainer starts it.

It reads new events from `events.jsonl` and sends them. When its standard input ends, the run has ended. It sends the rest
and exits with status 0, or with status 1 if that fails. Messages go to the trainer by standard output, one JSON object a line.
"""

import os
import signal
import sys
import threading
import time
from contextlib import suppress
from itertools import islice, takewhile
from pathlib import Path
from typing import IO

from trainer.events import Event, Message, Metrics, RunFailed, RunFinished, RunStopped, read
from trainer.spec import JobSpec
from trainer.tracking.adapters import RunOutcome, TrackedRun, Tracker, new_tracker
from trainer.tracking.trackers import RUN_ID, TrackingFolder

_POLL_SECONDS = 1.0
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
_BATCH = 500
_LAST_TRIES = 3


def main(arguments: list[str]) -> int:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # these ask the trainer to save, and its last events are sent too
    name, run_dir = arguments[0], Path(arguments[1])
    messages = _private_output()
    ended = threading.Event()
    threading.Thread(target=_wait_for_end, args=(ended,), daemon=True).start()
    return Sidecar(TrackingFolder(run_dir, name), messages, ended).run()


def _private_output() -> IO[str]:
    """The pipe to the trainer. Output of the tracker's package goes to standard error instead."""
    pipe = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)
    return pipe


def _wait_for_end(ended: threading.Event) -> None:
    sys.stdin.buffer.read()
    ended.set()


class Sidecar:
    """Follows the event log for one tracker."""

    def __init__(self, folder: TrackingFolder, messages: IO[str], ended: threading.Event) -> None:
        self._folder, self._messages, self._ended = folder, messages, ended
        self._offset = folder.sent()
        if folder.events.exists() and folder.events.stat().st_size < self._offset:
            self._offset = 0  # another event log
        self._pause = _FIRST_PAUSE
        self._failures_after_end = 0
        self._spec = JobSpec.model_validate_json(folder.config.read_text())
        self._current: tuple[int | None, Tracker] | None = None
        self._outcomes: dict[int | None, RunOutcome] = {}

    def run(self) -> int:
        """Send events until the run has ended and none is left. Returns the exit status."""
        while True:
            last_look = self._ended.is_set()
            try:
                if self._current is None and self._spec.seeds == 1:
                    self._tracker_of(None)
                more = self._send()
                if last_look and not more:
                    self._tracker_of(None)  # of several seeds, the run of the whole job gets the summary
                    self._finish_current()
                    return 0
                self._pause = _FIRST_PAUSE
                if not more:
                    self._ended.wait(_POLL_SECONDS)
            except Exception as error:  # noqa: BLE001  the boundary to another package: any failure of it is only reported
                if not self._may_retry(error):
                    return 1

    def _tracker_of(self, seed: int | None) -> Tracker:
        """The tracker of the seed, started. That of the seed before is finished first, because seeds follow one another."""
        if self._current is not None and self._current[0] == seed:
            return self._current[1]
        self._finish_current()
        run_id = (self._folder.run_dir / RUN_ID).read_text().strip()
        tracker = new_tracker(self._folder.tracker, TrackedRun(self._spec, run_id, self._folder.run_dir, seed))
        if url := tracker.start():
            self._tell(Message(text=f"{self._folder.tracker}: {url}", seed=seed))
        self._current = (seed, tracker)
        return tracker

    def _finish_current(self) -> None:
        if self._current is not None:
            seed, tracker = self._current
            tracker.finish(self._outcomes.get(seed, RunOutcome("stopped", {})))
            self._current = None

    def _send(self) -> bool:
        """Send the next events, which belong to one seed. Returns whether there were any."""
        batch = list(islice(read(self._folder.events, self._offset), _BATCH))
        if not batch:
            return False
        seed = batch[0][0].seed
        found = list(takewhile(lambda one: one[0].seed == seed, batch))
        if points := [event for event, _ in found if isinstance(event, Metrics)]:
            self._tracker_of(seed).log(points)
        for event, _ in found:
            self._note(event)
        self._offset = found[-1][1]
        draft = self._folder.state.with_suffix(".new")
        draft.write_text(f'{{"offset": {self._offset}}}\n')
        draft.replace(self._folder.state)
        return True

    def _note(self, event: Event) -> None:
        if isinstance(event, RunFinished):
            self._outcomes[event.seed] = RunOutcome("finished", event.summary)
        elif isinstance(event, RunFailed):
            self._outcomes[event.seed] = RunOutcome("failed", {})
        elif isinstance(event, RunStopped):
            self._outcomes[event.seed] = RunOutcome("stopped", {})

    def _may_retry(self, error: Exception) -> bool:
        """Report the failure and wait. Returns False after some failures once the run has ended."""
        text = (
            f"The tracker {self._folder.tracker} failed: {type(error).__name__}: {str(error)[:300]}. The run goes on."
        )
        self._tell(Message(level="warning", text=text))
        self._failures_after_end += self._ended.is_set()
        if self._failures_after_end >= _LAST_TRIES or isinstance(error, ImportError):
            return False
        if self._ended.is_set():
            time.sleep(_FIRST_PAUSE)
        else:
            self._ended.wait(self._pause)
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        return True

    def _tell(self, message: Message) -> None:
        with suppress(OSError):  # the trainer was killed
            self._messages.write(message.model_dump_json() + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
