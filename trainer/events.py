"""What a run says while it works: one JSON object a line, appended to `events.jsonl`.

The worker tails this file into the database; a person can `tail -f` it. Torch-free.
"""

import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from trainer.spec import StageName


class _Event(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    at: float = Field(default_factory=time.time)
    """Unix seconds."""


class StagePlan(BaseModel):
    """A stage the run will go through."""

    stage: StageName
    total_steps: int


class RunStarted(_Event):
    """The run has loaded its data and knows its plan. After a resume, `resumed_stage` and `resumed_step` say from where."""

    type: Literal["run_started"] = "run_started"
    stages: list[StagePlan]
    device: str
    threads: int
    versions: dict[str, str]
    resumed_stage: StageName | None = None
    resumed_step: int | None = None


class StageStarted(_Event):
    """A stage begins at `start_step` (0, or the step it resumes after)."""

    type: Literal["stage_started"] = "stage_started"
    stage: StageName
    total_steps: int
    start_step: int = 0


class Metrics(_Event):
    """Numbers of one step (1-based). Re-emitted for the same (stage, step) after a resume: the later one counts."""

    type: Literal["metrics"] = "metrics"
    stage: StageName
    step: int
    total_steps: int
    values: dict[str, float]


class Sample(BaseModel):
    """One completion. `reference` is the SFT policy's answer to the same prompt (evaluation only)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt: str
    response: str
    score: float | None = None
    kl: float | None = None
    tokens: int | None = None
    finished: bool | None = None
    judge: float | None = None
    reference: str | None = None
    reference_score: float | None = None
    reference_judge: float | None = None


class Samples(_Event):
    """Completions of one step."""

    type: Literal["samples"] = "samples"
    stage: StageName
    step: int
    rows: list[Sample]


class CheckpointSaved(_Event):
    """A checkpoint folder is complete on disk. `path` is relative to the run folder. `final`: the stage's result."""

    type: Literal["checkpoint_saved"] = "checkpoint_saved"
    stage: StageName
    step: int
    path: str
    final: bool
    metrics: dict[str, float] = {}


class StageFinished(_Event):
    """A stage is done; `summary` holds its headline figures."""

    type: Literal["stage_finished"] = "stage_finished"
    stage: StageName
    seconds: float
    summary: dict[str, float] = {}


class Message(_Event):
    """A line for people."""

    type: Literal["message"] = "message"
    level: Literal["info", "warning", "error"] = "info"
    text: str


class RunFinished(_Event):
    """The run succeeded; `summary` holds what it learnt."""

    type: Literal["run_finished"] = "run_finished"
    seconds: float
    summary: dict[str, float]


class RunFailed(_Event):
    """The run ended with an error; `code` names its kind, `message` says what happened and what to do."""

    type: Literal["run_failed"] = "run_failed"
    code: str
    message: str
    stage: StageName | None = None
    step: int | None = None


class RunStopped(_Event):
    """The run was asked to stop, saved, and can be resumed."""

    type: Literal["run_stopped"] = "run_stopped"
    reason: Literal["signal", "lease_lost"]
    stage: StageName | None = None
    step: int | None = None


Event = Annotated[
    RunStarted
    | StageStarted
    | Metrics
    | Samples
    | CheckpointSaved
    | StageFinished
    | Message
    | RunFinished
    | RunFailed
    | RunStopped,
    Field(discriminator="type"),
]
_adapter: TypeAdapter[Event] = TypeAdapter(Event)


def finite(values: dict[str, float]) -> dict[str, float]:
    """Only the finite ones: JSON has no NaN, and an undefined metric is a missing point, not a zero."""
    return {name: float(value) for name, value in values.items() if math.isfinite(value)}


class EventLog:
    """Appends events to a file, one line each, flushed as they are written."""

    def __init__(self, path: Path) -> None:
        _drop_torn_tail(path)
        self._file = path.open("a", encoding="utf-8")

    def emit(self, event: Event) -> None:
        """Write one event. Whole lines only: a reader never sees half of one unless the machine dies."""
        self._file.write(json.dumps(event.model_dump(exclude_none=True), ensure_ascii=False, allow_nan=False) + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def read(path: Path, offset: int = 0) -> Iterator[tuple[Event, int]]:
    """Yield the events from byte `offset` on, each with the offset after it. An unfinished last line is left for later."""
    if not path.exists():
        return
    with path.open("rb") as file:
        file.seek(offset)
        for line in file:
            if not line.endswith(b"\n"):
                return
            offset += len(line)
            yield _adapter.validate_json(line), offset


def _drop_torn_tail(path: Path) -> None:
    """A killed process may have left half a line; what follows it must start on a line of its own."""
    if not path.exists():
        return
    content = path.read_bytes()
    keep = content.rfind(b"\n") + 1
    if keep != len(content):
        with path.open("rb+") as file:
            file.truncate(keep)
