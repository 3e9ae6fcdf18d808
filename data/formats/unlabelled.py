"""Answers that nobody has compared yet, for annotating."""

from typing import Any

from data.formats import chat
from data.formats.base import PREFERENCES, Format, Reading, Rows, Source, has, says_which
from data.formats.instruction import asked, several_outputs
from data.formats.values import field, given, listed
from data.names import INSTRUCTION_COLUMNS, UNLABELLED_LISTS, UNLABELLED_PAIRS


def _rows(record: Source, reading: Reading) -> Rows:
    reading.note("unlabelled", "nobody has said which answer is better: the row waits to be annotated")
    row = {"prompt": _prompt(record)} | given(record, reading, "source")
    pair = _pair(record)
    if name := next((name for name in UNLABELLED_LISTS if record.get(name) is not None and pair is None), None):
        answers = [chat.answer(said, f"/{name}/{at}") for at, said in enumerate(listed(record, name))]
        yield row | {"completions": answers, "ranks": None}
        return
    a, b = pair or UNLABELLED_PAIRS[0]
    yield row | {
        "a": chat.answer(field(record, a), f"/{a}"),
        "b": chat.answer(field(record, b), f"/{b}"),
        "label": None,
    }


def _prompt(record: Source) -> Any:
    """As alpaca asks, with whatever stands beside it."""
    prompt = record.get("prompt")
    if "prompt" in record and not isinstance(prompt, str):
        return chat.prompt(record)
    return asked(record if prompt is None else record | {"instruction": prompt})


def _pair(record: Source) -> tuple[str, str] | None:
    return next((pair for pair in UNLABELLED_PAIRS if has(record, *pair)), None)


def _fits(record: Source) -> float:
    """Weakly where some field may be a label under a name that nobody knows here."""
    answers = "completions" in record or several_outputs(record) or _pair(record)
    if not ("prompt" in record or "instruction" in record) or not answers:
        return 0
    return 0.5 if says_which(record, ()) else 1


FORMAT = Format(
    id="unlabelled",
    title="Unlabelled answers",
    about="A prompt and answers that have no comparison yet: for annotating.",
    source="",
    kinds=(PREFERENCES,),
    example=({"prompt": "The sky is", "response_a": " blue.", "response_b": " grey."},),
    fields=INSTRUCTION_COLUMNS.union({"prompt", "source"}, UNLABELLED_LISTS, *UNLABELLED_PAIRS),
    fits=_fits,
    rows=_rows,
    specific=30,
)
