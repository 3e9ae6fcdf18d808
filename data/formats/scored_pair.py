"""Two answers in columns of their own, each with a score or a rank in another column."""

from collections.abc import Iterator
from typing import NamedTuple

from data.errors import RowError
from data.formats import chat
from data.formats.base import PREFERENCES, Format, Reading, Rows, Source, has, says_which
from data.formats.instruction import prompt as whole_prompt
from data.formats.values import field, first_named, notes, number
from data.names import ASKED_COLUMNS, INPUTS, NOTED, SIDE_RANKS, SIDE_SCORES, UNLABELLED_PAIRS


class _PairColumns(NamedTuple):
    """The columns of two answers and of their measure."""

    answers: tuple[str, str]
    measures: tuple[str, str]
    sign: int
    """-1 where less is better."""


def _measures(answer: str) -> Iterator[tuple[str, int]]:
    """The possible columns of an answer's measure, such as `score_a` and `response_a_score`, each with its sign."""
    end = answer.rpartition("_")[2] if "_" in answer else answer[-1]
    for names, sign in ((SIDE_SCORES, 1), (SIDE_RANKS, -1)):
        for name in names:
            for column in (f"{name}_{end}", f"{name}{end}", f"{answer}_{name}", f"{name}_{answer}"):
                yield column, sign


def _all() -> Iterator[_PairColumns]:
    for answers in UNLABELLED_PAIRS:
        for (first, sign), (second, _) in zip(*map(_measures, answers), strict=True):
            yield _PairColumns(answers, (first, second), sign)
        for names, sign in ((SIDE_SCORES, 1), (SIDE_RANKS, -1)):
            yield from (_PairColumns(answers, (f"{name}_a", f"{name}_b"), sign) for name in names)


_KNOWN = tuple(_all())
_PAIRS = {pair: [one for one in _KNOWN if one.answers == pair] for pair in UNLABELLED_PAIRS}


def measured(record: Source) -> _PairColumns | None:
    """The columns of two answers with a measure each; None without them."""
    pairs = (found for pair, found in _PAIRS.items() if has(record, *pair))
    return next((one for found in pairs for one in found if has(record, *one.measures)), None)


def _rows(record: Source, reading: Reading) -> Rows:
    found = measured(record)
    if found is None:
        raise RowError("two answers with a score or a rank each are missing", code="missing_field")
    asked = first_named(record, ASKED_COLUMNS) or "prompt"
    first, second = (chat.answer(field(record, name), f"/{name}") for name in found.answers)
    scores = [found.sign * number(field(record, name), name, reading) for name in found.measures]
    label = "a" if scores[0] > scores[1] else "b" if scores[1] > scores[0] else "tie"
    strength = {"margin": round(abs(scores[0] - scores[1]), 12)} if found.sign == 1 and label != "tie" else {}
    yield {"prompt": whole_prompt(record, asked), "a": first, "b": second, "label": label} | strength | notes(record)


def _fits(record: Source) -> float:
    """0.5 where another column may say which answer is better."""
    found = measured(record)
    if found is None or first_named(record, ASKED_COLUMNS) is None:
        return 0
    known = (*found.answers, *found.measures, *(column for one in _KNOWN for column in one.measures))
    return 0.5 if says_which(record, known) else 1


FORMAT = Format(
    id="scored_pair",
    title="Two answers with a score or rank each",
    about="A prompt, two answers in columns of their own, and a score (more is better) or a rank (1 the best) for each, such as `score_a` and `score_b`. The difference of the scores is the margin; equal ones are a tie.",
    source="",
    kinds=(PREFERENCES,),
    example=(
        {"prompt": "The sky is", "response_a": " blue.", "response_b": " green.", "score_a": 0.9, "score_b": 0.2},
        {"prompt": "The sky is", "response_a": " green.", "response_b": " blue.", "score_a": 0.2, "score_b": 0.9},
    ),
    fields=NOTED.union(
        ASKED_COLUMNS, INPUTS, {"history", "system"}, *UNLABELLED_PAIRS, *(one.measures for one in _KNOWN)
    ),
    fits=_fits,
    rows=_rows,
    specific=70,
    labelled=True,
)
