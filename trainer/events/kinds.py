"""All kinds of events as one type."""

from typing import Annotated

from pydantic import Field

from trainer.events.interventions import (
    CommandDone,
    CommandRefused,
    CommandRequested,
    Health,
    KnobChanged,
    RolledBack,
)
from trainer.events.lifecycle import (
    Message,
    RunFailed,
    RunFinished,
    RunStarted,
    RunStopped,
    SeedFinished,
    StageFinished,
    StageStarted,
)
from trainer.events.results import (
    CheckpointDamaged,
    CheckpointSaved,
    CriticCard,
    Curve,
    Metrics,
    ReportCard,
    RewardMissing,
    Samples,
)

Event = Annotated[
    RunStarted
    | StageStarted
    | Metrics
    | Samples
    | CriticCard
    | RewardMissing
    | CheckpointSaved
    | CheckpointDamaged
    | Health
    | RolledBack
    | CommandRequested
    | KnobChanged
    | CommandDone
    | CommandRefused
    | Curve
    | ReportCard
    | SeedFinished
    | StageFinished
    | Message
    | RunFinished
    | RunFailed
    | RunStopped,
    Field(discriminator="type"),
]
