from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, PositiveInt

from api.datasets.schemas import DataProgress, DatasetError, Finding
from api.schema import ListOf, Schema, Timestamp
from core.models.tasks import TaskStatus


class RequestReport(Schema):
    """What a report is to look at. The same wishes for the same version are the same report."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    version: PositiveInt | None = None
    """Which of the dataset's. Left out: the newest."""
    model: Annotated[str, Field(min_length=1)] | None = None
    """With whose tokenizer: a checkpoint's id, a hub id, or a folder that the operator allows. Left out: lengths are in characters and words."""
    chat_template: Literal["auto", "none"] | None = None
    """As `data.chat_template` of a job. Left out: `auto`."""
    max_prompt_tokens: PositiveInt | None = None
    """As a job's. Left out: the job's default."""
    max_completion_tokens: PositiveInt | None = None
    """As a job's. Left out: the job's default."""
    eval_fraction: Annotated[float, Field(gt=0, lt=1)] | None = None
    """As a job's. Left out: the job's default."""


class ApplyFixes(Schema):
    """What is to be done about findings."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    findings: Annotated[list[str], Field(min_length=1)]
    """Their codes. `leave_out` stands for everything that the import could not use."""
    version: PositiveInt | None = None
    """Which of the dataset's. Left out: the newest."""
    report: str | None = None
    """Whose findings are meant, `rep_…`. Left out: the newest finished report on the version."""


class Histogram(Schema):
    """How long texts of one sort are. The last bin takes its upper edge too, and the longest hundredth of the texts."""

    name: str
    """For programs, such as `prompt_tokens`."""
    title: str
    """For people."""
    unit: str
    """`tokens`, `characters` or `words`."""
    edges: list[int]
    """Where bins begin and, last, where they end."""
    counts: list[int]
    """Texts in each bin."""
    limit: int | None
    """In tokens, the job's: what is longer is left out or cut."""
    mean: float
    """Over all texts."""
    median: int
    """Half of the texts are as long at most."""
    p95: int
    """95 of 100 are."""
    max: int
    """The longest one."""


class LanguageShare(Schema):
    """Of a sample of 2,000 rows at most."""

    language: str
    """ISO 639-1; `und` where it cannot be told."""
    rows: int
    """Of the sample."""
    share: float
    """Of the sample, from 0 to 1."""


class LengthBias(Schema):
    """What lengths alone tell of the decided pairs; a ranking counts once, by its best and its worst answer."""

    unit: str
    """`tokens` or `characters`."""
    pairs: int
    """Whose answers differ in length."""
    longer_wins: float
    """Share of them."""
    low: float
    """Of Wilson's 95 % interval of it."""
    high: float
    """Of the same."""
    mean_difference: float
    """Preferred less other, over all decided pairs."""
    length_only_accuracy: float
    """Of the best rule of the form in `rule`."""
    accuracy_low: float
    """Of Wilson's 95 % interval of it."""
    accuracy_high: float
    """Of the same."""
    rule: str
    """For people: what the longer or the shorter one does."""


class Positions(Schema):
    """Shares of the pairs."""

    pairs: int
    """Judged, with two answers."""
    a: float
    """Preferred on the first side."""
    b: float
    """On the second."""
    tie: float
    """Neither."""
    a_of_decided: float
    """Without the ties."""
    low: float
    """Of Wilson's 95 % interval of it."""
    high: float
    """Of the same."""


class AnnotatorAgreement(Schema):
    """Of one annotator."""

    annotator: str
    """As the rows name them."""
    rows: int
    """That they have judged."""
    compared: int
    """Pairs of answers that two others or more judged too, with a majority among them."""
    agreement: float | None
    """How often the verdict is that majority's."""
    low: float | None
    """Of Wilson's 95 % interval of it."""
    high: float | None
    """Of the same."""


class Agreement(Schema):
    """How far annotators agree."""

    alpha: float | None
    """Krippendorff's α of nominal verdicts: 1 full agreement, 0 what chance would give; null where it is not defined."""
    items: int
    """Pairs of answers that several judged."""
    annotators: list[AnnotatorAgreement]
    """The hundred with most rows, most first, and then up to a hundred of the others who mostly disagree."""


class SplitSizes(Schema):
    """What a run with this dataset alone would train on and hold out."""

    eval_fraction: float
    """As asked for."""
    train: int
    """Rows."""
    eval: int
    """Rows."""
    train_prompts: int
    """Different ones."""
    eval_prompts: int
    """Different ones."""
    shared_prompts: int
    """On both sides: always 0."""
    near_prompts: int
    """Held-out ones with a near duplicate among the others."""


class ReportResult(Schema):
    """What was found."""

    summary: dict[str, float]
    """Figures by name: rows, prompts, pairs, ties, duplicates, truncated, steps of each stage, …"""
    findings: list[Finding]
    """Blocking ones first."""
    histograms: list[Histogram]
    """Of prompts and answers."""
    languages: list[LanguageShare]
    """Most rows first."""
    length_bias: LengthBias | None
    """Null where nothing is decided, or all answers are of one length."""
    position: Positions | None
    """Null where sides mean nothing."""
    agreement: Agreement | None
    """Null where no two who are named judged the same answers."""
    splits: SplitSizes | None
    """Null for rows without prompts."""
    special_tokens: list[str]
    """Those that texts spell out, also once others are taken out of them."""


class Report(Schema):
    """What is good and bad about a version."""

    object: Literal["dataset.report"] = "dataset.report"
    """Always `dataset.report`."""
    id: str
    """Begins with `rep_`."""
    dataset_id: str
    """Whose version it is about."""
    version: int
    """Its number."""
    status: TaskStatus
    """`queued`, `running`, then `done`, `failed` or `cancelled`."""
    progress: DataProgress | None
    """While it is being made."""
    settings: dict[str, Any]
    """As asked for; what is not there is the default."""
    result: ReportResult | None
    """Once it is done."""
    error: DatasetError | None
    """Why it failed, if it did."""
    created_at: Timestamp
    """When it was first asked for."""


class ReportList(ListOf[Report]):
    """Reports, newest first."""
