"""How long the texts are."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from data.report.columns import Columns
from data.report.length_bias import decided
from data.report.settings import Kind

BINS = 30
_TITLES = {
    "prompt": "Prompts",
    "answer": "Answers",
    "preferred": "Preferred answers",
    "rejected": "Other answers",
    "thumbs_up": "Answers with a thumb up",
    "thumbs_down": "Answers with a thumb down",
}


@dataclass(frozen=True)
class Histogram:
    """`counts[i]` texts are at least `edges[i]` and less than `edges[i + 1]` long; the last bin takes its upper edge too."""

    name: str
    title: str
    unit: str
    edges: list[int]
    counts: list[int]
    limit: int | None
    """The job's: what is longer is left out or cut."""
    mean: float
    median: int
    p95: int
    max: int


def of(name: str, title: str, unit: str, lengths: npt.NDArray[np.uint32], limit: int | None) -> Histogram:
    """Bins of one width, a round number, over all but the longest hundredth, which the last bin takes."""
    ordered = np.sort(lengths)
    common = _quantile(ordered, 0.99)
    width = _round_up(common // BINS + 1)
    inner = np.arange(0, common + 1, width)
    edges = [*inner.tolist(), max(int(ordered[-1]), int(inner[-1]) + 1)]
    counts = np.histogram(ordered, edges)[0]
    return Histogram(
        f"{name}_{unit}",
        title,
        unit,
        edges,
        counts.tolist(),
        limit,
        float(np.mean(ordered)),
        _quantile(ordered, 0.5),
        _quantile(ordered, 0.95),
        int(ordered[-1]),
    )


def _quantile(ordered: npt.NDArray[np.uint32], share: float) -> int:
    """As trainer/preflight has it: the value that has that share of the values before it."""
    return int(ordered[min(len(ordered) - 1, int(share * len(ordered)))])


def _round_up(width: int) -> int:
    """To 1, 2 or 5 times a power of ten."""
    scale: int = 10 ** (len(str(width)) - 1)
    return min(step * scale for step in (1, 2, 5, 10) if step * scale >= width)


def all_of(columns: Columns, kind: Kind, units: list[str], limits: dict[str, int]) -> list[Histogram]:
    """Of prompts and answers; of the preferred and the other answers of decided rows; of answers by their thumb. `limits`: tokens
    of each."""
    found = []
    for unit in units:
        asked, answered = columns.arrays[f"prompt_{unit}"], columns.arrays[f"answer_{unit}"]
        sets = {"prompt": asked[columns.arrays["prompt"] != 0], "answer": answered}
        if kind == "thumbs":
            down = columns.arrays["rank"] == 1
            sets |= {"thumbs_up": answered[~down], "thumbs_down": answered[down]}
        else:
            sets |= dict(zip(("preferred", "rejected"), decided(columns, answered), strict=True))
        for name, lengths in sets.items():
            if len(lengths):
                limit = limits.get("prompt" if name == "prompt" else "answer") if unit == "tokens" else None
                found.append(of(name, _TITLES[name], unit, lengths, limit))
    return found
