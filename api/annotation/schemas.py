"""Schemas of annotation rounds. core/annotation/spec.py has the request for a new round."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, FiniteFloat

from api.annotation.progress_schemas import AnnotationError
from api.jobs.schemas import StoredSpec
from api.schema import DataProgress, ListOf, Schema, Timestamp
from core.annotation.spec import RoundFromCheckpoints, RoundFromDataset
from core.models.annotation import RoundKind, RoundStatus

Message = dict[str, Any]
Prompt = str | list[Message]


class _Body(Schema):
    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=False)


class AnnotationPolicy(Schema):
    """A policy whose completions are compared."""

    checkpoint: str | None
    """Its checkpoint, `ckpt_…`; null for a model that is not a checkpoint."""
    model: str | None
    """Path or hub id of a model that is not a checkpoint."""
    job: str | None
    """The job that made the checkpoint."""
    stage: str | None
    """The stage of that job."""
    step: int | None
    """The step of that stage."""
    seed: int | None = None
    """The seed of the checkpoint, where that job has several; null otherwise, and for the job's own result."""


class AnnotationRound(Schema):
    """A set of items that people compare."""

    object: Literal["annotation.round"] = "annotation.round"
    """Always `annotation.round`."""
    id: str
    """Begins with `ann_`."""
    name: str
    """For people."""
    kind: RoundKind
    """The annotators' task: compare pairs, or rank completions."""
    status: RoundStatus
    """State of the round."""
    etag: str
    """Changes with what requests can change. Send it as `If-Match` to keep a request from overwriting another change."""
    progress: DataProgress | None
    """Progress of the data task that prepares or closes the round; else null."""
    error: AnnotationError | None
    """Why the items could not be made (`failed`), or why the answers could not be written (`paused` again); else null."""
    source: Annotated[RoundFromDataset | RoundFromCheckpoints, Field(discriminator="type")]
    """Source of the completions. A dataset is named with its version."""
    policies: list[AnnotationPolicy] | None
    """The compared policies of a round of completions. `sides` and an item's `policies` are indices into this list."""
    instructions: str
    """Instructions for the annotators, in Markdown."""
    overlap: int
    """How many annotators answer each item."""
    gold: str | None
    """The dataset version of the gold questions."""
    gold_share: float
    """Share of gold questions among the items of each annotator."""
    reservation_minutes: float
    """How long an item is reserved for the annotator who received it."""
    items: int
    """Items to compare, without gold questions."""
    gold_items: int
    """Gold questions."""
    complete: int
    """Items with as many answers as are wanted."""
    left_out: int
    """Rows or prompts without an item: too long, or all policies gave the same completion."""
    cut_off: int
    """Items with a completion that was cut off at `max_new_tokens`."""
    answers: int
    """Answers, without gold questions and skips."""
    answers_wanted: int
    """Items times overlap."""
    annotators: int
    """People who have answered or skipped an item."""
    reward_model: str | None
    """The reward model's checkpoint that the answers are compared with."""
    dataset: str | None
    """The dataset that the answers are written to."""
    version: int | None
    """The number of the dataset version."""
    jobs: list[str]
    """Jobs that continue from this round."""
    created_at: Timestamp
    """When it was created."""
    closed_at: Timestamp | None
    """When its answers were written to a dataset version."""


class AnnotationRoundList(ListOf[AnnotationRound]):
    """Rounds, newest first unless asked otherwise."""


class NextItems(_Body):
    """A request for items."""

    annotator: str
    """Name of the annotator, as it is stored with the answers."""
    limit: Annotated[int, Field(ge=1, le=10)] = 1
    """Maximum number of items."""


class ShownAnswer(Schema):
    """An answer in the order in which the annotator saw the completions."""

    choice: Literal["1", "2", "tie", "skip"] | None
    """Answer to a pair, or a skip."""
    ranks: list[int] | None
    """Answer to a ranking: 1 is the best rank; equal numbers are a tie."""


class AnnotationItem(Schema):
    """An item as an annotator sees it. It names neither the policies nor a known answer."""

    object: Literal["annotation.item"] = "annotation.item"
    """Always `annotation.item`."""
    id: str
    """Begins with `item_`."""
    kind: RoundKind
    """Whether it is a pair or a ranking."""
    prompt: Prompt
    """Text, or messages."""
    completions: list[str]
    """The completions, in an order that is fixed for this annotator."""
    previous: ShownAnswer | None
    """The annotator's answer before it was undone; null if there was none."""
    reserved_until: Timestamp
    """End of the reservation. Until then, no other annotator receives the item instead."""


class AnnotationStanding(Schema):
    """Progress of one annotator."""

    done: int
    """Items that the annotator has answered or skipped."""
    total: int
    """`done` plus the items that remain; an estimate if gold questions are mixed in."""
    last_item: str | None
    """The last item that the annotator answered or skipped."""


