"""Which rows the job would hold out, and what of them is also in the rest."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from data.report import near
from data.report.columns import Columns, Rows
from data.report.duplicates import measure
from data.report.pool import Pool

Flags = npt.NDArray[np.bool_]


def held_out(prompts: npt.NDArray[np.uint64], fraction: float) -> Flags:
    """Of each row, by its prompt's hash: as trainer/run_data.py has it, were this the job's only dataset.

    The prompt with the least hash is held out and that with the greatest trained on, where there are two.
    """
    share = prompts.astype(np.float64) / 2.0**64
    chosen = (share < fraction) | (prompts == prompts.min())
    kept: Flags = chosen & (prompts != prompts.max())
    return kept


def leaks(columns: Columns, kept: Flags, pool: Pool, folder: Path) -> tuple[Rows, near.Pairs]:
    """Held-out rows whose prompt has a near duplicate among the prompts trained on; and of each such prompt, a row that is
    trained on and one that is held out. Equal prompts are never on both sides."""
    prompts = columns.arrays["prompt"]
    _, first, of_row = np.unique(prompts, return_index=True, return_inverse=True)
    stand_ins = np.sort(first)
    pairs = near.candidates(folder, "prompt_bands", stand_ins, lambda one, other: kept[one] != kept[other])
    pairs = np.where(kept[pairs[:, :1]], pairs[:, ::-1], pairs)  # the one that is held out stands second
    pairs = pairs[np.argsort(pairs[:, 1], kind="stable")]
    twins = near.with_twins(pairs, measure(pool, "similar_prompts", columns.arrays["offset"]))
    leaking = np.zeros(len(first), bool)
    leaking[of_row[twins[:, 1]]] = True
    return np.flatnonzero(leaking[of_row]), twins
