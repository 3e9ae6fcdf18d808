"""Solutions with a label for each step: TRL's stepwise supervision, Math-Shepherd and PRM800K.

A label is a verdict on one step, so a row is read only if each of its steps has one. Numbers have two meanings. With -1, 0 and
1, as in PRM800K (Lightman et al. 2023, arXiv 2305.20050), 0 is neutral; with 0 and 1 it is bad. A row that has 0 and no -1 does
not show which, and is refused with the mapping that states it.
"""

import re
from collections.abc import Sequence
from typing import Any

from data.errors import RowError
from data.formats.base import SFT, STEPS, Format, Reading, Rows, Source, has
from data.formats.values import field, listed, notes, text
from data.names import NOTED
from data.verdicts import NEUTRAL, number_of, plain_word, polarity

_SCALE = {-1: "bad", 0: "neutral", 1: "good"}
_SIGNS = {"+": "good", "-": "bad"}
_MARK = "ки"
"""Math-Shepherd's mark of the end of a step, in whose place the column `label` has + or -."""
_FIRST_STEP = re.compile(r"\s*(?=Step 1 ?:)")


def step_labels(values: Sequence[Any], name: str) -> list[str]:
    """The labels of steps as "good", "neutral" or "bad". `name` is their column. Raises RowError for a mix, and for another value."""
    numbers = [None if isinstance(value, bool) else number_of(value) for value in values]
    if any(number is not None for number in numbers):
        return _of_numbers(values, numbers, name)
    if len({isinstance(value, bool) for value in values if value is not None}) > 1:
        raise RowError("must not mix true and false with words", pointer=f"/{name}", code="bad_label")
    return [_of_word(value, f"{name}/{index}") for index, value in enumerate(values)]


def _of_numbers(values: Sequence[Any], numbers: Sequence[float | None], name: str) -> list[str]:
    for index, number in enumerate(numbers):
        if number is None:
            shown = f"{values[index]!r}"[:40]
            raise RowError(
                f"must not mix numbers with other labels ({shown})", pointer=f"/{name}/{index}", code="bad_label"
            )
        if number not in _SCALE:
            detail = (
                "must be 1, 0 or -1: a score of another scale is no label. Choose a threshold, and write true or false"
            )
            raise RowError(detail, pointer=f"/{name}/{index}", code="bad_label")
    if 0 in numbers and -1 not in numbers:
        detail = (
            "is 0, which is bad beside 1 and neutral beside -1, and this row has no -1. Write true and false, or map the columns to "
            "`prompt`, `steps` and `step_labels`, with the meaning of 0 in the mapping's labels"
        )
        raise RowError(detail, pointer=f"/{name}/{list(numbers).index(0)}", code="bad_label")
    return [_SCALE[int(number)] for number in numbers if number is not None]


def _of_word(value: Any, name: str) -> str:
    if isinstance(value, str) and (sign := _SIGNS.get(value.strip())) is not None:
        return sign
    if isinstance(value, str) and plain_word(value) in NEUTRAL:
        return "neutral"
    good = polarity(value)
    if good is None:
        detail = "must be true or false, 1, 0 or -1, or a word: good, neutral or bad"
        raise RowError(detail, pointer=f"/{name}", code="bad_label")
    return "good" if good else "bad"


def _trl(record: Source, reading: Reading) -> Rows:
    steps, labels = listed(record, "completions"), listed(record, "labels")
    if len(steps) != len(labels):
        detail = f"has {len(labels)} labels for {len(steps)} completions: give one label for each"
        raise RowError(detail, pointer="/labels", code="bad_label")
    yield from _as_kind(record, field(record, "prompt"), steps, step_labels(labels, "labels"), reading)


