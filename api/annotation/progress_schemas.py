"""The figures of a round of annotation."""

from typing import Literal

from api.datasets.schemas import DataProgress
from api.schema import Schema, Timestamp


class AnnotationError(Schema):
    """What went wrong."""

    code: str
    """For programs."""
    message: str
    """For people."""


class AnnotatorProgress(Schema):
    """One annotator's share, speed and quality."""

    annotator: str
    """The name that they go by."""
    answers: int
    """Gold questions and skips not counted."""
    skips: int
    """How many."""
    ties: int
    """Among the answers; rankings in which two share a rank."""
    median_seconds: float | None
    """Of an answer."""
    per_hour: float | None
    """Answers in an hour of answering."""
    gold_right: int
    """Gold questions answered as they should be; of a ranking each of its pairs counts."""
    gold_of: int
    """Of so many."""
    agreement: float | None
    """How often they said what most of the others said of the same pair; null where nobody else said anything."""
    kappa: float | None
    """The same beyond chance: Cohen's κ."""
    reward_model_agreement: float | None
    """How often they preferred what the reward model prefers; null while it has no scores."""
    last_at: Timestamp
    """When they last answered or skipped."""


class AnnotationSide(Schema):
    """One policy against the others."""

    policy: int
    """Its place in the round's `policies`."""
    checkpoint: str | None
    """Its checkpoint."""
    model: str | None
    """A model that is no checkpoint."""
    wins: int
    """Answers that prefer it; of a ranking each pair counts."""
    losses: int
    """Answers that prefer another."""
    ties: int
    """Answers that prefer neither."""


class RewardModelProgress(Schema):
    """What the reward model thinks of what people said."""

    checkpoint: str
    """Whose scores these are."""
    status: Literal["queued", "scoring", "done", "failed"]
    """Whether they are there."""
    progress: DataProgress | None
    """How far the scoring is; null when it is over."""
    error: AnnotationError | None
    """Why they could not be made."""
    agree: int
    """Answers that prefer what the reward model scores higher."""
    of: int
    """Answers that are no ties."""
    low: float | None
    """Lower end of the share's 95 % interval (Wilson); null without answers."""
    high: float | None
    """Upper end of it."""


class AnnotationProgress(Schema):
    """The figures of a round."""

    object: Literal["annotation.progress"] = "annotation.progress"
    """Always `annotation.progress`."""
    items: int
    """How many there are to compare."""
    items_done: int
    """Those with as many answers as are wanted."""
    answers: int
    """Gold questions and skips not counted."""
    answers_wanted: int
    """Items times overlap."""
    skips: int
    """How many."""
    ties: int
    """Among the answers; rankings in which two share a rank."""
    first_chosen: int
    """Answers for the completion that was shown first: far from half of them, it is the place that is chosen."""
    second_chosen: int
    """Answers for the one that was shown second."""
    annotators: list[AnnotatorProgress]
    """By name."""
    alpha: float | None
    """Krippendorff's α over all pairs that several people compared: 1 is full agreement, 0 what chance would give. Null where there is nothing to compare, or nobody ever differed from one label."""
    alpha_items: int
    """Items that several people answered."""
    alpha_level: Literal["nominal"] = "nominal"
    """Labels are compared as equal or not."""
    pairwise: float | None
    """Of all pairs of answers to the same thing, the share that are equal."""
    gold_right: int
    """Gold questions answered as they should be."""
    gold_of: int
    """Of so many."""
    sides: list[AnnotationSide] | None
    """Who wins, in a round of several policies."""
    reward_model: RewardModelProgress | None
    """Agreement with a reward model; null while none is named."""
