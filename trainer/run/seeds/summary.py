"""What several seeds say together: each figure's mean with its 95 % interval."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev

_SLICES = 400


def summarise(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Mean of each figure over the runs that have it, and `_low`, `_high` where they are at least two.

    The runs' own intervals (Wilson's, over prompts) are left out: over seeds, their place is the t interval's. Those of
    rates are cut to [0, 1], where all that a rate can be lies; the step of a best checkpoint has none, for it is no estimate.
    """
    summary: dict[str, float] = {}
    for name in dict.fromkeys(name for run in runs for name in run):
        if name.removesuffix("_low").removesuffix("_high") != name:
            continue
        values = [run[name] for run in runs if name in run]
        summary[name] = fmean(values)
        if len(values) > 1 and name != "best_step":
            low, high = t_interval(values)
            summary[f"{name}_low"], summary[f"{name}_high"] = (
                (max(0.0, low), min(1.0, high)) if _is_rate(name) else (low, high)
            )
    return summary


def _is_rate(name: str) -> bool:
    """A share of prompts or pairs: win rates, EOS rates (before and after), accuracies."""
    return any(part in name for part in ("win_rate", "eos_rate", "accuracy"))


def t_interval(values: Sequence[float]) -> tuple[float, float]:
    """mean ± t · s/√n, t the 97.5 % quantile of Student's distribution with n − 1 degrees of freedom (Student 1908)."""
    half = t_quantile(len(values) - 1) * stdev(values) / math.sqrt(len(values))
    return fmean(values) - half, fmean(values) + half


def t_quantile(freedom: int) -> float:
    """The t for which P(|T| ≤ t) = 0.95, by bisection on the integral of the density."""
    low, high = 0.0, 16.0  # 12.71 at one degree of freedom, falling to 1.96
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < 0.95 else (low, middle)
    return (low + high) / 2


def _within(t: float, freedom: int) -> float:
    """P(|T| ≤ t), by Simpson's rule over the angle θ with T = √ν·tan θ, where the density is cosᵛ⁻¹ θ: smooth for all ν."""
    end = math.atan(t / math.sqrt(freedom))
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)
    width = end / _SLICES
    heights = [math.cos(k * width) ** (freedom - 1) for k in range(_SLICES + 1)]
    return 2 * scale * width / 3 * (heights[0] + 4 * sum(heights[1::2]) + 2 * sum(heights[2:-1:2]) + heights[-1])