def _as_kind(record: Source, prompt: Any, steps: list[Any], labels: list[str], reading: Reading) -> Rows:
    """The row of labelled steps, or for SFT a solution without a bad step as a demonstration."""
    if reading.kind is not SFT:
        yield {"prompt": prompt, "steps": steps, "labels": labels} | notes(record)
        return
    for index, step in enumerate(steps):
        if not isinstance(step, str):
            raise RowError("must be text", pointer=f"/completions/{index}", code="wrong_type")
    if "bad" in labels:
        detail = (
            "a step is wrong, and a wrong solution is nothing to imitate; the kind `steps` keeps it for a reward model"
        )
        raise RowError(detail, pointer="/labels", code="not_usable")
    yield {"prompt": prompt, "completion": "\n".join(step.strip("\n") for step in steps)}


def _shepherd(record: Source, reading: Reading) -> Rows:
    """`input` holds question and steps with a mark behind each step; `label` the same text with + or - in place of the marks."""
    texts, marked = text(record, "input"), text(record, "label")
    parts = texts.split(_MARK)
    question, first = _question(parts[0])
    steps = [first.strip(), *(part.strip() for part in parts[1:-1])]
    if parts[-1].strip():
        raise RowError(f"has text behind the last {_MARK}, which has no label", pointer="/input", code="bad_label")
    labels, at = [], 0
    for index, part in enumerate(parts[:-1]):
        at += len(part)
        sign = _SIGNS.get(marked[at : at + 1])
        if marked[at - len(part) : at] != part or sign is None:
            detail = f"must repeat `input` with + or - in place of each {_MARK}; it differs at step {index + 1}"
            raise RowError(detail, pointer="/label", code="bad_label")
        labels.append(sign)
        at += 1
    if marked[at:].strip():
        raise RowError("goes on behind the last label of `input`", pointer="/label", code="bad_label")
    yield {"prompt": question, "steps": steps, "labels": labels} | notes(record, source=record.get("task"))


def _question(beginning: str) -> tuple[str, str]:
    """The question and the first step, which begins with "Step 1:"."""
    found = _FIRST_STEP.search(beginning)
    if found is None or not found.start():
        raise RowError('has no "Step 1:" between the question and the first label', pointer="/input", code="wrong_type")
    return beginning[: found.start()], beginning[found.end() :]


def _is_shepherd(record: Source) -> float:
    asked, marked = record.get("input"), record.get("label")
    return isinstance(asked, str) and isinstance(marked, str) and f"{_MARK}" in asked and "Step 1" in asked


def _prm800k(record: Source, reading: Reading) -> Rows:
    """Each way through the tree of steps: the chosen steps, and each step that was not chosen behind the chosen ones before it.

    A step without a rating has no label, so the solution ends before it.
    """
    question, label = (_object(record, name) for name in ("question", "label"))
    before = {"prompt": text(question, "problem")}
    more = notes(record, annotator=record.get("labeler"))
    chain, given = list[dict[str, Any]](), False
    for place, step in enumerate(listed(label, "steps")):
        where = f"label/steps/{place}"
        rated, following = _options(step, where, reading)
        for option in rated:
            given = True
            yield before | _solution([*chain, option]) | more
        if following is None:
            break
        chain.append(following)
        given = False
    if chain and not given:
        yield before | _solution(chain) | more
    elif not given:
        raise RowError("has no step with a rating", pointer="/label/steps", code="bad_label")


def _options(step: Any, where: str, reading: Reading) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """The rated steps at one place that were not chosen, and the chosen one; None where no rated step was chosen."""
    options = step.get("completions") or [] if isinstance(step, dict) else None
    if not isinstance(options, list) or not all(isinstance(one, dict) for one in options):
        raise RowError("must be an object with a list of completions", pointer=f"/{where}", code="wrong_type")
    rated = [
        {"text": one.get("text"), "label": _rated(one["rating"], where), "place": place}
        for place, one in enumerate(options)
        if one.get("rating") is not None
    ]
    if len(rated) < len(options) or step.get("human_completion"):
        reading.note("unrated_steps", f"{where}: a step without a rating, and the solution behind it, is left out")
    chosen = step.get("chosen_completion")
    return [one for one in rated if one["place"] != chosen], next(
        (one for one in rated if one["place"] == chosen), None
    )


