"""The critic card of one iteration: its critic beside the returns of the batch, before it learned from them.

Every process has the whole experience, so each computes the same card. docs/explanation/critic-card.md explains the figures.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trainer.events.critic_card import Critic, CriticCalibration, CriticLength, CriticPosition, WrongToken
from trainer.ppo.critic_measures import (
    CriticTokens,
    Numbers,
    Places,
    agreement,
    explained_variance,
    members,
    number,
    position_parts,
    quantile_bins,
    rank_correlation,
    skill,
    variance_removed,
    worst_tokens,
)
from trainer.ppo.experience import Experience, policy_lambda
from trainer.rollout.batch import ScoredBatch
from trainer.spec import PPOSpec
from trainer.text.codec import Codec

POSITIONS, VALUE_BINS, LENGTH_BINS, WORST = 5, 10, 4, 8
"""Parts of a response, bins of the values and of the lengths, and worst tokens of a card."""
_BEFORE, _AFTER = 16, 8
"""Tokens of context of a worst token."""
_CUT = "…"
_BROKEN = "\N{REPLACEMENT CHARACTER}"
_DIGITS = 7
"""Significant digits of a stored figure: those that a number of 32 bits has."""


def critic_card(experience: Experience, spec: PPOSpec, codec: Codec) -> Critic | None:
    """The card of the critic that gave the values; None without a critic, and for numbers that are not finite."""
    tokens = _tokens(experience, spec)
    if tokens is None:
        return None
    scored, heads = experience.scored, experience.heads
    mask = scored.batch.mask_BR.cpu().numpy()
    lam_B = policy_lambda(scored.batch.completion_lengths_B, spec)
    lam = _array(lam_B) if isinstance(lam_B, Tensor) else lam_B
    mask_BR, values_BR, returns_BR = tokens.mask_BR, tokens.values_BR, tokens.returns_BR()
    values, returns = values_BR[mask_BR], returns_BR[mask_BR]
    constant_BR = tokens.constant_advantages_BR(float(returns.mean()), lam)
    table = _Table(values, returns, np.abs(tokens.td_errors_BR()[mask_BR]))
    calibration = table.calibration()
    rows_B, scores_B, last_B = np.arange(len(mask_BR)), _array(scored.scores_B), tokens.lengths_B - 1
    ranks = [rank_correlation(values_BR[rows_B, at_B], scores_B) for at_B in (0 * last_B, last_B // 2, last_B)]
    rank_first, rank_middle, rank_last = map(_short, ranks)
    return Critic(
        responses=len(mask_BR),
        tokens=len(values),
        value=_rounded(values.mean()),
        returns=_rounded(returns.mean()),
        returns_std=_rounded(returns.std()),
        explained_variance=_short(explained_variance(values, returns)),
        skill=_short(skill(values, returns)),
        td_error=_rounded(table.td_errors.mean()),
        calibration_error=_rounded(sum(one.tokens * abs(one.value - one.returns) for one in calibration) / len(values)),
        variance_removed=_short(variance_removed(tokens.advantages_BR(lam)[mask_BR], constant_BR[mask_BR])),
        rank_first=rank_first,
        rank_middle=rank_middle,
        rank_last=rank_last,
        disagreement=_short(None if heads is None else number(_array(heads.disagreement_BR)[mask].mean())),
        agreement=_short(None if heads is None else agreement(_array(heads.values_BRM)[mask].T)),
        by_position=table.by_position(position_parts(tokens.lengths_B, mask_BR, POSITIONS)[mask_BR]),
        calibration=calibration,
        by_length=table.by_length(tokens.lengths_B),
        worst=_worst(tokens, returns_BR, scored, scores_B, codec),
    )


def card_metrics(card: Critic | None) -> dict[str, float]:
    """The figures of a card as metrics; {} without a card. A figure without a value has no metric."""
    if card is None:
        return {}
    found = {
        "critic/explained_var": card.explained_variance,
        "critic/skill": card.skill,
        "critic/bias": card.value - card.returns,
        "critic/returns": card.returns,
        "critic/returns_std": card.returns_std,
        "critic/td_error": card.td_error,
        "critic/calibration_error": card.calibration_error,
        "critic/variance_removed": card.variance_removed,
        "critic/disagreement": card.disagreement,
        "critic/agreement": card.agreement,
        "critic/rank_correlation/first": card.rank_first,
        "critic/rank_correlation/middle": card.rank_middle,
        "critic/rank_correlation/last": card.rank_last,
    }
    return {name: value for name, value in found.items() if value is not None}


@dataclass(frozen=True)
class _Table:
    """The tokens of all responses, one after the other."""

    values: Numbers
    returns: Numbers
    td_errors: Numbers
    """|δ| of each token."""

    def by_position(self, parts: Places) -> list[CriticPosition]:
        return [
            CriticPosition(
                low=part / POSITIONS,
                high=(part + 1) / POSITIONS,
                tokens=len(rows),
                value=_rounded(self.values[rows].mean()),
                returns=_rounded(self.returns[rows].mean()),
                explained_variance=_short(explained_variance(self.values[rows], self.returns[rows])),
                td_error=_rounded(self.td_errors[rows].mean()),
            )
            for part, rows in members(parts)
        ]

    def calibration(self) -> list[CriticCalibration]:
        return [
            CriticCalibration(
                low=_rounded(self.values[rows].min()),
                high=_rounded(self.values[rows].max()),
                tokens=len(rows),
                value=_rounded(self.values[rows].mean()),
                returns=_rounded(self.returns[rows].mean()),
            )
            for _, rows in members(quantile_bins(self.values, VALUE_BINS))
        ]

    def by_length(self, lengths_B: Places) -> list[CriticLength]:
        bins_B = quantile_bins(lengths_B.astype(np.float64), LENGTH_BINS)
        bin_of_token = np.repeat(bins_B, lengths_B)
        found = []
        for (_, responses), (_, rows) in zip(members(bins_B), members(bin_of_token), strict=True):
            found.append(
                CriticLength(
                    low=int(lengths_B[responses].min()),
                    high=int(lengths_B[responses].max()),
                    responses=len(responses),
                    value=_rounded(self.values[rows].mean()),
                    returns=_rounded(self.returns[rows].mean()),
                )
            )
        return found


def _tokens(experience: Experience, spec: PPOSpec) -> CriticTokens | None:
    """The tokens in host memory, read from the device at once; None without values, or with one that is not finite."""
    if experience.values_BR is None:
        return None
    mask_BR = experience.scored.batch.mask_BR
    columns = (experience.values_BR, experience.rewards_BR, experience.returns_BR, mask_BR)
    values_BR, rewards_BR, targets_BR, kept_BR = _array(torch.stack([column.float() for column in columns]))
    tokens = CriticTokens.of(values_BR, rewards_BR, targets_BR, kept_BR > 0, spec.advantage.gamma)
    return tokens if tokens.is_finite else None


def _worst(
    tokens: CriticTokens, returns_BR: Numbers, scored: ScoredBatch, scores_B: Numbers, codec: Codec
) -> list[WrongToken]:
    found = []
    for row, place in worst_tokens(tokens.values_BR - returns_BR, tokens.mask_BR, WORST):
        at = int(tokens.places_BR[row, place])
        before, text, after = _in_context(scored.responses[row].ids, at, codec)
        found.append(
            WrongToken(
                response=row if scored.rows is None else scored.rows[row],
                position=at,
                before=before,
                text=text,
                after=after,
                value=_rounded(tokens.values_BR[row, place]),
                returns=_rounded(returns_BR[row, place]),
                score=_rounded(scores_B[row]),
            )
        )
    return found


def _in_context(ids: list[int], at: int, codec: Codec) -> tuple[str, str, str]:
    """The text of the tokens before a token, its own, and that of the tokens after it.

    A token that is a part of a character has its name in the vocabulary.
    """
    begin, end = max(0, at - _BEFORE), at + 1 + _AFTER

    def text(end: int) -> str:
        options = {"skip_special_tokens": False, "clean_up_tokenization_spaces": False}
        return str(codec.tokenizer.decode(ids[begin:end], **options))

    before, until, whole = text(at), text(at + 1), text(end)
    own = until[len(before) :]
    if not own or until.endswith(_BROKEN):
        own = str(codec.tokenizer.convert_ids_to_tokens(ids[at]))
    return _CUT * (begin > 0) + before, own, whole[len(until) :] + _CUT * (end < len(ids))


def _array(numbers: Tensor) -> Numbers:
    return numbers.cpu().double().numpy()


def _rounded(value: np.floating | float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _short(value: float | None) -> float | None:
    return None if value is None else _rounded(value)
