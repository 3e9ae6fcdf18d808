"""The events of a run: one JSON object a line, appended to `events.jsonl`.

The worker copies the file into the database while the run goes on. A person can `tail -f` it. Torch-free.
"""

from trainer.events.interventions import (
    CommandDone,
    CommandRefused,
    CommandRequested,
    Evidence,
    Health,
    KnobChanged,
    RolledBack,
    SuggestedChange,
)
from trainer.events.kinds import Event
from trainer.events.lifecycle import (
    Message,
    RunFailed,
    RunFinished,
    RunStarted,
    RunStopped,
    SeedFinished,
    StageFinished,
    StagePlan,
    StageStarted,
)
from trainer.events.log import EventLog, finite, read
from trainer.events.results import (
    CheckpointDamaged,
    CheckpointSaved,
    CriticCard,
    Curve,
    CurvePoint,
    Metrics,
    ReportCard,
    RewardMissing,
    Sample,
    Samples,
    TokenRow,
)

__all__ = [
    "CheckpointDamaged", "CheckpointSaved", "CommandDone", "CommandRefused", "CommandRequested", "CriticCard", "Curve", "CurvePoint", "Event", "EventLog", "Evidence", "Health",
    "KnobChanged", "Message", "Metrics", "ReportCard", "RewardMissing", "RolledBack", "RunFailed", "RunFinished", "RunStarted", "RunStopped",
    "Sample", "Samples", "SeedFinished", "StageFinished", "StagePlan", "StageStarted", "SuggestedChange", "TokenRow", "finite", "read",
]  # fmt: skip
