"""Measures of a critic on one batch: pure functions over arrays in 64 bits.

Notation: V is the critic's value of the state before a token, G the Monte-Carlo return from the token on, δ the error of
one-step temporal differences. A measure that has no value is None: one of a variance that is 0, and one of numbers that are
not finite. docs/explanation/critic-card.md explains each measure.

Arrays are packed: the tokens of a response lie side by side from the left, also where the mask has gaps.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]


@dataclass(frozen=True)
class CriticTokens:
    """The tokens of a batch, (B, R) each and 0 outside the mask. Every response has a token."""

    values_BR: Numbers
    rewards_BR: Numbers
    """The rewards. That of the last token includes γ·V of the state after it, if the response was cut off and goes on there."""
    mask_BR: Flags
    lengths_B: Places
    places_BR: Places
    """The place of each token in the arrays before they were packed."""
    gamma: float

    @classmethod
    def of(
        cls, values_BR: Numbers, rewards_BR: Numbers, targets_BR: Numbers, mask_BR: Flags, gamma: float
    ) -> "CriticTokens":
        """Pack arrays with any mask. `targets_BR` are the critic's targets.

        At the last token a target of GAE is r + γ·V(after) for every λ, so it holds the value after a cut where there is one.
        """
        lengths_B, rows_B, steps_R = mask_BR.sum(1), np.arange(len(mask_BR)), np.arange(mask_BR.shape[1])
        packed_BR = steps_R < lengths_B[:, None]
        has_gaps = bool((packed_BR != mask_BR).any())
        places_BR = np.argsort(~mask_BR, 1, "stable") if has_gaps else np.broadcast_to(steps_R, mask_BR.shape)

        def pack(numbers_BR: Numbers) -> Numbers:
            moved_BR = np.take_along_axis(numbers_BR, places_BR, 1) if has_gaps else numbers_BR
            return np.where(packed_BR, moved_BR, 0.0)

        packed_rewards_BR = pack(rewards_BR)
        packed_rewards_BR[rows_B, lengths_B - 1] = pack(targets_BR)[rows_B, lengths_B - 1]
        return cls(pack(values_BR), packed_rewards_BR, packed_BR, lengths_B, places_BR, gamma)

    @property
    def is_finite(self) -> bool:
        return bool(np.isfinite(self.values_BR).all() and np.isfinite(self.rewards_BR).all())

    def returns_BR(self) -> Numbers:
        """G of each token: Σₖ γᵏ·rₜ₊ₖ (Sutton and Barto 2018, eq. 3.8)."""
        return discounted_sums(self.rewards_BR, self.gamma)

    def td_errors_BR(self) -> Numbers:
        """δₜ = rₜ + γ·V(sₜ₊₁) − V(sₜ) (Sutton 1988)."""
        return self._td_errors_of(self.values_BR)

    def advantages_BR(self, lam: float | Numbers) -> Numbers:
        """Aₜ = Σₖ (γλ)ᵏ·δₜ₊ₖ (Schulman et al. 2016, eq. 16). λ is one number, or one per response (B,)."""
        return discounted_sums(self.td_errors_BR(), self.gamma * lam)

    def constant_advantages_BR(self, constant: float, lam: float | Numbers) -> Numbers:
        """The same with a critic that gives every state the same value."""
        return discounted_sums(self._td_errors_of(np.where(self.mask_BR, constant, 0.0)), self.gamma * lam)

    def _td_errors_of(self, values_BR: Numbers) -> Numbers:
        next_BR = np.zeros_like(values_BR)
        next_BR[:, :-1] = values_BR[:, 1:]  # 0 after the last token, whose reward holds what comes after
        return np.where(self.mask_BR, self.rewards_BR + self.gamma * next_BR - values_BR, 0.0)


def discounted_sums(numbers_BR: Numbers, factor: float | Numbers) -> Numbers:
    """Σₖ factorᵏ·xₜ₊ₖ of each place, (B, R). The factor is one number, or one per row (B,)."""
    if np.all(np.asarray(factor) == 1):
        return np.cumsum(numbers_BR[:, ::-1], 1)[:, ::-1]
    sums_RB = numbers_BR.T.copy()
    for place in reversed(range(len(sums_RB) - 1)):
        sums_RB[place] += factor * sums_RB[place + 1]
    return sums_RB.T


def explained_variance(values: Numbers, returns: Numbers) -> float | None:
    """1 − Var(G − V) ÷ Var(G); None where the returns are equal. A constant bias does not change it."""
    return _share_left(returns - values, returns)


def skill(values: Numbers, returns: Numbers) -> float | None:
    """1 − mean (G − V)² ÷ Var(G) (Murphy 1988); None where the returns are equal.

    Below 0 the mean return is a better guess than the values.
    """
    if not _varies(returns):
        return None
    return number(1 - np.mean((returns - values) ** 2) / returns.var())


def variance_removed(advantages: Numbers, without: Numbers) -> float | None:
    """1 − Var(A) ÷ Var(A₀), where A₀ are the advantages of a constant critic (Greensmith et al. 2004); None where these are equal."""
    return _share_left(advantages, without)


def _share_left(rest: Numbers, whole: Numbers) -> float | None:
    return number(1 - rest.var() / whole.var()) if _varies(whole) else None


def rank_correlation(one: Numbers, other: Numbers) -> float | None:
    """Spearman's ρ: Pearson's correlation of the ranks, where equal numbers share their mean rank. None where either is constant."""
    if not (_varies(one) and _varies(other)):
        return None
    return number(np.corrcoef(_ranks(one), _ranks(other))[0, 1])


def agreement(values_MN: Numbers) -> float | None:
    """Mean of Spearman's ρ over all pairs of rows, each with the values of one critic. None where one of them is constant."""
    if not all(map(_varies, values_MN)):
        return None
    correlations_MM = np.corrcoef([_ranks(values) for values in values_MN])
    return number(correlations_MM[np.triu_indices(len(values_MN), 1)].mean())


