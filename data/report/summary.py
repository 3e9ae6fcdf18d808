"""The figures, languages and histograms of a report."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from data.report.columns import Columns, Flags
from data.report.duplicates import Duplicates
from data.report.languages import UNKNOWN
from data.report.result import Histogram, LanguageShare
from data.report.settings import ReportSettings
from data.report.tokens import Fitting
from data.report.verdicts import decided
from data.schema import STEP_LABELS, DatasetKind

Steps = Callable[[str, int], int]
"""Returns how many gradient steps a stage takes for a number of items."""


def summary_figures(
    columns: Columns, settings: ReportSettings, fits: Fitting, kept: Flags | None, copies: Duplicates, steps: Steps
) -> dict[str, float]:
    """Figures by name. Each is a count of rows unless its name is another unit."""
    figures: dict[str, float] = {"rows": columns.rows}
    if settings.kind != "pretraining":
        figures["prompts"] = len(np.unique(columns.arrays["prompt"]))
    if settings.kind == "preferences":
        tied, judged = ties(columns)
        counts = columns.arrays["answers"].astype(np.int64)
        figures |= {"pairs": int((counts * (counts - 1) // 2).sum()), "rankings": int((counts > 2).sum())}
        figures |= {"ties": tied, "unlabelled": columns.rows - judged, "annotators": len(columns.annotators)}
    if settings.kind == "thumbs":
        down = int((columns.arrays["rank"] == 1).sum())
        figures |= {"thumbs_up": columns.rows - down, "thumbs_down": down, "annotators": len(columns.annotators)}
    if settings.kind == "steps":
        figures |= {f"{label}_steps": int(columns.arrays[f"{label}_steps"].sum()) for label in STEP_LABELS}
        figures |= {
            "without_bad_steps": int((columns.arrays["rank"] == 0).sum()),
            "annotators": len(columns.annotators),
        }
    figures["duplicates"] = len(copies.exact) + len(copies.normalised) + len(copies.near)
    if columns.has_tokens():
        figures["truncated"] = int((fits.long_answer | fits.eos_alone_missing).sum())
        figures["prompts_too_long"] = int(fits.long_prompt.sum())
        figures["tokens"] = int(columns.arrays["prompt_tokens"].sum()) + int(columns.arrays["answer_tokens"].sum())
    if kept is not None:
        figures |= _steps(columns, settings, fits, ~kept, steps)
    return figures


def _steps(columns: Columns, settings: ReportSettings, fits: Fitting, trained: Flags, steps: Steps) -> dict[str, float]:
    """Gradient steps of each stage, counted over the rows that are trained on and fit."""
    if settings.kind == "sft":
        return {"steps_sft": steps("sft", int((trained & fits.usable_prompt).sum()))}
    if settings.kind == "thumbs":
        used = trained & fits.usable_prompt & fits.whole
        good = used & (columns.arrays["rank"] == 0)
        return {
            "steps_sft": steps("sft", int(good.sum())),
            "steps_reward_model": steps("reward_model", int(used.sum())),
            "steps_kto": steps("kto", int(used.sum())),
        }
    if settings.kind == "steps":
        return {"steps_reward_model": steps("reward_model", int((trained & fits.usable_prompt & fits.whole).sum()))}
    if settings.kind != "preferences":
        return {}
    usable = trained & fits.usable_prompt
    pairs = fits.pairs[usable & columns.arrays["judged"]]
    decided = usable & (_worst(columns) > 0)
    preferred = (columns.arrays["rank"] == 0) & decided[columns.row_of]
    return {
        "steps_sft": steps("sft", int(preferred.sum())),
        "steps_reward_model": steps("reward_model", int(np.count_nonzero(pairs))),
        "steps_dpo": steps("dpo", int(pairs.sum())),
    }


def ties(columns: Columns) -> tuple[int, int]:
    """The number of rows whose answers all have one rank, and the number of rows with a verdict."""
    judged = columns.arrays["judged"]
    return int((judged & (_worst(columns) == 0)).sum()), int(judged.sum())


def _worst(columns: Columns) -> npt.NDArray[np.int64]:
    """The worst rank in each row; 0 where all are equal."""
    worst = np.zeros(columns.rows, np.int64)
    np.maximum.at(worst, columns.row_of, columns.arrays["rank"].astype(np.int64))
    return worst


def language_shares(columns: Columns) -> list[LanguageShare]:
    """Languages of the sampled rows, the most frequent first. Undetermined ones come last, as `und`."""
    counts = Counter(language for _, language in columns.languages)
    ordered = sorted(counts.items(), key=lambda item: (item[0] == UNKNOWN, -item[1], item[0]))
    return [LanguageShare(language=name, rows=count, share=count / counts.total()) for name, count in ordered]


BINS = 30
_TITLES = {
    "prompt": "Prompts",
    "answer": "Answers",
    "preferred": "Preferred answers",
    "rejected": "Other answers",
    "right": "Solutions without a bad step",
    "wrong": "Solutions with a bad step",
    "thumbs_up": "Answers with a thumb up",
    "thumbs_down": "Answers with a thumb down",
}


def build_histogram(name: str, title: str, unit: str, lengths: npt.NDArray[np.uint32], limit: int | None) -> Histogram:
    """Bins of equal, round width over 99 % of the texts. The last bin also includes the longest 1 %."""
    ordered = np.sort(lengths)
    common = _quantile(ordered, 0.99)
    width = _round_up(common // BINS + 1)
    inner = np.arange(0, common + 1, width)
    edges = [*inner.tolist(), max(int(ordered[-1]), int(inner[-1]) + 1)]
    counts = np.histogram(ordered, edges)[0]
    return Histogram(
        name=f"{name}_{unit}",
        title=title,
        unit=unit,
        edges=edges,
        counts=counts.tolist(),
        limit=limit,
        mean=float(np.mean(ordered)),
        median=_quantile(ordered, 0.5),
        p95=_quantile(ordered, 0.95),
        max=int(ordered[-1]),
    )


def _quantile(ordered: npt.NDArray[np.uint32], share: float) -> int:
    """The quantile: the value with this share of the values before it, as in trainer/preflight."""
    return int(ordered[min(len(ordered) - 1, int(share * len(ordered)))])


def _round_up(width: int) -> int:
    """The least 1, 2 or 5 times a power of ten that is at least `width`."""
    scale: int = 10 ** (len(str(width)) - 1)
    return min(step * scale for step in (1, 2, 5, 10) if step * scale >= width)


def all_histograms(columns: Columns, kind: DatasetKind, units: list[str], limits: dict[str, int]) -> list[Histogram]:
    """Lengths of prompts and answers, of preferred and other answers, and of answers by their thumb or labels.

    `limits` are the job's limits in tokens, by `prompt` and `answer`.
    """
    histograms = []
    for unit in units:
        asked, answered = columns.arrays[f"prompt_{unit}"], columns.arrays[f"answer_{unit}"]
        sets = {"prompt": asked[columns.arrays["prompt"] != 0], "answer": answered}
        if kind in ("thumbs", "steps"):
            names = ("thumbs_up", "thumbs_down") if kind == "thumbs" else ("right", "wrong")
            down = columns.arrays["rank"] == 1
            sets |= dict(zip(names, (answered[~down], answered[down]), strict=True))
        else:
            sets |= dict(zip(("preferred", "rejected"), decided(columns, answered), strict=True))
        for name, lengths in sets.items():
            if len(lengths):
                limit = limits.get("prompt" if name == "prompt" else "answer") if unit == "tokens" else None
                histograms.append(build_histogram(name, _TITLES[name], unit, lengths, limit))
    return histograms
