"""Findings of what was preferred, by whom, and whether something else than quality tells it."""

from collections.abc import Iterator, Sequence

import numpy as np

from data.report.columns import Columns, Rows
from data.report.findings import Found
from data.report.length_bias import LengthBias
from data.report.opinions import ENOUGH, Annotator, Opinions, outliers
from data.report.positions import Positions
from data.report.reading import Texts

_TELLING = 0.6
"""Accuracy of a rule without understanding that is worth a warning, once its interval lies above."""
_SIDE = 0.05
"""How far from one half the share of A may be before it is worth a warning, once its interval leaves one half out."""
_MOST_TIES = 0.5
_LOW_ALPHA = 0.4
"""Below it, agreement is poor even for preferences, where 63 to 77 % of the verdicts are usually shared."""


def found(
    columns: Columns, opinions: Opinions, alpha: float | None, people: Sequence[Annotator], texts: Texts
) -> Iterator[Found]:
    for code, rows, detail in (
        (
            "contradictions",
            opinions.contradicting,
            "The same prompt and the same two answers, and once the one is preferred, once the other, by the same annotator, or "
            "one of the two times by nobody named. Together they teach that neither is better.",
        ),
        (
            "cycles",
            opinions.in_circles,
            "Of one prompt's answers A is preferred to B, B to C, and C to A, by whatever number of steps and people. No score "
            "that a reward model could give agrees with all of them.",
        ),
        (
            "annotators_disagree",
            opinions.disagreeing,
            "Several annotators judged the same two answers, and more than half of them said something else (of each the first "
            "verdict counts). Where no verdict has a majority, all are named.",
        ),
    ):
        yield _rows(code, detail, rows, texts)
    yield from _people(columns, people, texts)
    if alpha is not None and alpha < _LOW_ALPHA and len(opinions.units) >= ENOUGH:
        yield Found(
            "low_agreement",
            f"Krippendorff's α is {alpha:.2f}; 1 is full agreement, 0 what chance would give. Below {_LOW_ALPHA} a reward "
            "model has little to learn that holds beyond one person.",
        )


def _people(columns: Columns, people: Sequence[Annotator], texts: Texts) -> Iterator[Found]:
    if len(people) == 1:
        yield Found("one_annotator", f"All named rows are {people[0].annotator}'s: agreement cannot be measured.")
    odd = outliers(people)
    if odd:
        names = {one.annotator for one in odd}
        numbers = [at for at, name in enumerate(columns.annotators, 1) if name in names]
        rows = set(np.flatnonzero(np.isin(columns.arrays["annotator"], numbers)).tolist())
        told = ", ".join(f"{one.annotator} ({one.agreement:.0%} of {one.compared})" for one in odd[:5])
        yield _rows("outlier_annotator", f"Less than half of their verdicts are the others': {told}.", rows, texts)


def ties(tied: int, judged: int) -> Iterator[Found]:
    if judged and tied == judged:
        yield Found("only_ties", "Every pair is a tie: neither a reward model nor SFT has anything to learn.")
    elif judged and tied > _MOST_TIES * judged:
        yield Found("many_ties", f"{tied} of {judged} rows: each teaches that both answers are worth the same.")


def biases(length: LengthBias | None, side: Positions | None) -> Iterator[Found]:
    if length is not None and length.accuracy_low > _TELLING:
        yield Found(
            "length_bias",
            f"“{length.rule[:1].upper()}{length.rule[1:]}” is right for {length.length_only_accuracy:.1%} of {length.pairs} "
            f"pairs (95 %: {length.accuracy_low:.1%} to {length.accuracy_high:.1%}). The longer answer wins "
            f"{length.longer_wins:.1%}; the preferred one is {abs(length.mean_difference):.1f} {length.unit} "
            f"{'longer' if length.mean_difference > 0 else 'shorter'} on average. Expect a reward model that measures length, "
            "and a policy that finds out.",
        )
    if side is not None and abs(side.a_of_decided - 0.5) > _SIDE and not side.low <= 0.5 <= side.high:
        yield Found(
            "position_bias",
            f"A is preferred in {side.a_of_decided:.1%} of the decided pairs (95 %: {side.low:.1%} to {side.high:.1%}). Sides "
            "that were drawn by lot would give one half: whoever judged leans to one side, or the file is sorted.",
        )


def _rows(code: str, detail: str, rows: set[int], texts: Texts) -> Found:
    ordered: Rows = np.array(sorted(rows), np.int64)
    shown = texts.lines.apart(ordered)
    return Found(code, detail, ordered, [(row, f"{texts.prompt(row)} → {texts.answers(row)}") for row in shown])
