"""The figures of a round of annotation."""

from typing import Literal

from api.schema import DataProgress, Schema, Timestamp


class AnnotationError(Schema):
    """Why a step of the round failed."""

    code: str
    """For programs."""
    message: str
    """For people."""


class AnnotatorProgress(Schema):
    """One annotator's share, speed and quality."""

    annotator: str
    """Name of the annotator."""
    answers: int
    """Answers, without gold questions and skips."""
    skips: int
    """Skipped items."""
    ties: int
    """Answers with a tie, including rankings in which two completions share a rank."""
    median_seconds: float | None
    """Median time of an answer."""
    per_hour: float | None
    """Answers per hour of work."""
    gold_right: int
    """Gold questions answered correctly. Each pair of a ranking counts."""
    gold_of: int
    """Gold questions answered."""
    agreement: float | None
    """Share of this annotator's labels that equal the majority of the other labels of the same pair. Null if no other annotator labelled these pairs."""
    kappa: float | None
    """Cohen's κ: the agreement corrected for chance."""
    reward_model_agreement: float | None
    """Share of preferences on which the reward model agrees; null while it has no scores."""
    last_at: Timestamp
    """Time of the last answer or skip."""


class AnnotationSide(Schema):
    """Wins and losses of one policy against the others."""

    policy: int
    """Index in the round's `policies`."""
    checkpoint: str | None
    """Its checkpoint."""
    model: str | None
    """Path or hub id of a model that is not a checkpoint."""
    wins: int
    """Answers that prefer it. Each pair of a ranking counts."""
    losses: int
    """Answers that prefer another."""
    ties: int
    """Answers that prefer neither."""


class RewardModelProgress(Schema):
    """Agreement of the annotators with a reward model."""

    checkpoint: str
    """The reward model's checkpoint."""
    status: Literal["queued", "scoring", "succeeded", "failed"]
    """State of the scoring."""
    progress: DataProgress | None
    """Progress of the scoring; null once it has ended."""
    error: AnnotationError | None
    """Why the scoring failed."""
    agree: int
    """Answers that prefer the completion with the higher score."""
    of: int
    """Answers without ties."""
    low: float | None
    """Lower end of the share's 95 % interval (Wilson); null without answers."""
    high: float | None
    """Upper end of it."""


class AnnotationProgress(Schema):
    """The figures of a round."""

    object: Literal["annotation.progress"] = "annotation.progress"
    """Always `annotation.progress`."""
    items: int
    """Items to compare, without gold questions."""
    items_done: int
    """Items with as many answers as are wanted."""
    answers: int
    """Answers, without gold questions and skips."""
    answers_wanted: int
    """Items times overlap."""
    skips: int
    """Skipped items."""
    ties: int
    """Answers with a tie, including rankings in which two completions share a rank."""
    first_chosen: int
    """Answers that prefer the completion that was shown first. A share far from one half indicates a position bias."""
    second_chosen: int
    """Answers that prefer the completion that was shown second."""
    annotators: list[AnnotatorProgress]
    """The annotators, sorted by name."""
    alpha: float | None
    """Krippendorff's α over the pairs that several people compared: 1 is full agreement, 0 is chance. Null without such pairs, and if all labels are equal."""
    alpha_items: int
    """Items that several people have answered."""
    alpha_level: Literal["nominal"] = "nominal"
    """Labels are compared as equal or not."""
    pairwise: float | None
    """Share of equal pairs among all pairs of answers to the same item."""
    gold_right: int
    """Gold questions answered correctly."""
    gold_of: int
    """Gold questions answered."""
    sides: list[AnnotationSide] | None
    """Wins of each policy, in a round of several policies."""
    reward_model: RewardModelProgress | None
    """Agreement with a reward model; null while the round has none."""
