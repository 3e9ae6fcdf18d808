"""The outcome of each seed, and the summary over several: each figure's mean with its 95 % interval."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, stdev

from trainer.selection import merit, summary_figures

_SLICES = 400
_OUTCOME = "outcome.json"


@dataclass(frozen=True)
class SeedOutcome:
    """How the run of one seed ended. It is kept in the seed's folder, so that the seed is not run again."""

    seed: int
    seconds: float
    summary: dict[str, float]
    """Empty where the run failed."""
    failed: bool
    why_collapsed: str | None


def read_outcome(folder: Path) -> SeedOutcome | None:
    """The outcome in a seed's folder; None while the seed is not done. Raises ValueError or TypeError for a damaged file."""
    path = folder / _OUTCOME
    return SeedOutcome(**json.loads(path.read_text())) if path.exists() else None


def write_outcome(folder: Path, outcome: SeedOutcome) -> None:
    """Write the outcome of a seed that is done."""
    draft = folder / f"{_OUTCOME}.new"
    draft.write_text(json.dumps(asdict(outcome), indent=2))
    draft.replace(folder / _OUTCOME)


def best_outcome(outcomes: list[SeedOutcome]) -> SeedOutcome | None:
    """The best outcome by `trainer/selection.py`. One without a win rate comes after the others. None where all failed."""
    none = (-math.inf,)

    def key(outcome: SeedOutcome) -> tuple[float, ...]:
        return merit(summary_figures(outcome.summary)) or none

    return max((o for o in outcomes if not o.failed), key=key, default=None)  # of equal ones, the first


_MOST_FINISHED = 0.5
"""The rule about finished responses applies where at least this share of them ended with an EOS before."""


def collapse(summary: Mapping[str, float], entropy_limit: float, failure: str | None = None) -> str | None:
    """How the run collapsed, in a sentence; None if it did not. `summary` is that of the evaluation.

    Two of the four 1B seeds of the N+ study (Huang et al. 2024) ended below the SFT model that they started from, although
    their reward-model scores rose. So the score is not considered. These rules are, in this order:

    1. The run failed: a number was not finite, or a health rule stopped it.
    2. The policy loses against its start, beyond chance: the upper end of the win rate's 95 % interval is below ½.
    3. Its responses no longer end: fewer than half as many finish as before, where at least half of them did.
    4. The entropy is below `health.entropy_collapse.limit` of its first value.
    """
    if failure is not None:
        return failure
    rate, high = summary.get("win_rate"), summary.get("win_rate_high")
    if rate is not None and high is not None and high < 0.5:
        return f"It loses against the policy it started from: win rate {rate:.2f}, at most {high:.2f}."
    before, after = summary.get("eos_rate_before"), summary.get("eos_rate_after")
    if before is not None and after is not None and before >= _MOST_FINISHED and after < before / 2:
        return f"Its responses no longer end: {after:.0%} do, before it was {before:.0%}."
    kept = summary.get("entropy_kept")
    if kept is not None and kept < entropy_limit:
        return f"It is left with few answers: {kept:.0%} of its first entropy."
    return None


_WITHOUT_MEAN = ("best_step",)


def summarise(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Mean of each figure over the runs that have it, and the bounds `_low` and `_high` where at least two have it.

    The runs' own intervals (Wilson's, over prompts) are replaced by t intervals over seeds. Intervals of rates are cut to
    [0, 1]. The step of the best checkpoint is left out: a mean of steps is no step.
    """
    summary: dict[str, float] = {}
    for name in dict.fromkeys(name for run in runs for name in run):
        if name in _WITHOUT_MEAN or name.removesuffix("_low").removesuffix("_high") != name:
            continue
        values = [run[name] for run in runs if name in run]
        summary[name] = fmean(values)
        if len(values) > 1:
            low, high = t_interval(values)
            summary[f"{name}_low"], summary[f"{name}_high"] = (
                (max(0.0, low), min(1.0, high)) if _is_rate(name) else (low, high)
            )
    return summary


def summary_of(outcomes: list[SeedOutcome]) -> dict[str, float]:
    """The figures of `summarise` over the seeds that did not fail, the best of these, and the numbers of all, collapsed and failed seeds."""
    collapsed = sum(o.why_collapsed is not None for o in outcomes)
    failed = sum(o.failed for o in outcomes)
    counts = {"seeds": len(outcomes), "collapsed_seeds": collapsed, "failed_seeds": failed}
    means = summarise([o.summary for o in outcomes if not o.failed])
    best = best_outcome(outcomes)
    chosen = {} if best is None else {"best_seed": float(best.seed)}
    return means | {name: float(count) for name, count in counts.items()} | chosen


def _is_rate(name: str) -> bool:
    """Whether the figure is a share of prompts or pairs: a win rate, an EOS rate or an accuracy."""
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
