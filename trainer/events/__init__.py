"""The events of a run: one JSON object a line, appended to `events.jsonl`.

The worker copies the file into the database while the run goes on. A person can `tail -f` it. Torch-free.
"""

from trainer.events.kinds import (
    CheckpointSaved,
    CommandDone,
    CommandRefused,
    CommandRequested,
    Curve,
    CurvePoint,
    Event,
    Evidence,
    Health,
    KnobChanged,
    Message,
    Metrics,
    ReportCard,
    RolledBack,
    RunFailed,
    RunFinished,
    RunStarted,
    RunStopped,
    Sample,
    Samples,
    SeedFinished,
    StageFinished,
    StagePlan,
    StageStarted,
    SuggestedChange,
    TokenRow,
)
from trainer.events.log import EventLog, finite, read

__all__ = [
    "CheckpointSaved", "CommandDone", "CommandRefused", "CommandRequested", "Curve", "CurvePoint", "Event", "EventLog", "Evidence", "Health",
    "KnobChanged", "Message", "Metrics", "ReportCard", "RolledBack", "RunFailed", "RunFinished", "RunStarted", "RunStopped",
    "Sample", "Samples", "SeedFinished", "StageFinished", "StagePlan", "StageStarted", "SuggestedChange", "TokenRow", "finite", "read",
]  # fmt: skip
