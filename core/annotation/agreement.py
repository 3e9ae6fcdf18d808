"""Agreement between annotators, and between people and a reward model. Pure functions of labels."""

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction


def alpha(units: Iterable[Sequence[str]]) -> float | None:
    """Krippendorff's α of nominal labels (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", §C).

    `units` holds the labels of each unit, in any order. Units with fewer than two labels have no effect. 1 is full agreement,
    0 the agreement by chance. None if no unit has two labels, or if all labels are equal.

        α = 1 − (n − 1) · Σ_{c≠k} o_ck ÷ Σ_{c≠k} n_c·n_k,   o_ck = Σ_u (ordered pairs c, k within u) ÷ (m_u − 1)
    """
    totals: Counter[str] = Counter()
    disagreed = Fraction(0)
    for labels in units:
        if len(labels) < 2:
            continue
        counts = Counter(labels)
        totals += counts
        different = len(labels) ** 2 - sum(count * count for count in counts.values())
        disagreed += Fraction(different, len(labels) - 1)
    n = sum(totals.values())
    expected = n * n - sum(count * count for count in totals.values())
    return float(1 - (n - 1) * disagreed / expected) if expected else None


def pairwise(units: Iterable[Sequence[str]]) -> float | None:
    """The share of equal labels among all pairs of labels of the same unit, from 0 to 1. None without a pair."""
    equal = pairs = 0
    for labels in units:
        pairs += len(labels) * (len(labels) - 1) // 2
        equal += sum(count * (count - 1) // 2 for count in Counter(labels).values())
    return equal / pairs if pairs else None


def majority(labels: Iterable[str]) -> str | None:
    """The most frequent label. None if two labels share the first place, or without a label."""
    first, *rest = [*Counter(labels).most_common(2), ("", 0)]
    return first[0] if first[1] and (not rest or first[1] > rest[0][1]) else None


def share_equal(pairs: Sequence[tuple[str, str]]) -> float | None:
    """The share of pairs with equal labels, from 0 to 1. None without a pair."""
    return sum(one == other for one, other in pairs) / len(pairs) if pairs else None


def kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Cohen's κ (1960): agreement beyond chance of two annotators who labelled the same units.

    1 is full agreement, 0 the agreement by chance. None without a pair, or if all labels are equal.
    """
    n = len(pairs)
    ones, others = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    chance = sum(count * others[label] for label, count in ones.items())
    if n * n == chance:
        return None
    return (n * sum(one == other for one, other in pairs) - chance) / (n * n - chance)


def label_of_ranks(one: int, other: int) -> str:
    """The label of a pair of completions with these ranks (1 is the best): `a`, `b` or `tie`."""
    return "tie" if one == other else "a" if one < other else "b"