def _ranks(numbers: Numbers) -> Numbers:
    _, group, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    means: Numbers = np.cumsum(counts) - (counts - 1) / 2
    return means[group]


def _varies(numbers: Numbers) -> bool:
    """Whether these are finite numbers that are not all equal."""
    return bool(np.isfinite(numbers).all()) and bool((numbers != numbers[0]).any())


def number(value: np.floating | float) -> float | None:
    """The number, or None if it is not finite."""
    return float(value) if np.isfinite(value) else None


def position_parts(lengths_B: Places, mask_BR: Flags, parts: int) -> Places:
    """The part of its response that each token lies in, (B, R): ⌊parts·t ÷ length⌋ for token t from 0."""
    return np.where(mask_BR, parts * np.arange(mask_BR.shape[1]) // lengths_B[:, None], 0)


def quantile_bins(numbers: Numbers, count: int) -> Places:
    """The bin of each number, from 0: how many of the inner quantiles k ÷ `count` it reaches.

    Equal numbers share a bin, so that there may be fewer than `count` bins. Numbers of bins may be skipped.
    """
    inner = np.quantile(numbers, np.arange(1, count) / count)
    return np.searchsorted(inner, numbers, side="right")


def members(groups: Places) -> Iterator[tuple[int, Places]]:
    """Yield the number of each group that has members, in order, and their indices."""
    order = np.argsort(groups, kind="stable")
    found, starts = np.unique(groups[order], return_index=True)
    yield from zip(found.tolist(), np.split(order, starts[1:]), strict=True)


def worst_tokens(errors_BR: Numbers, mask_BR: Flags, count: int) -> list[tuple[int, int]]:
    """Row and place of the token with the largest |error| of each row, for the `count` rows with the largest ones.

    The largest comes first. The first of equal errors counts.
    """
    sizes_BR = np.where(mask_BR, np.abs(errors_BR), -1.0)
    places_B = sizes_BR.argmax(1)
    largest_B = sizes_BR[np.arange(len(sizes_BR)), places_B]
    rows = np.argsort(-largest_B, kind="stable")[:count]
    return [(int(row), int(places_B[row])) for row in rows]
