"""Bodies of the requests that change jobs."""

from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from api.schema import Schema
from core.jobs.lifecycle.descriptions import MOST_TAGS, MetadataPatch, Name, Notes, Tag, storable_text
from trainer.spec import StageName


class _Body(Schema):
    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=False)


class ChangeJob(_Body):
    """A JSON merge patch (RFC 7396) on what describes a job and on `preemptible`: null empties a field or restores its default.

    A field that is left out stays.
    """

    name: Name | None = None
    """The new name. The spec keeps the one that was submitted."""
    tags: Annotated[list[Tag] | None, Field(max_length=MOST_TAGS)] = None
    """All tags, in place of the present ones: at most 20 of 50 characters. They are stored in lower case."""
    notes: Notes | None = None
    """Text for people, of at most 10,000 characters."""
    metadata: MetadataPatch | None = None
    """Texts by key, merged into the present ones; null removes a key. A job has at most 50, of 64 and 500 characters."""
    preemptible: bool | None = None
    """Whether the platform may pause the job for a more urgent one, from now on. Null: it may not."""


class CloneJob(_Body):
    """The changes of a clone."""

    patch: dict[str, Any] = Field(default_factory=dict)
    """JSON merge patch (RFC 7396) on the stored spec: null restores the default of a field, `{"null": true}` sets null, objects are merged, and any other value replaces."""


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

    reason: Annotated[str, Field(max_length=500), AfterValidator(storable_text)] = ""
    """The reason, for the event of the transition and for `status_reason`. Empty: a sentence that names the request."""
