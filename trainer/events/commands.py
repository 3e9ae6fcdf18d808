"""The commands of a run: two files in the run folder, one JSON object a line. Torch-free.

    commands.jsonl      requests. The worker or a person appends them, and the trainer reads them between two steps.
    command_log.jsonl   the commands that the trainer has taken up, each with its step. Only the trainer appends to it.

A resumed run repeats the changes of the log at the steps where they were made first. A worker that continues the run on
another machine writes both files before it starts the trainer.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from trainer.events.log import drop_torn_tail
from trainer.spec import StageName
from trainer.spec.knobs import ACTIONS, Action, Knob

REQUESTS, LOG = "commands.jsonl", "command_log.jsonl"


class Command(BaseModel):
    """A request: the new value of a knob, or an action."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)

    id: Annotated[str, Field(min_length=1, max_length=100)]
    """Chosen by the sender. A second line with the same id is ignored."""
    name: Knob | Action
    """The knob to change, or the action."""
    value: float | None = None
    """The new value of the knob; none for an action."""
    stage: StageName | None = None
    """The stage that it is meant for. It waits for a later stage, and is refused once the stage is over. Left out: the stage that runs."""

    @model_validator(mode="after")
    def _a_knob_has_a_value(self) -> "Command":
        if (self.name in ACTIONS) != (self.value is None):
            raise ValueError("a knob needs `value`, and an action has none")
        return self

    @property
    def change(self) -> tuple[Knob, float] | None:
        """The knob and its new value; None for an action."""
        return None if self.name in ACTIONS or self.value is None else (self.name, self.value)


class CommandRecord(BaseModel):
    """A command that the trainer has taken up."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    command: Command
    """The request."""
    stage: StageName
    """The stage that ran."""
    step: int
    """Steps of the stage that were done."""
    refused: str | None = None
    """Why it was refused; none for a command that was carried out."""


def append_commands(run_dir: Path, commands: Iterable[Command]) -> None:
    """Append requests to `commands.jsonl`."""
    for command in commands:
        _append(run_dir / REQUESTS, command)


def append_records(run_dir: Path, records: Iterable[CommandRecord]) -> None:
    """Append to `command_log.jsonl`."""
    for record in records:
        _append(run_dir / LOG, record)


def read_records(run_dir: Path) -> list[CommandRecord]:
    """The whole log. Half a line at its end, which a killed process left, is removed from the file."""
    path = run_dir / LOG
    drop_torn_tail(path)
    return [CommandRecord.model_validate_json(line) for line in path.read_bytes().splitlines()] if path.exists() else []


class CommandReader:
    """Reads `commands.jsonl` as it grows."""

    def __init__(self, run_dir: Path) -> None:
        self._path = run_dir / REQUESTS
        self._offset = 0

    def new(self) -> Iterator[Command | str]:
        """Yield the commands of new whole lines, and a message for each line that is no command.

        Without new lines, this costs one `stat`.
        """
        try:
            size = self._path.stat().st_size
        except FileNotFoundError:
            return
        if size == self._offset:
            return
        with self._path.open("rb") as file:
            file.seek(self._offset if size > self._offset else 0)  # a shorter file was replaced
            self._offset = file.tell()
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._offset += len(line)
                if line.strip():
                    yield _parsed(line)


def _parsed(line: bytes) -> Command | str:
    try:
        return Command.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        text = line[:200].decode(errors="replace").strip()
        return f"{REQUESTS} has a line that is no command ({where + ': ' if where else ''}{first['msg']}): {text}"


def _append(path: Path, line: BaseModel) -> None:
    """Append one line by one write, and flush it to disk. Half a line, which a full disk left, is ended first."""
    content = (line.model_dump_json(exclude_none=True) + "\n").encode()
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        size = os.fstat(descriptor).st_size
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        os.write(descriptor, b"\n" + content if torn else content)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
