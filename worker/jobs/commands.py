"""Copies the commands of a job into the run folder: all of them before the trainer starts, and new ones while it runs."""

import time

from sqlalchemy.orm import Session

from core.db import session_scope
from core.jobs.actions.commands import applied_commands, pending_commands
from core.jobs.lifecycle.attempts import Claim
from core.models import JobCommand
from trainer.events.commands import Command, CommandRecord, append_commands, append_records
from worker.jobs.workspace import Workspace

_PAUSE_SECONDS = 1.0


class CommandDelivery:
    """Appends each command once to the files of one attempt. The trainer ignores a line that comes twice."""

    def __init__(self, claim: Claim, workspace: Workspace) -> None:
        self._job_id, self._folder = claim.job_id, workspace.folder
        self._delivered: set[str] = set()
        self._next_look = 0.0

    def read_log(self, session: Session) -> list[CommandRecord]:
        """The commands that earlier attempts carried out, each with its step."""
        return [
            CommandRecord(command=_command(row), stage=row.stage, step=row.step)
            for row in applied_commands(session, self._job_id)
        ]

    def write_log(self, records: list[CommandRecord]) -> None:
        """Write the log before the trainer starts, so that it repeats the commands at the same steps."""
        append_records(self._folder, records)

    def deliver(self) -> None:
        """Append new pending commands, at most once a second. Raises errors of the database and of the file system."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + _PAUSE_SECONDS
        with session_scope() as session:
            pending = pending_commands(session, self._job_id)
        for row in pending:
            if row.id not in self._delivered:
                append_commands(self._folder, [_command(row)])
                self._delivered.add(row.id)


def _command(row: JobCommand) -> Command:
    return Command.model_validate({"id": row.id, "name": row.name, "value": row.value, "stage": row.stage})
