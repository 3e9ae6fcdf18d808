"""Bodies of the requests that change jobs."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field, model_validator

from api.schema import Schema
from trainer.spec import StageName


class _Body(Schema):
    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=False)


class CloneJob(_Body):
    """The changes of a clone."""

    patch: dict[str, Any] = Field(default_factory=dict)
    """JSON merge patch (RFC 7396) on the stored spec: null restores the default of a field, objects are merged, and any other value replaces."""


class BranchJob(CloneJob):
    """The start of a branch, by `checkpoint` or by `stage` and `step`, and its changes."""

    checkpoint: str | None = None
    """Id of a checkpoint of the job."""
    stage: StageName | None = None
    """Stage of the checkpoint."""
    step: Annotated[int, Field(ge=0)] | None = None
    """Step of the checkpoint."""

    @model_validator(mode="after")
    def _one_start(self) -> "BranchJob":
        by_step = self.stage is not None and self.step is not None
        if by_step == (self.checkpoint is not None) or (self.stage is None) != (self.step is None):
            raise ValueError("give either `checkpoint`, or `stage` and `step`")
        return self


class ExtendJob(_Body):
    """More steps of PPO for a succeeded job."""

    steps: Annotated[int, Field(ge=1)]
    """The new number of steps in all."""


class TransitionReason(_Body):
    """Why a user changes the state of a job. The body may be left out."""

    reason: Annotated[str, Field(max_length=500)] = ""
    """The reason, for the event of the transition and for `status_reason`. Empty: a sentence that names the request."""
