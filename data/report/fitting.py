"""What of the rows is left once it is encoded, as the trainer decides it (trainer/stages/tokenize.py, `why_left_out`)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from data.report.columns import Columns, Rows
from data.report.settings import ReportSettings

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Fitting:
    """Of each row, unless it says of each answer."""

    long_prompt: Flags
    usable_prompt: Flags
    """Not too long, and the chat template takes it."""
    long_answer: Flags
    """An answer that is cut, and has no EOS then."""
    eos_alone_missing: Flags
    """The longest answer is whole, but there is no room for its EOS."""
    whole: Flags
    """Of each answer: there is room for its EOS."""
    pairs: Rows
    """How many pairs of the row's answers are two whole ones that are not the same tokens."""


def fitting(columns: Columns, settings: ReportSettings) -> Fitting:
    """Of a report with a model's tokens; without one, everything fits."""
    none = np.zeros(columns.rows, bool)
    if not columns.has_tokens():
        counts = columns.arrays["answers"].astype(np.int64)
        everything = np.ones(counts.sum(), bool)
        return Fitting(none, ~none, none, none, everything, counts * (counts - 1) // 2)
    prompts, answers = columns.arrays["prompt_tokens"], columns.arrays["answer_tokens"].astype(np.int64)
    longest = np.zeros(columns.rows, np.int64)
    np.maximum.at(longest, columns.row_of, answers)
    whole = answers < settings.max_completion_tokens
    return Fitting(
        long_prompt=prompts > settings.max_prompt_tokens,
        usable_prompt=(prompts > 0) & (prompts <= settings.max_prompt_tokens),
        long_answer=longest > settings.max_completion_tokens,
        eos_alone_missing=longest == settings.max_completion_tokens,
        whole=whole,
        pairs=_pairs(columns, whole),
    )


def _pairs(columns: Columns, whole: Flags) -> Rows:
    """All pairs of whole answers, less those of answers that are the same."""
    row_of = columns.row_of[whole]
    counts = np.bincount(row_of, minlength=columns.rows)
    alike, sizes = np.unique(row_of * 256 + columns.arrays["first_alike"][whole], return_counts=True)
    same = np.bincount(alike // 256, sizes * (sizes - 1) // 2, minlength=columns.rows)
    found: Rows = counts * (counts - 1) // 2 - same.astype(np.int64)
    return found


def left(columns: Columns, fits: Fitting, settings: ReportSettings) -> Flags:
    """Rows that a run can learn from: a run that is left with none of them ends before it begins."""
    if settings.kind == "preferences":
        judged = columns.arrays["judged"]
        return (
            fits.usable_prompt & (fits.pairs > 0) & (judged | ~judged.any())
        )  # a file that waits to be judged is no trouble
    if settings.kind in ("sft", "thumbs"):
        return fits.usable_prompt & fits.whole  # one answer each: one without its EOS is refused, or left out
    return fits.usable_prompt
