"""The shapes of the platform's answers. A test compares them with its OpenAPI schema."""

from typing import Any, TypedDict


class Session(TypedDict):
    object: str
    key: dict[str, str]
    expires_at: str | None


class FindingSample(TypedDict):
    line: int
    row: int | None
    text: str


class FindingFix(TypedDict):
    id: str
    label: str


class Finding(TypedDict):
    code: str
    severity: str
    title: str
    detail: str
    count: int
    share: float | None
    lines: list[int]
    samples: list[FindingSample]
    fix: FindingFix | None


class FindingCounts(TypedDict):
    blocking: int
    warning: int


class DataProgress(TypedDict):
    fraction: float
    note: str


class DatasetError(TypedDict):
    code: str
    message: str
    errors: list[dict[str, Any]] | None


class Dataset(TypedDict):
    object: str
    id: str
    name: str
    kind: str
    status: str
    version: int
    rows: int | None
    bytes: int | None
    sha256: str | None
    findings: FindingCounts
    progress: DataProgress | None
    error: DatasetError | None
    origin: dict[str, Any]
    created_at: str
    archived_at: str | None
    expires_at: str | None


class OverlapSide(TypedDict):
    id: str
    version: int
    rows: int


class OverlapRow(TypedDict):
    row_number: int
    line: int
    prompt: str


class OverlapSample(TypedDict):
    row: OverlapRow
    other: OverlapRow
    similarity: float


class SharedPrompts(TypedDict):
    prompts: int
    rows: int
    other_rows: int | None
    samples: list[OverlapSample]
    complete: bool


class Overlap(TypedDict):
    object: str
    dataset: OverlapSide
    other: OverlapSide
    exact: SharedPrompts
    near: SharedPrompts | None


class DatasetVersion(TypedDict):
    object: str
    id: str
    dataset_id: str
    number: int
    parent: int | None
    status: str
    rows: int | None
    bytes: int | None
    sha256: str | None
    left_out: int
    findings: list[Finding]
    origin: dict[str, Any]
    error: DatasetError | None
    created_at: str
    ready_at: str | None
    jobs: list[str]


class Histogram(TypedDict):
    name: str
    title: str
    unit: str
    edges: list[int]
    counts: list[int]
    limit: int | None
    mean: float
    median: int
    p95: int
    max: int


class LanguageShare(TypedDict):
    language: str
    rows: int
    share: float


class LengthBias(TypedDict):
    unit: str
    pairs: int
    longer_wins: float
    low: float
    high: float
    mean_difference: float
    length_only_accuracy: float
    accuracy_low: float
    accuracy_high: float
    rule: str


class Positions(TypedDict):
    pairs: int
    a: float
    b: float
    tie: float
    a_of_decided: float
    low: float
    high: float


class AnnotatorAgreement(TypedDict):
    annotator: str
    rows: int
    compared: int
    agreement: float | None
    low: float | None
    high: float | None


class Agreement(TypedDict):
    alpha: float | None
    items: int
    annotators: list[AnnotatorAgreement]


class SplitSizes(TypedDict):
    eval_fraction: float
    train: int
    eval: int
    train_prompts: int
    eval_prompts: int
    shared_prompts: int
    near_prompts: int


class ReportResult(TypedDict):
    summary: dict[str, float]
    findings: list[Finding]
    histograms: list[Histogram]
    languages: list[LanguageShare]
    length_bias: LengthBias | None
    position: Positions | None
    agreement: Agreement | None
    splits: SplitSizes | None
    special_tokens: list[str]


class Report(TypedDict):
    object: str
    id: str
    dataset_id: str
    version: int
    status: str
    progress: DataProgress | None
    settings: dict[str, Any]
    result: ReportResult | None
    error: DatasetError | None
    created_at: str


class DatasetRow(TypedDict):
    object: str
    line: int
    row_number: int
    row: dict[str, Any]
    split: str | None


class DatasetFormat(TypedDict):
    object: str
    id: str
    title: str
    kinds: list[str]
    about: str
    source: str
    example: list[dict[str, Any]]
    mapping: dict[str, Any] | None
    becomes: list[dict[str, Any]]


class DataTask(TypedDict):
    object: str
    id: str
    kind: str
    status: str
    progress: float
    note: str
    attempt: int
    error: dict[str, Any] | None
    created_at: str
    started_at: str | None
    finished_at: str | None


class UploadError(TypedDict):
    code: str
    message: str


class Upload(TypedDict):
    object: str
    id: str
    filename: str
    bytes: int | None
    bytes_received: int
    part_bytes: int
    parts: int | None
    received: list[int]
    sha256: str | None
    url: str | None
    status: str
    error: UploadError | None
    dataset: str | None
    created_at: str
    expires_at: str
    completed_at: str | None


class UploadPart(TypedDict):
    object: str
    number: int
    bytes: int


class UploadPartSum(UploadPart):
    sha256: str


class UploadLimits(TypedDict):
    object: str
    max_upload_bytes: int
    max_request_upload_bytes: int
    part_bytes: int
    import_urls: str
    import_prefixes: list[str]


class Progress(TypedDict):
    stage: str
    step: int
    total_steps: int
    stage_index: int
    stage_count: int
    fraction: float
    eta_seconds: float | None
    seeds_done: int
    seed_count: int


class JobError(TypedDict):
    code: str
    message: str


class JobSummary(TypedDict):
    """A job as lists show it."""

    object: str
    id: str
    name: str
    status: str
    status_reason: str
    queue_reason: str | None
    created_at: str
    started_at: str | None
    finished_at: str | None
    stage: str | None
    progress: Progress | None
    attempt: int
    error: JobError | None
    summary: dict[str, float] | None
    reward_sparkline: list[float]


class Job(JobSummary):
    spec: dict[str, Any]


class JobEvent(TypedDict):
    object: str
    seq: int
    attempt: int
    type: str
    created_at: str
    stage: str | None
    step: int | None
    data: dict[str, Any]


class Series(TypedDict):
    stage: str
    name: str
    steps: list[int]
    values: list[float] | None
    last: list[float] | None
    min: list[float] | None
    max: list[float] | None
    n: list[int] | None


class Metrics(TypedDict):
    object: str
    series: list[Series]
    last_seq: int


class Sample(TypedDict):
    object: str
    stage: str
    step: int
    index: int
    prompt: str
    response: str
    score: float | None
    kl: float | None
    tokens: int | None
    finished: bool | None
    judge: float | None
    reference: str | None
    reference_score: float | None
    reference_judge: float | None
    token_table: list[dict[str, Any]] | None


class SampleStep(TypedDict):
    stage: str
    step: int


class CheckpointFile(TypedDict):
    path: str
    bytes: int
    sha256: str


class Checkpoint(TypedDict):
    object: str
    id: str
    job_id: str
    attempt: int
    stage: str
    step: int
    final: bool
    best: bool
    seed: int | None
    created_at: str
    bytes: int
    metrics: dict[str, float]
    files: list[CheckpointFile]


class Worker(TypedDict):
    object: str
    id: str
    hostname: str
    job_id: str | None
    started_at: str
    last_seen_at: str


class MetricInfo(TypedDict):
    stage: str
    name: str
    label: str
    formula: str
    meaning: str
    healthy: tuple[float | None, float | None] | None
    advice: str


class Preset(TypedDict):
    name: str
    title: str
    description: str
    replace: list[str]
    spec: dict[str, Any]


class Health(TypedDict):
    status: str


class Readiness(TypedDict):
    status: str
    checks: dict[str, str]


# The shapes of what the platform answers about rounds of annotation. A test compares them with its OpenAPI schema.
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
