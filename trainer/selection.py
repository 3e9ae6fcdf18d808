"""The one definition of the best evaluation: it selects PPO's best checkpoint, and the seed whose model is the job's result.

The order is lexicographic. The first figure that differs decides:

1. the win rate, the higher one;
2. the judge's mean score, the higher one, where a judge scores;
3. the mean score by the rewards, the higher one;
4. the KL to the policy before the stage, the lower one;
5. the order: the earlier step, or the seed that ran first.

The win rate of few prompts is often equal at several steps, for example 1. A later policy may then still be better, which the
scores show. A figure that one of the two lacks, for example because it was not finite, counts as worse than any value.
"""

import math
from collections.abc import Mapping

Merit = tuple[float, float, float, float]
"""Compared as a tuple; the larger one is better."""


def merit(figures: Mapping[str, float]) -> Merit | None:
    """The merit of an evaluation by its figures `win_rate`, `judge`, `score` and `kl`; None without a win rate."""
    if "win_rate" not in figures:
        return None
    judge, score = (figures.get(name, -math.inf) for name in ("judge", "score"))
    return figures["win_rate"], judge, score, -figures.get("kl", math.inf)


def is_better(figures: Mapping[str, float], best: Mapping[str, float]) -> bool:
    """Whether an evaluation beats the best one before it. An equal one does not, and one without a win rate never does."""
    own, before = merit(figures), merit(best)
    return own is not None and (before is None or own > before)


def evaluation_figures(metrics: Mapping[str, float]) -> dict[str, float]:
    """The figures of an evaluation in PPO's loop, by the names that `merit` reads: those under `eval/`."""
    return {name.removeprefix("eval/"): value for name, value in metrics.items() if name.startswith("eval/")}


def summary_figures(summary: Mapping[str, float]) -> dict[str, float]:
    """The figures of the evaluation stage about the trained policy, by the names that `merit` reads."""
    names = {"win_rate": "win_rate", "judge": "judge_after", "score": "score_after", "kl": "kl"}
    return {name: summary[stored] for name, stored in names.items() if stored in summary}
