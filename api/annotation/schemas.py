"""Rounds of annotation. What a new round is to be is described in core/annotation/spec.py."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, FiniteFloat

from api.annotation.progress_schemas import AnnotationError
from api.datasets.schemas import DataProgress
from api.jobs.schemas import StoredSpec
from api.schema import ListOf, Schema, Timestamp
from core.annotation.spec import RoundFromCheckpoints, RoundFromDataset
from core.models.annotation import RoundKind, RoundStatus

Message = dict[str, Any]
Prompt = str | list[Message]


class _Body(Schema):
    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=False)


class AnnotationPolicy(Schema):
    """Whose completions are compared."""

    checkpoint: str | None
    """Its checkpoint, `ckpt_…`; null for a model that is none."""
    model: str | None
    """A model that is no checkpoint, as it was named."""
    job: str | None
    """The job that the checkpoint is from."""
    stage: str | None
    """The stage of that job."""
    step: int | None
    """The step of that stage."""


class AnnotationRound(Schema):
    """A set of items that people compare."""

    object: Literal["annotation.round"] = "annotation.round"
    """Always `annotation.round`."""
    id: str
    """Begins with `ann_`."""
    name: str
    """For people."""
    kind: RoundKind
    """What is asked of an item."""
    status: RoundStatus
    """Where it is in its life."""
    progress: DataProgress | None
    """How far the data task is that a round waits for while it is preparing or closing; else null."""
    error: AnnotationError | None
    """Why the items could not be made (`failed`), or the answers not be written (`paused` again); else null."""
    source: Annotated[RoundFromDataset | RoundFromCheckpoints, Field(discriminator="type")]
    """Where the completions come from; datasets by version."""
    policies: list[AnnotationPolicy] | None
    """Of a round of completions, whose they are; `sides` and an item's `policies` count in it."""
    instructions: str
    """What annotators should look at."""
    overlap: int
    """How many annotators should answer each item."""
    gold: str | None
    """The dataset version that the gold questions are from."""
    gold_share: float
    """Share of gold questions among what each annotator is shown."""
    reservation_minutes: float
    """How long an item that was handed out is kept for its annotator."""
    items: int
    """How many there are to compare."""
    gold_items: int
    """How many gold questions there are beside them."""
    complete: int
    """Items with as many answers as are wanted."""
    left_out: int
    """Rows or prompts that could not become an item: too long, or answered by all policies with the same."""
    cut_off: int
    """Items in which a completion did not end by itself: it was cut off at `max_new_tokens`."""
    answers: int
    """How many answers there are, gold questions and skips not counted."""
    answers_wanted: int
    """Items times overlap."""
    annotators: int
    """How many people have answered or skipped something."""
    reward_model: str | None
    """The reward model's checkpoint that the answers are compared with."""
    dataset: str | None
    """The dataset that it was, or is being, closed into."""
    version: int | None
    """The number of its version there."""
    jobs: list[str]
    """Jobs that went on with it."""
    created_at: Timestamp
    """When it was made."""
    closed_at: Timestamp | None
    """When its answers had become a dataset version."""


class AnnotationRoundList(ListOf[AnnotationRound]):
    """Rounds, newest first unless asked otherwise."""


class NextItems(_Body):
    """Who asks for items."""

    annotator: str
    """The name that they go by, in answers and in the dataset."""
    limit: Annotated[int, Field(ge=1, le=10)] = 1
    """Most items to hand out."""


class AnnotationSaid(Schema):
    """What somebody said, in the places that they saw."""

    choice: Literal["1", "2", "tie", "skip"] | None
    """Of a pair; or a skip."""
    ranks: list[int] | None
    """Of a ranking: 1 is the best, the same number for a tie."""


class AnnotationItem(Schema):
    """What an annotator sees: neither whose completions these are, nor whether the answer is known."""

    object: Literal["annotation.item"] = "annotation.item"
    """Always `annotation.item`."""
    id: str
    """Begins with `item_`."""
    kind: RoundKind
    """What is asked."""
    prompt: Prompt
    """Text, or messages."""
    completions: list[str]
    """In the order that this annotator sees, the same each time."""
    previous: AnnotationSaid | None
    """What they had said before they took it back; null if nothing."""
    reserved_until: Timestamp
    """Until then nobody else gets their place."""


class AnnotationStanding(Schema):
    """How far an annotator is."""

    done: int
    """What they have answered or skipped."""
    total: int
    """That, and what there still is for them; a guess where gold questions are mixed in."""
    last_item: str | None
    """What they answered or skipped last."""


