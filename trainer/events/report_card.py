"""Where a reward model can be trusted: its figures on held-out pairs or thumbs, slice by slice."""

from typing import Literal

from pydantic import BaseModel, ConfigDict


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Slice(_Part):
    """Some of the pairs, ties left out; in a pointwise card, some of the completions."""

    pairs: int
    """Their number."""
    accuracy: float
    """Share in which the preferred answer scores higher; of completions, whose score has the sign of their thumb."""
    low: float
    """Lower end of the accuracy's 95 % interval (Wilson)."""
    high: float
    """Upper end of the interval."""
    confidence: float | None = None
    """Mean probability that the reward model gives to the answer it ranks first, σ(|Δ|), or to the thumb it expects, σ(|r|). It equals the accuracy of a calibrated model."""


class CalibrationBin(_Part):
    """Pairs in which the reward model is about equally sure, or completions to which it gives about the same odds."""

    low: float
    """Lower end of the bin of σ(|Δ|), or of σ(r)."""
    high: float
    """Upper end of the bin."""
    pairs: int
    """Their number."""
    predicted: float
    """Mean σ(|Δ|); of completions mean σ(r), the probability of a thumb up."""
    observed: float
    """Share in which the answer it ranks first is the preferred one; of completions the share of thumbs up."""


class Card(_Part):
    """A reward model on held-out pairs. Scores are raw: before normalisation, their differences are log odds."""

    loss: Literal["pairwise"] = "pairwise"
    """The reward model's loss."""
    overall: Slice
    by_source: dict[str, Slice] = {}
    """By the rows' `source`."""
    by_length: dict[str, Slice] = {}
    """By the tokens of the preferred answer over those of the other one."""
    by_agreement: dict[str, Slice] = {}
    """Pairs that several people labelled: `unanimous`, `majority` (measured against the label of most), `split` (no majority: against each label); each pair counts once."""
    by_member: dict[str, Slice] = {}
    """By the number of the member of an ensemble (`reward_model.members`), from 1, with the accuracy of that member alone."""
    agreement: float | None = None
    """Share of the pairs in which all members of an ensemble prefer the same answer; none for a single reward model."""
    ties: int
    """Pairs without a preference, which are in no slice."""
    calibration: list[CalibrationBin]
    """Ten bins from ½ to 1; empty ones are left out."""
    calibration_error: float
    """Mean distance of predicted and observed over the bins, weighted by their pairs (ECE)."""
    length_baseline: Slice
    """The accuracy of choosing the longer answer. Equal lengths are half right."""
    length_correlation: float | None = None
    """Pearson's, between an answer's score and its length in tokens; none where either does not vary."""
    margin: float
    """Mean r(preferred) − r(other)."""
    references: int
    """SFT reference answers measured."""
    reference_mean: float | None = None
    """Mean of their raw scores."""
    reference_std: float | None = None
    """Standard deviation of their raw scores."""


class PointwiseCard(_Part):
    """A reward model on held-out completions, each with a thumb. Scores are raw: the log odds of a thumb up.

    With the loss `stepwise`, each labelled step counts as a completion that ends with it, and a good step as a thumb up. The steps
    of one solution are not independent, so the intervals are narrower than they should be.
    """

    loss: Literal["pointwise", "stepwise"] = "pointwise"
    """The reward model's loss."""
    first_error_accuracy: float | None = None
    """Share of the solutions whose first bad step is the first with a score of 0 or less; none without steps."""
    overall: Slice
    by_thumb: dict[str, Slice] = {}
    """By the verdict: `up`, `down`. Their accuracies are sensitivity and specificity."""
    by_source: dict[str, Slice] = {}
    """By the rows' `source`."""
    by_member: dict[str, Slice] = {}
    """By the number of the member of an ensemble (`reward_model.members`), from 1, with the accuracy of that member alone."""
    agreement: float | None = None
    """Share of the completions whose thumb all members of an ensemble expect alike; none for a single reward model."""
    auc: float | None = None
    """Probability that a completion with a thumb up scores higher than one with a thumb down; none without both."""
    majority_baseline: float
    """Share of the more frequent verdict: the accuracy of always expecting it."""
    calibration: list[CalibrationBin]
    """Ten bins from 0 to 1; empty ones are left out."""
    calibration_error: float
    """Mean distance of predicted and observed over the bins, weighted by their completions (ECE)."""
    length_correlation: float | None = None
    """Pearson's, between a completion's score and its length in tokens; none where either does not vary."""
    margin: float | None = None
    """Mean score of thumbs up − mean score of thumbs down."""
    references: int
    """SFT reference answers measured."""
    reference_mean: float | None = None
    """Mean of their raw scores."""
    reference_std: float | None = None
    """Standard deviation of their raw scores."""