class AnnotationQueue(AnnotationStanding):
    """The items that are reserved for an annotator."""

    object: Literal["annotation.queue"] = "annotation.queue"
    """Always `annotation.queue`."""
    status: RoundStatus
    """State of the round. Only an open round hands out items."""
    items: list[AnnotationItem]
    """The reserved items. Items reserved earlier come first."""


class SubmitAnswer(_Body):
    """An answer to one item, in the order in which the annotator saw the completions."""

    annotator: str
    """Name of the annotator."""
    choice: Literal["1", "2", "tie", "skip"] | None = None
    """The better completion of a pair, or a tie. `skip` skips a pair or a ranking."""
    ranks: Annotated[list[Annotated[int, Field(strict=True)]], Field(max_length=9)] | None = None
    """A rank for each completion of a ranking: 1 is the best, the same number for a tie."""
    seconds: Annotated[FiniteFloat, Field(ge=0, le=86_400)] | None = None
    """Time taken, in seconds. Left out: the time since the item was assigned."""


class AnnotationAnswer(ShownAnswer, AnnotationStanding):
    """A stored answer, in the order in which the annotator saw the completions."""

    object: Literal["annotation.answer"] = "annotation.answer"
    """Always `annotation.answer`."""
    item: str
    """The item."""
    annotator: str
    """Name of the annotator."""
    seconds: float
    """Time taken."""
    answered_at: Timestamp
    """When the platform stored it."""


class UndoAnswer(_Body):
    """Names the answer to remove from the round."""

    annotator: str
    """Name of the annotator."""
    item: str | None = None
    """The item. Without an answer to it, nothing happens. Left out: the last item that was answered or skipped."""


class AnnotationUndo(AnnotationStanding):
    """The result of undoing an answer."""

    object: Literal["annotation.undo"] = "annotation.undo"
    """Always `annotation.undo`."""
    item: AnnotationItem | None
    """The item, open again; null if there was nothing to undo."""


class ChooseRewardModel(_Body):
    """A reward model to compare the answers with."""

    checkpoint: str
    """Its checkpoint, `ckpt_…`."""


class StoredAnswer(Schema):
    """An annotator's answer to an item, in the order of the item's `completions`."""

    annotator: str
    """Name of the annotator."""
    choice: Literal["a", "b", "tie", "skip"] | None
    """Answer to a pair: `a` is the first of `completions`."""
    ranks: list[int] | None
    """Answer to a ranking: one rank for each of `completions`."""
    shown: list[int]
    """Indices, from 0, of the completions in the order in which the annotator saw them."""
    seconds: float | None
    """Time taken."""
    answered_at: Timestamp
    """When the platform stored it."""


class AnnotationResult(Schema):
    """An item with its policies, scores and answers."""

    object: Literal["annotation.result"] = "annotation.result"
    """Always `annotation.result`."""
    id: str
    """Begins with `item_`."""
    number: int
    """Number of the item in the round. It is the cursor of this list."""
    prompt: Prompt
    """Text, or messages."""
    completions: list[str]
    """The completions, in the order of the platform."""
    policies: list[int] | None
    """For each completion, its index in the round's `policies`."""
    finished: list[bool] | None
    """Whether each completion ended with a stop. The others were cut off at `max_new_tokens`. Null for the rows of a dataset."""
    row: int | None
    """Row number in the source dataset."""
    gold: dict[str, Any] | None
    """The known answer of a gold question, `choice` or `ranks`; else null."""
    scores: list[float | None] | None
    """Scores of the round's reward model; null where there is no score."""
    answers: list[StoredAnswer]
    """All answers and skips, oldest first."""


class AnnotationResultList(ListOf[AnnotationResult]):
    """Items in order. The cursor is the item's number."""


class CloseRound(_Body):
    """The dataset for the answers."""

    dataset: str | None = None
    """A dataset of preferences. It gets a version with its rows and the answers. Left out: a new dataset."""
    name: str | None = None
    """Name of a new dataset. Left out: the name of the round."""


class ContinueJob(_Body):
    """How to continue a job."""

    job: str
    """The job to continue."""
    steps: Annotated[int, Field(ge=1)] | None = None
    """Steps of PPO. Left out: the same number as in the job."""
    name: Annotated[str, Field(max_length=200)] | None = None
    """Name of the new job. Left out: it is made from the names of the job and the round."""


class AnnotationContinuation(Schema):
    """The job that `POST …/continue` would submit."""

    object: Literal["annotation.continuation"] = "annotation.continuation"
    """Always `annotation.continuation`."""
    spec: StoredSpec
    """Spec of the new job."""
    sentences: list[str]
    """Description of the new job, for people."""