class AnnotationQueue(AnnotationStanding):
    """What an annotator has before them."""

    object: Literal["annotation.queue"] = "annotation.queue"
    """Always `annotation.queue`."""
    status: RoundStatus
    """The round's; nothing is handed out unless it is open."""
    items: list[AnnotationItem]
    """First what they hold already, in the order in which it was handed out."""


class GiveAnswer(_Body):
    """An answer to one item, in the places that were seen."""

    annotator: str
    """Who answers."""
    choice: Literal["1", "2", "tie", "skip"] | None = None
    """Which completion of a pair is better; or a skip, of a pair or a ranking."""
    ranks: Annotated[list[Annotated[int, Field(strict=True)]], Field(max_length=9)] | None = None
    """A rank for each completion of a ranking: 1 is the best, the same number for a tie."""
    seconds: Annotated[FiniteFloat, Field(ge=0, le=86_400)] | None = None
    """How long it took. Left out: since the item was handed out."""


class AnnotationAnswer(AnnotationSaid, AnnotationStanding):
    """An answer as it is stored, in the places that were seen."""

    object: Literal["annotation.answer"] = "annotation.answer"
    """Always `annotation.answer`."""
    item: str
    """The item."""
    annotator: str
    """Who answered."""
    seconds: float
    """How long it took."""
    answered_at: Timestamp
    """When."""


class TakeBack(_Body):
    """An answer that is taken back."""

    annotator: str
    """Who had answered."""
    item: str | None = None
    """The item; nothing happens if it has no answer of theirs. Left out: what they answered or skipped last."""


class AnnotationUndo(AnnotationStanding):
    """What was taken back."""

    object: Literal["annotation.undo"] = "annotation.undo"
    """Always `annotation.undo`."""
    item: AnnotationItem | None
    """The item, open again; null if there was nothing to take back."""


class ChooseRewardModel(_Body):
    """A reward model to compare the answers with."""

    checkpoint: str
    """Its checkpoint, `ckpt_…`."""


class AnnotationGiven(Schema):
    """One annotator's answer to an item, in true positions."""

    annotator: str
    """Who."""
    choice: Literal["a", "b", "tie", "skip"] | None
    """Of a pair: `a` is the first of `completions`."""
    ranks: list[int] | None
    """Of a ranking, one for each of `completions`."""
    shown: list[int]
    """Which completion (from 0) stood at each place that they saw."""
    seconds: float | None
    """How long it took."""
    answered_at: Timestamp
    """When."""


class AnnotationResult(Schema):
    """An item with all that is known of it: nothing for who is still to answer."""

    object: Literal["annotation.result"] = "annotation.result"
    """Always `annotation.result`."""
    id: str
    """Begins with `item_`."""
    number: int
    """Its place in the round: the cursor of this list."""
    prompt: Prompt
    """Text, or messages."""
    completions: list[str]
    """In true order."""
    policies: list[int] | None
    """Whose each is, as places in the round's `policies`."""
    finished: list[bool] | None
    """Which ended by themselves; the others were cut off at `max_new_tokens`. Null for the rows of a dataset."""
    row: int | None
    """Of the source's row, its number."""
    gold: dict[str, Any] | None
    """The known answer of a gold question, `choice` or `ranks`; else null."""
    scores: list[float | None] | None
    """By the round's reward model; null where it has not scored."""
    answers: list[AnnotationGiven]
    """In the order in which they were given, skips too."""


class AnnotationResultList(ListOf[AnnotationResult]):
    """Items in order. The cursor is the item's number."""


class CloseRound(_Body):
    """Where the answers go."""

    dataset: str | None = None
    """A dataset of preferences to add a version to: its rows, and behind them the answers. Left out: a new one."""
    name: str | None = None
    """Of the new dataset. Left out: after the round."""


class ContinueJob(_Body):
    """How to go on."""

    job: str
    """The job to go on with."""
    steps: Annotated[int, Field(ge=1)] | None = None
    """Steps of PPO. Left out: as many as the job had."""
    name: Annotated[str, Field(max_length=200)] | None = None
    """Of the new job. Left out: after the job and the round."""


class AnnotationContinuation(Schema):
    """What going on would be."""

    object: Literal["annotation.continuation"] = "annotation.continuation"
    """Always `annotation.continuation`."""
    spec: StoredSpec
    """The new job's."""
    sentences: list[str]
    """What it will do, for people."""
