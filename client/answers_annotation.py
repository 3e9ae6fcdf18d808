"""The shapes of what the platform answers about rounds of annotation. A test compares them with its OpenAPI schema."""

from typing import Any, TypedDict

from client.answers import DataProgress


class AnnotationError(TypedDict):
    code: str
    message: str


class AnnotationPolicy(TypedDict):
    checkpoint: str | None
    model: str | None
    job: str | None
    stage: str | None
    step: int | None


class AnnotationRound(TypedDict):
    object: str
    id: str
    name: str
    kind: str
    status: str
    progress: DataProgress | None
    error: AnnotationError | None
    source: dict[str, Any]
    policies: list[AnnotationPolicy] | None
    instructions: str
    overlap: int
    gold: str | None
    gold_share: float
    reservation_minutes: float
    items: int
    gold_items: int
    complete: int
    left_out: int
    cut_off: int
    answers: int
    answers_wanted: int
    annotators: int
    reward_model: str | None
    dataset: str | None
    version: int | None
    jobs: list[str]
    created_at: str
    closed_at: str | None


class AnnotationSaid(TypedDict):
    choice: str | None
    ranks: list[int] | None


class AnnotationItem(TypedDict):
    object: str
    id: str
    kind: str
    prompt: str | list[dict[str, Any]]
    completions: list[str]
    previous: AnnotationSaid | None
    reserved_until: str


class AnnotationQueue(TypedDict):
    object: str
    done: int
    total: int
    last_item: str | None
    status: str
    items: list[AnnotationItem]


class AnnotationAnswer(AnnotationSaid):
    object: str
    done: int
    total: int
    last_item: str | None
    item: str
    annotator: str
    seconds: float
    answered_at: str


class AnnotationUndo(TypedDict):
    object: str
    done: int
    total: int
    last_item: str | None
    item: AnnotationItem | None


class AnnotatorProgress(TypedDict):
    annotator: str
    answers: int
    skips: int
    ties: int
    median_seconds: float | None
    per_hour: float | None
    gold_right: int
    gold_of: int
    agreement: float | None
    kappa: float | None
    reward_model_agreement: float | None
    last_at: str


class AnnotationSide(TypedDict):
    policy: int
    checkpoint: str | None
    model: str | None
    wins: int
    losses: int
    ties: int


class RewardModelProgress(TypedDict):
    checkpoint: str
    status: str
    progress: DataProgress | None
    error: AnnotationError | None
    agree: int
    of: int
    low: float | None
    high: float | None


class AnnotationProgress(TypedDict):
    object: str
    items: int
    items_done: int
    answers: int
    answers_wanted: int
    skips: int
    ties: int
    first_chosen: int
    second_chosen: int
    annotators: list[AnnotatorProgress]
    alpha: float | None
    alpha_items: int
    alpha_level: str
    pairwise: float | None
    gold_right: int
    gold_of: int
    sides: list[AnnotationSide] | None
    reward_model: RewardModelProgress | None


class AnnotationGiven(TypedDict):
    annotator: str
    choice: str | None
    ranks: list[int] | None
    shown: list[int]
    seconds: float | None
    answered_at: str


class AnnotationResult(TypedDict):
    object: str
    id: str
    number: int
    prompt: str | list[dict[str, Any]]
    completions: list[str]
    policies: list[int] | None
    finished: list[bool] | None
    row: int | None
    gold: dict[str, Any] | None
    scores: list[float | None] | None
    answers: list[AnnotationGiven]


class AnnotationContinuation(TypedDict):
    object: str
    spec: dict[str, Any]
    sentences: list[str]
