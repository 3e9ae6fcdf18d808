"""Stores the console output of an attempt: that of every process of its trainer, and the worker's own lines about it."""

import json
import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from core.db import session_scope
from core.jobs.lifecycle.attempts import Claim
from core.jobs.run.logs import LogLines, LogOrigin, append_log, next_line
from core.masking import Masker, PrivateKeyMasker
from core.models.job_logs import LogSource
from worker.jobs.console_lines import ConsoleFile, clean, shortened
from worker.jobs.launch.fit import job_resources
from worker.jobs.workspace import Workspace

_OURS = ("worker.", "core.")
_MOST_WORKER_LINES = 1000
_OFFSETS = "console.json"
_FILE = re.compile(r"trainer(?:-(?P<machine>\d+)|-rank-(?P<rank>\d+))?\.log")
"""`trainer.log`: the only process, or the launcher of this machine. `trainer-1.log`: the launcher of machine 1.
`trainer-rank-3.log`: process 3."""


class ConsoleLog:
    """Copies new lines to the database. After an error of the database, the next call stores the same lines.

    `limit`: most stored bytes of the attempt. `resumable`: another process of this worker may continue where this one ended.
    """

    def __init__(
        self, claim: Claim, workspace: Workspace, masker: Masker, limit: int, *, resumable: bool = False
    ) -> None:
        self._claim, self._workspace, self._masker, self._limit = claim, workspace, masker, limit
        self._resources = job_resources(claim.spec)
        self._files: dict[Path, tuple[ConsoleFile, PrivateKeyMasker]] = {}
        self._offsets = workspace.folder / _OFFSETS if resumable else None
        self._worker_lines = _WorkerLines()
        self._unstored: list[LogLines] = []
        self._next_line: int | None = None
        self._commit_unknown = False

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """While inside, the worker's log records are lines of this attempt."""
        root = logging.getLogger()
        root.addHandler(self._worker_lines)
        try:
            yield
        finally:
            root.removeHandler(self._worker_lines)

    def store(self, final: bool = False) -> bool:
        """Store new lines. Returns whether there may be more. Raises LeaseLost and errors of the database.

        `final`: the trainer has ended, so that an unfinished last line is stored too.
        """
        if self._commit_unknown:
            self._confirm()
        if not self._unstored:
            self._unstored = list(self._new_lines(final))
        if not self._unstored:
            return False
        with session_scope() as session:
            if self._next_line is None:
                self._next_line = next_line(session, self._claim.job_id)
            self._commit_unknown = True
            append_log(session, self._claim.job_id, self._claim.attempt, self._unstored, self._limit)
        self._stored()
        return True

    def _confirm(self) -> None:
        """After a connection broke during a commit, find out whether it was done. No other attempt adds lines meanwhile."""
        with session_scope() as session:
            line = next_line(session, self._claim.job_id)
        self._commit_unknown = False
        if self._next_line is not None and line > self._next_line:
            self._stored()

    def _stored(self) -> None:
        assert self._next_line is not None
        self._next_line += sum(len(part.lines) for part in self._unstored)
        self._unstored, self._commit_unknown = [], False
        if self._offsets is not None:
            draft = self._offsets.with_suffix(".new")
            draft.write_text(json.dumps({path.name: file.read_bytes for path, (file, _) in self._files.items()}))
            draft.replace(self._offsets)

    def _stored_bytes(self, path: Path) -> int:
        """The bytes of a file that an earlier process of this worker has stored."""
        if self._offsets is None or not self._offsets.exists():
            return 0
        return int(json.loads(self._offsets.read_text()).get(path.name, 0))

    def _new_lines(self, final: bool) -> Iterator[LogLines]:
        now = datetime.now(UTC)
        if lines := self._worker_lines.take():
            yield LogLines(LogOrigin(LogSource.WORKER), now, [self._masker.mask(line) for line in lines])
        for path, origin in self._paths():
            if path not in self._files:
                self._files[path] = ConsoleFile(path, self._limit, self._stored_bytes(path)), PrivateKeyMasker()
            file, keys = self._files[path]
            if lines := file.read(final):
                text = keys.mask(self._masker.mask_lines("\n".join(lines)))
                yield LogLines(origin, now, [shortened(line) for line in text.split("\n")], file.take_dropped())

    def _paths(self) -> list[tuple[Path, LogOrigin]]:
        """The files of all processes, launchers first."""
        found = [(path, _FILE.fullmatch(path.name)) for path in self._workspace.logs]
        return sorted(
            ((path, self._origin(match)) for path, match in found if match),
            key=lambda one: (-1 if one[1].rank is None else one[1].rank, one[1].machine),
        )

    def _origin(self, name: re.Match[str]) -> LogOrigin:
        if name["rank"] is not None:
            rank = int(name["rank"])
            return LogOrigin(LogSource.TRAINER, rank // self._resources.processes, rank)
        alone = self._resources.total == 1
        return LogOrigin(LogSource.TRAINER, int(name["machine"] or 0), 0 if alone else None)


class _WorkerLines(logging.Handler):
    """Keeps the newest log records of the worker, as lines."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._lines: list[str] = []
        self._adding = threading.Lock()

    def emit(self, record: logging.LogRecord) -> None:
        if not record.name.startswith(_OURS):
            return
        when = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S")
        lines = f"{when} {record.levelname} {record.getMessage()}".splitlines()
        with self._adding:
            self._lines = [*self._lines, *lines][-_MOST_WORKER_LINES:]

    def take(self) -> list[str]:
        """The lines since the last call."""
        with self._adding:
            lines, self._lines = self._lines, []
        return [clean(line.encode("utf-8", "replace")) for line in lines]
