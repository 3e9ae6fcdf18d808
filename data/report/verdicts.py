"""Findings about preferences: contradictions, cycles, annotators, ties, and bias by length or position."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from data.report.annotator_agreement import ENOUGH, Judgements, outliers
from data.report.columns import Columns, Flags, Rows
from data.report.findings import FindingRows
from data.report.result import AnnotatorAgreement, LengthBias, Positions
from data.report.rows_file import Texts
from data.statistics import wilson_interval

_BY_CHANCE = 10
"""Least number of decided pairs that show a bias: ten random pairs all prefer A once in a thousand cases."""


def drawn_sides(columns: Columns) -> Flags:
    """Whether the order of each row's sides is independent of the verdict.

    In files of chosen and rejected answers, A is the chosen one by definition. So sources whose decided pairs all
    prefer A do not count, nor does a file without a single B. Rows of one source with and without an annotator count
    as two sources, because rows that an annotation round adds keep the source.
    """
    pairs, difference = _pairs(columns)
    sources = columns.arrays["source"] & ~np.uint64(1) | (columns.arrays["annotator"] > 0)
    _, of_row = np.unique(sources, return_inverse=True)
    a = np.bincount(of_row[pairs][difference > 0], minlength=len(of_row))
    b = np.bincount(of_row[pairs][difference < 0], minlength=len(of_row))
    found: Flags = ((b > 0) | (a < _BY_CHANCE))[of_row] & b.any()
    return found


def measure_positions(columns: Columns, sides: Flags) -> Positions | None:
    """The positions over the rows in `sides`, or None without a decided pair."""
    chosen, differences = _pairs(columns)
    difference = differences[sides[chosen]]
    a, b = int(np.sum(difference > 0)), int(np.sum(difference < 0))
    if not a + b:
        return None
    share = a / (a + b)
    pairs = len(difference)
    low, high = wilson_interval(share, a + b)
    tie = 1 - (a + b) / pairs
    return Positions(pairs=pairs, a=a / pairs, b=b / pairs, tie=tie, a_of_decided=share, low=low, high=high)


def _pairs(columns: Columns) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Labelled rows of two answers, and the rank of B minus the rank of A in each."""
    chosen = np.flatnonzero((columns.arrays["answers"] == 2) & columns.arrays["judged"])
    begins = columns.starts[:-1][chosen]
    ranks = columns.arrays["rank"].astype(np.int64)
    return chosen, ranks[begins + 1] - ranks[begins]


Lengths = npt.NDArray[np.int64]


def measure_length_bias(preferred: Lengths, other: Lengths, unit: str) -> LengthBias | None:
    """The length bias, or None if no pair is decided or all answers have the same length."""
    difference = preferred - other
    apart = difference[difference != 0]
    if not len(apart):
        return None
    longer = float(np.mean(apart > 0))
    accuracy, rule = best_rule(apart, unit)
    low, high = wilson_interval(longer, len(apart))
    accuracy_low, accuracy_high = wilson_interval(accuracy, len(apart))
    return LengthBias(
        unit=unit,
        pairs=len(apart),
        longer_wins=longer,
        low=low,
        high=high,
        mean_difference=float(np.mean(difference)),
        length_only_accuracy=accuracy,
        accuracy_low=accuracy_low,
        accuracy_high=accuracy_high,
        rule=rule,
    )


def best_rule(apart: Lengths, unit: str) -> tuple[float, str]:
    """The most accurate rule of the form "the longer one wins, unless it is longer by more than t", or its opposite.

    A logistic regression on the difference decides by its sign, which is this rule with t = ∞: swapping the sides
    must swap the verdict, so it has no intercept.
    """
    size = np.abs(apart)
    order = np.argsort(size, kind="stable")
    won = (apart[order] > 0).astype(np.int64)
    ends = np.flatnonzero(np.concatenate([np.diff(size[order]) > 0, [True]]))  # where a threshold can stand
    count = ends + 1
    within = np.cumsum(won)[ends]
    beyond = won.sum() - within
    right = within + (len(won) - count - beyond)  # the longer one up to t, the shorter one beyond
    straight, mirrored = int(np.argmax(right)), int(np.argmax(len(won) - right))
    if right[straight] >= len(won) - right[mirrored]:
        return float(right[straight]) / len(won), _told("longer", straight, size[order], ends, unit)
    return 1 - float(right[mirrored]) / len(won), _told("shorter", mirrored, size[order], ends, unit)


def _told(side: str, at: int, sizes: Lengths, ends: Lengths, unit: str) -> str:
    """The rule in words: `side` wins up to the threshold at `ends[at]`, and the other one beyond. The sentence begins with
    the one that the rule names for most pairs."""
    if at == len(ends) - 1:
        return f"the {side} one wins"
    threshold, count = sizes[ends[at]], int(ends[at]) + 1
    if 2 * count >= len(sizes):
        return f"the {side} one wins, unless they differ by more than {threshold} {unit}"
    other = "shorter" if side == "longer" else "longer"
    return f"the {other} one wins, unless they differ by at most {threshold} {unit}"


