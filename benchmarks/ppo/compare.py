"""Two systems' runs side by side: ratios pair by pair, so that they hold while the machine's speed drifts. Pure functions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from benchmarks.ppo.runs import Iteration, Run

LAST = 5
"""Iterations at the end of a curve whose mean is compared."""


@dataclass(frozen=True)
class Spread:
    """A figure over several pairs or runs."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        return cls(median(values), min(values), max(values))


def of_iterations(run: Run, figure: Callable[[Iteration], float]) -> float:
    """The median of a figure over the run's counted iterations."""
    return median(figure(iteration) for iteration in run.counted)


def seconds(run: Run) -> float:
    return of_iterations(run, lambda it: it.seconds)


def tokens_per_second(run: Run) -> float:
    return of_iterations(run, lambda it: it.tokens / it.seconds)


def ratios(
    ours: Sequence[Run], peers: Sequence[Run], figure: Callable[[Run], float], more_is_better: bool
) -> list[float]:
    """The factor by which ours is better, for each pair."""
    pairs = [(figure(a), figure(b)) for a, b in zip(ours, peers, strict=True)]
    return [a / b if more_is_better else b / a for a, b in pairs]


def end_of_curve(run: Run) -> float | None:
    """Mean reward of the last iterations."""
    found = [it.reward for it in run.iterations[-LAST:] if it.reward is not None]
    return fmean(found) if found else None


def system(runs: Sequence[Run]) -> dict[str, Any]:
    """One system's figures over its runs."""
    figures: dict[str, Any] = {
        "iteration_s": median(seconds(run) for run in runs),
        "rollout_s": median(of_iterations(run, lambda it: it.rollout) for run in runs),
        "score_s": median(of_iterations(run, lambda it: it.score) for run in runs),
        "train_s": median(of_iterations(run, lambda it: it.train) for run in runs),
        "tokens_per_s": median(tokens_per_second(run) for run in runs),
        "response_tokens": median(of_iterations(run, lambda it: it.tokens) for run in runs),
        "peak_rss_mib": median(run.peak_rss_mib for run in runs),
        "reward_curves": [[it.reward for it in run.iterations] for run in runs],
        "reward_last": [end_of_curve(run) for run in runs],
        "kl_curves": [[it.kl for it in run.iterations] for run in runs],
        "disturbed_runs": sum(run.disturbed for run in runs),
    }
    on_device = [run.peak_device_mib for run in runs if run.peak_device_mib is not None]
    return figures | ({"peak_device_mib": median(on_device)} if on_device else {})


def summary(ours: Sequence[Run], peers: Sequence[Run]) -> dict[str, Any]:
    """`speedup` and its relatives: the median over the pairs, lowest and highest, and each pair."""
    figures: dict[str, Any] = {"ours": system(ours)}
    if not peers:
        return figures
    figures["peer"] = system(peers)
    for name, figure, more_is_better in (
        ("speedup", seconds, False),
        ("speedup_tokens", tokens_per_second, True),
        ("speedup_rollout", lambda run: of_iterations(run, lambda it: it.rollout), False),
        ("speedup_train", lambda run: of_iterations(run, lambda it: it.train), False),
    ):
        found = ratios(ours, peers, figure, more_is_better)
        figures |= {name: median(found), f"{name}_low": min(found), f"{name}_high": max(found), f"{name}_pairs": found}
    figures["memory_ratio"] = figures["ours"]["peak_rss_mib"] / figures["peer"]["peak_rss_mib"]
    if "peak_device_mib" in figures["ours"] and "peak_device_mib" in figures["peer"]:
        figures["device_memory_ratio"] = figures["ours"]["peak_device_mib"] / figures["peer"]["peak_device_mib"]
    return figures


def table(figures: dict[str, Any]) -> str:
    """For people."""
    rows: list[tuple[str, ...]] = [
        ("", "iteration s", "rollout", "score", "train", "tokens/s", "tokens", "peak MiB", "reward, last")
    ]
    for name in ("ours", "peer"):
        if name in figures:
            rows.append((name, *_cells(figures[name])))
    lines = columns(rows)
    if "speedup" in figures:
        low, high = figures["speedup_low"], figures["speedup_high"]
        lines += f"\nspeedup {figures['speedup']:.2f} ({low:.2f} to {high:.2f}, {len(figures['speedup_pairs'])} pairs)"
        lines += f"   by tokens/s {figures['speedup_tokens']:.2f}   rollout {figures['speedup_rollout']:.2f}"
        lines += f"   train {figures['speedup_train']:.2f}   memory × {figures['memory_ratio']:.2f}"
    disturbed = sum(figures[name]["disturbed_runs"] for name in ("ours", "peer") if name in figures)
    if disturbed:
        lines += f"\n{disturbed} runs were disturbed by other work on this machine: quote the ratios, not the seconds"
    return lines


def _cells(found: dict[str, Any]) -> tuple[str, ...]:
    times = [f"{found[name]:.3f}" for name in ("iteration_s", "rollout_s", "score_s", "train_s")]
    ends = [end for end in found["reward_last"] if end is not None]
    memory = found.get("peak_device_mib", found["peak_rss_mib"])
    reward = f"{fmean(ends):.2f}" if ends else "-"
    return (*times, f"{found['tokens_per_s']:.0f}", f"{found['response_tokens']:.0f}", f"{memory:.0f}", reward)


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows of text as a table, the first column to the left and the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
