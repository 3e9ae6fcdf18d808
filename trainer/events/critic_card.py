"""How good the critic is in one iteration of PPO. Tokens are those that the iteration learns from.

A return is the Monte-Carlo return: the discounted rewards from the token on. `docs/explanation/critic-card.md` has the formulas.
A figure without a value is absent: a correlation needs values that vary, and a share of a variance a variance.
"""

from pydantic import BaseModel, ConfigDict


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class CriticPosition(_Part):
    """Tokens in the same part of their responses."""

    low: float
    """Begin of the part, as a share of the response."""
    high: float
    """End of the part."""
    tokens: int
    """Their number."""
    value: float
    """Mean value."""
    returns: float
    """Mean return."""
    explained_variance: float | None = None
    """1 − Var(G − V) ÷ Var(G) over these tokens; none where the returns are equal."""
    td_error: float
    """Mean |δ|."""


class CriticCalibration(_Part):
    """Tokens with about the same value."""

    low: float
    """Lowest value."""
    high: float
    """Highest value."""
    tokens: int
    """Their number."""
    value: float
    """Mean value."""
    returns: float
    """Mean return; equal to the mean value for a calibrated critic."""


class CriticLength(_Part):
    """Responses of about the same length."""

    low: int
    """Tokens of the shortest one."""
    high: int
    """Tokens of the longest one."""
    responses: int
    """Their number."""
    value: float
    """Mean value over their tokens."""
    returns: float
    """Mean return over their tokens; the bias is the mean value less this."""


class WrongToken(_Part):
    """A token of a response whose value is farthest from its return."""

    response: int
    """Place of the response in the batch as it was sampled, from 0. The first ones are logged as completions."""
    position: int
    """Place of the token in the response, from 0."""
    before: str
    """The text of the tokens before it; "…" begins one that is cut."""
    text: str
    """The token's text."""
    after: str
    """The text of the tokens after it; "…" ends one that is cut."""
    value: float
    """The critic's value of the state before the token."""
    returns: float
    """The return from the token on."""
    score: float
    """Score of the response."""


class Critic(_Part):
    """A critic beside the returns of one batch, before it learned from them."""

    responses: int
    """Responses that the iteration learns from."""
    tokens: int
    """Their tokens."""
    value: float
    """Mean value over the tokens."""
    returns: float
    """Mean return over the tokens."""
    returns_std: float
    """Standard deviation of the returns over the tokens."""
    explained_variance: float | None = None
    """1 − Var(G − V) ÷ Var(G); none where the returns are equal."""
    skill: float | None = None
    """1 − mean (G − V)² ÷ Var(G): below 0 the mean return is a better guess than the critic."""
    td_error: float
    """Mean |δ|, δ = r + γ·V(next) − V."""
    calibration_error: float
    """Mean distance of value and return over the bins of `calibration`, weighted by their tokens."""
    variance_removed: float | None = None
    """1 − Var(A) ÷ Var(A of a constant critic): the share of the variance of the advantages that the critic removes."""
    rank_first: float | None = None
    """Spearman's correlation, over responses, of the value at the first token with the score; none where either does not vary."""
    rank_middle: float | None = None
    """The same for the value at the middle token."""
    rank_last: float | None = None
    """The same for the value at the last token."""
    disagreement: float | None = None
    """Mean over the tokens of the standard deviation over several critics; none of one critic."""
    agreement: float | None = None
    """Mean over the pairs of several critics of Spearman's correlation of their values over the tokens; none where the values of one are equal."""
    by_position: list[CriticPosition]
    """Five equal parts of each response; those without a token are left out."""
    calibration: list[CriticCalibration]
    """At most ten bins with about as many tokens each, by value."""
    by_length: list[CriticLength]
    """At most four bins with about as many responses each, by length."""
    worst: list[WrongToken]
    """The worst token of each of the responses with the largest errors, largest first."""