def decided(columns: Columns, lengths: npt.NDArray[np.uint32]) -> tuple[Lengths, Lengths]:
    """Lengths of the preferred and of the other answer of each decided row; for a ranking, of its best and its worst."""
    counts, ranks = columns.arrays["answers"].astype(np.int64), columns.arrays["rank"].astype(np.int64)
    row_of = np.repeat(np.arange(columns.rows), counts)
    worst = np.zeros(columns.rows, np.int64)
    np.maximum.at(worst, row_of, ranks)
    clear = np.flatnonzero(worst > 0)
    best_at = _first(ranks == 0, row_of, columns.rows)[clear]
    worst_at = _first(ranks == worst[row_of], row_of, columns.rows)[clear]
    sizes = lengths.astype(np.int64)
    return sizes[best_at], sizes[worst_at]


def _first(holds: npt.NDArray[np.bool_], row_of: Lengths, rows: int) -> Lengths:
    """For each row, the position of the first answer for which `holds` is true; 0 if there is none."""
    found = np.zeros(rows, np.int64)
    places = np.flatnonzero(holds)[::-1]  # so that the first one is written last
    found[row_of[places]] = places
    return found


_TELLING = 0.6
"""Accuracy of a rule by length alone that gives a warning if its interval is above."""
_SIDE = 0.05
"""Distance of the share of A from one half that gives a warning if its interval excludes one half."""
_MOST_TIES = 0.5
_LOW_ALPHA = 0.4
"""Agreement below this value is poor even for preferences, where 63 to 77 % of the verdicts usually agree."""


def verdict_findings(
    columns: Columns, opinions: Judgements, alpha: float | None, people: Sequence[AnnotatorAgreement], texts: Texts
) -> Iterator[FindingRows]:
    for code, rows, detail in (
        (
            "contradictions",
            opinions.contradicting,
            "For the same prompt and two answers, one annotator preferred each of them once. An unknown annotator may be the "
            "same one. Together the rows teach that neither is better.",
        ),
        (
            "cycles",
            opinions.in_circles,
            "Answer A is preferred to B, B to C, and C to A, in any number of steps and by any annotators. No scores of a "
            "reward model agree with all of them.",
        ),
        (
            "annotators_disagree",
            opinions.disagreeing,
            "Several annotators judged the same two answers, and more than half of them gave another verdict. The first "
            "verdict of each counts. If no verdict has a majority, all rows are listed.",
        ),
    ):
        yield _rows(code, detail, rows, texts)
    yield from _people(columns, people, texts)
    if alpha is not None and alpha < _LOW_ALPHA and len(opinions.units) >= ENOUGH:
        yield FindingRows(
            "low_agreement",
            f"Krippendorff's α is {alpha:.2f}; 1 is full agreement, 0 is chance. Below {_LOW_ALPHA} a reward "
            "model learns little that holds for other annotators.",
        )


def _people(columns: Columns, people: Sequence[AnnotatorAgreement], texts: Texts) -> Iterator[FindingRows]:
    if len(people) == 1:
        yield FindingRows("one_annotator", f"All named rows are {people[0].annotator}'s: agreement cannot be measured.")
    odd = outliers(people)
    if odd:
        names = {one.annotator for one in odd}
        numbers = [number for number, name in enumerate(columns.annotators, 1) if name in names]
        rows = set(np.flatnonzero(np.isin(columns.arrays["annotator"], numbers)).tolist())
        listed = ", ".join(f"{one.annotator} ({one.agreement:.0%} of {one.compared})" for one in odd[:5])
        yield _rows(
            "outlier_annotator", f"They agree with less than half of the others' verdicts: {listed}.", rows, texts
        )


def tie_findings(tied: int, judged: int) -> Iterator[FindingRows]:
    if judged and tied == judged:
        yield FindingRows("only_ties", "Every pair is a tie: neither a reward model nor SFT has anything to learn.")
    elif judged and tied > _MOST_TIES * judged:
        yield FindingRows("many_ties", f"{tied} of {judged} rows: each teaches that both answers are worth the same.")


def bias_findings(length: LengthBias | None, side: Positions | None) -> Iterator[FindingRows]:
    if length is not None and length.accuracy_low > _TELLING:
        yield FindingRows(
            "length_bias",
            f"“{length.rule[:1].upper()}{length.rule[1:]}” is right for {length.length_only_accuracy:.1%} of {length.pairs} "
            f"pairs (95 %: {length.accuracy_low:.1%} to {length.accuracy_high:.1%}). The longer answer wins "
            f"{length.longer_wins:.1%}; the preferred one is {abs(length.mean_difference):.1f} {length.unit} "
            f"{'longer' if length.mean_difference > 0 else 'shorter'} on average. A reward model may measure length, "
            "and the policy may exploit that.",
        )
    if side is not None and abs(side.a_of_decided - 0.5) > _SIDE and not side.low <= 0.5 <= side.high:
        yield FindingRows(
            "position_bias",
            f"A is preferred in {side.a_of_decided:.1%} of the decided pairs (95 %: {side.low:.1%} to {side.high:.1%}). Random "
            "sides would give one half: the annotators prefer one side, or the file is sorted.",
        )


def _rows(code: str, detail: str, rows: set[int], texts: Texts) -> FindingRows:
    ordered: Rows = np.array(sorted(rows), np.int64)
    shown = texts.lines.apart(ordered)
    return FindingRows(code, detail, ordered, [(row, f"{texts.prompt(row)} → {texts.answers(row)}") for row in shown])
