"""The contents of a report, as it is stored and as the API returns it."""

from data.findings import Described, Finding


class Histogram(Described):
    """Lengths of the texts of one kind. The last bin includes its upper edge and the longest 1 % of the texts."""

    name: str
    """For programs, such as `prompt_tokens`."""
    title: str
    """For people."""
    unit: str
    """`tokens`, `characters` or `words`."""
    edges: list[int]
    """Lower edges of the bins, then the upper edge of the last one."""
    counts: list[int]
    """Number of texts in each bin."""
    limit: int | None
    """The job's limit in tokens. Longer texts are left out or cut."""
    mean: float
    """Mean length."""
    median: int
    """Median length."""
    p95: int
    """95th percentile of the length."""
    max: int
    """Length of the longest text."""


class LanguageShare(Described):
    """Share of one language in a sample of at most 2,000 rows."""

    language: str
    """ISO 639-1 code; `und` if the language is not detected."""
    rows: int
    """Rows of the sample in this language."""
    share: float
    """Share of the sample, from 0 to 1."""


class LengthBias(Described):
    """How well lengths alone predict the preferences. A ranking counts once, by its best and its worst answer."""

    unit: str
    """`tokens` or `characters`."""
    pairs: int
    """Decided pairs whose answers differ in length."""
    longer_wins: float
    """Share of these pairs in which the longer answer is preferred."""
    low: float
    """Lower end of Wilson's 95 % interval of it."""
    high: float
    """Upper end of the interval."""
    mean_difference: float
    """Mean length of the preferred answer minus that of the other one, over all decided pairs."""
    length_only_accuracy: float
    """Accuracy of the rule in `rule`."""
    accuracy_low: float
    """Lower end of Wilson's 95 % interval of it."""
    accuracy_high: float
    """Upper end of the interval."""
    rule: str
    """The best rule that uses lengths only, for people."""


class Positions(Described):
    """Shares of the preferences by position."""

    pairs: int
    """Labelled pairs."""
    a: float
    """Share of pairs that prefer the first answer."""
    b: float
    """Share of pairs that prefer the second answer."""
    tie: float
    """Share of ties."""
    a_of_decided: float
    """Share of pairs that prefer the first answer, ties left out."""
    low: float
    """Lower end of Wilson's 95 % interval of it."""
    high: float
    """Upper end of the interval."""


class AnnotatorAgreement(Described):
    """Agreement of one annotator with the majority."""

    annotator: str
    """Name of the annotator in the rows."""
    rows: int
    """Rows that the annotator labelled."""
    compared: int
    """Pairs that at least two other annotators labelled too, with a majority among them."""
    agreement: float | None
    """Share of these pairs in which the annotator's label is the majority's."""
    low: float | None
    """Lower end of Wilson's 95 % interval of it."""
    high: float | None
    """Upper end of the interval."""


class Agreement(Described):
    """Agreement between annotators."""

    alpha: float | None
    """Krippendorff's α of nominal verdicts: 1 full agreement, 0 what chance would give; null where it is not defined."""
    items: int
    """Pairs that several annotators labelled."""
    annotators: list[AnnotatorAgreement]
    """The hundred annotators with most rows, then up to a hundred of the others with the lowest agreement."""


class SplitSizes(Described):
    """Sizes of the training and the evaluation split of a run with this dataset alone."""

    eval_fraction: float
    """Requested share of the prompts in the evaluation split."""
    train: int
    """Rows in the training split."""
    eval: int
    """Rows in the evaluation split."""
    train_prompts: int
    """Distinct prompts in the training split."""
    eval_prompts: int
    """Distinct prompts in the evaluation split."""
    shared_prompts: int
    """Prompts in both splits: always 0."""
    near_prompts: int
    """Prompts of the evaluation split with a near duplicate in the training split."""


class ReportResult(Described):
    """The contents of a report."""

    summary: dict[str, float]
    """Figures by name: rows, prompts, pairs, ties, duplicates, truncated, steps of each stage, …"""
    findings: list[Finding]
    """Blocking ones first."""
    histograms: list[Histogram]
    """Lengths of prompts and answers."""
    languages: list[LanguageShare]
    """Most rows first."""
    length_bias: LengthBias | None
    """Null without decided pairs, and if all answers have the same length."""
    position: Positions | None
    """Null where the order of the answers has no meaning."""
    agreement: Agreement | None
    """Null if no two named annotators labelled the same answers."""
    splits: SplitSizes | None
    """Null for rows without prompts."""
    special_tokens: list[str]
    """Special tokens that the texts contain, also those that appear once others are removed."""