def _solution(chain: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"steps": [one["text"] for one in chain], "labels": [one["label"] for one in chain]}


def _object(record: Source, name: str) -> dict[str, Any]:
    value = field(record, name)
    if not isinstance(value, dict):
        raise RowError("must be an object", pointer=f"/{name}", code="wrong_type")
    return value


def _rated(rating: Any, where: str) -> str:
    found = None if isinstance(rating, bool) else number_of(rating)
    if found not in _SCALE:
        raise RowError("must have a rating of 1, 0 or -1", pointer=f"/{where}", code="bad_label")
    return _SCALE[int(found or 0)]


def _is_prm800k(record: Source) -> float:
    question, label = record.get("question"), record.get("label")
    return isinstance(question, dict) and "problem" in question and isinstance(label, dict) and "steps" in label


TRL = Format(
    id="trl_stepwise",
    title="TRL, stepwise supervision",
    about="A prompt, the steps of a solution, and whether each is right: true or false, a word, or 1, 0 (neutral) and -1. The kind `sft` takes the solutions without a wrong step as demonstrations.",
    source="https://huggingface.co/docs/trl/dataset_formats#stepwise-supervision",
    kinds=(STEPS, SFT),
    example=({"prompt": "Which is larger, 9.8 or 9.11?", "completions": ["The whole parts are equal.", "0.11 is more than 0.8, so 9.11."], "labels": [True, False]},),
    fields=NOTED | {"prompt", "completions", "labels"},
    fits=lambda record: has(record, "prompt", "completions", "labels"),
    rows=_trl,
    names={"steps": "completions"},
    specific=80,
)  # fmt: skip
SHEPHERD = Format(
    id="math_shepherd",
    title="Math-Shepherd",
    about="A question with its solution in `input`, each step ended by ки, and the same text in `label` with + or - in its place (Wang et al. 2023).",
    source="https://huggingface.co/datasets/peiyi9979/Math-Shepherd",
    kinds=(STEPS,),
    example=({"input": "How much is 2 + 3 + 4? Step 1: 2 + 3 = 5. ки\nStep 2: 5 + 4 = 8. The answer is: 8 ки", "label": "How much is 2 + 3 + 4? Step 1: 2 + 3 = 5. +\nStep 2: 5 + 4 = 8. The answer is: 8 -", "task": "GSM8K"},),
    fields=NOTED | {"input", "label", "task"},
    fits=_is_shepherd,
    rows=_shepherd,
    names={"prompt": "input", "steps": "input", "labels": "label"},
    specific=90,
)  # fmt: skip
PRM800K = Format(
    id="prm800k",
    title="OpenAI, PRM800K",
    about="A problem with rated steps, several at each place. Each rated step gives a row: itself behind the chosen steps before it. 1 is good, 0 neutral, -1 bad.",
    source="https://github.com/openai/prm800k",
    kinds=(STEPS,),
    example=(
        {
            "labeler": "w1",
            "question": {"problem": "How much is 2 + 3 + 4?"},
            "label": {
                "steps": [
                    {"completions": [{"text": "2 + 3 = 5.", "rating": 1}, {"text": "2 + 3 = 6.", "rating": -1}], "human_completion": None, "chosen_completion": 0},
                    {"completions": [{"text": "So it is 5 + 4.", "rating": 0}], "human_completion": None, "chosen_completion": 0},
                ],
            },
        },
    ),
    fields=NOTED | {"labeler", "question", "label"},
    fits=_is_prm800k,
    rows=_prm800k,
    names={"prompt": "question/problem", "steps": "label/steps", "labels": "label/steps"},
    specific=90,
)  # fmt: skip
