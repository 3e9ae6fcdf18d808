"""The platform's own rows, in all their forms."""

from data.errors import RowError
from data.formats import chat
from data.formats.base import (
    PREFERENCES,
    PRETRAINING,
    PROMPTS,
    SFT,
    STEPS,
    THUMBS,
    Format,
    Reading,
    Row,
    Rows,
    Source,
    judged,
)
from data.formats.values import given, listed, number
from data.schema import NOTES, DatasetKind
from data.spelling import refuse_misspelt

_FORMS: dict[DatasetKind, tuple[tuple[str, ...], ...]] = {
    PREFERENCES: (("prompt", "completions", "ranks"), ("prompt", "chosen", "rejected"), ("prompt", "a", "b", "label")),
    THUMBS: (("prompt", "completion", "thumb"),),
    STEPS: (("prompt", "steps", "labels"),),
    SFT: (("messages",), ("prompt", "completion")),
    PROMPTS: (("prompt",),),
    PRETRAINING: (("text",),),
}
_OPTIONAL: dict[DatasetKind, tuple[str, ...]] = {
    PREFERENCES: NOTES,
    THUMBS: ("annotator", "source", "time"),
    STEPS: ("annotator", "source", "time"),
    SFT: ("source",),
    PROMPTS: ("answer", "source"),
    PRETRAINING: ("source",),
}
_WHOLE = {
    kind: [
        (form, frozenset(form), frozenset(form).union(_OPTIONAL[kind]) - ({"margin"} if "ranks" in form else set()))
        for form in forms
    ]
    for kind, forms in _FORMS.items()
}
"""Each form with the fields that it needs, and all that it may have."""
_VERDICTS = ("label", "ranks")
_COLUMNS = frozenset(name for forms in _FORMS.values() for form in forms for name in form) | {"answer", *NOTES}


def _rows(record: Source, reading: Reading) -> Rows:
    form, optional = _form(record, reading.kind), _OPTIONAL[reading.kind]
    row = {name: record[name] for name in form} | given(record, reading, *optional)
    yield _from_text(row, reading) if "completions" in form or "steps" in form else row


def _form(record: Source, kind: DatasetKind) -> tuple[str, ...]:
    """The first form with a field besides the prompt. Fields of another form are refused, because the meaning is unclear.

    Null counts as absent, except for a label: a null label means that the row has none.
    """
    for form, least, most in _WHOLE[kind]:  # nearly always
        if least <= record.keys() <= most and None not in record.values():
            return form
    forms = _FORMS[kind]
    filled = {name: value for name, value in record.items() if value is not None}
    form = next((form for form in forms if any(name in filled for name in form if name != "prompt")), forms[-1])
    if missing := [name for name in form if name not in filled and not (name in _VERDICTS and name in record)]:
        detail = f"the field {missing[0]!r} is missing (needed: {', '.join(form)})"
        raise RowError(detail, pointer=f"/{missing[0]}", code="missing_field")
    refuse_misspelt(filled, frozenset((*form, *_OPTIONAL[kind])))
    others = {name for other in forms for name in other}.difference(form)
    if "completions" in form:
        others.add("margin")  # which belongs to a pair
    if strange := next((name for name in filled if name in others), None):
        detail = f"the field {strange!r} does not go with {', '.join(form)}"
        raise RowError(detail, pointer=f"/{strange}", code="unknown_field")
    return form


def _from_text(row: Row, reading: Reading) -> Row:
    """The row with lists that a cell holds as JSON text."""
    for name in ("completions", "ranks", "steps", "labels"):
        if isinstance(row.get(name), str):
            row[name] = listed(row, name)
    if isinstance(row.get("ranks"), list):
        ranks = enumerate(row["ranks"])
        row["ranks"] = [number(rank, f"ranks/{at}", reading) if isinstance(rank, str) else rank for at, rank in ranks]
    return row


def _prefers(record: Source) -> bool:
    return any(_is(record, form) for form in _FORMS[PREFERENCES])


def _thumbs(record: Source) -> bool:
    return any(_is(record, form) for form in _FORMS[THUMBS])


def _steps(record: Source) -> bool:
    return any(_is(record, form) for form in _FORMS[STEPS])


def _demonstrates(record: Source) -> float:
    """0.5 where another column rates the answer as good or bad."""
    return any(_is(record, form) for form in _FORMS[SFT]) and (0.5 if judged(record) else 1)


def _is(record: Source, form: tuple[str, ...]) -> bool:
    if form == ("messages",) and chat.is_conversation(record.get("messages")) and chat.only_asks(record["messages"]):
        return False  # prompts, in OpenAI's way
    return all(record.get(name) is not None or (name in _VERDICTS and name in record) for name in form)


ROWS = Format(
    id="rows",
    title="Rows of this platform",
    about="The rows of stored and exported datasets: pairs with a label, rankings, thumbs, labelled steps, demonstrations, prompts and texts.",
    source="",
    kinds=(PREFERENCES, THUMBS, STEPS, SFT, PROMPTS, PRETRAINING),
    example=(
        {
            "prompt": "The sky is",
            "a": " blue.",
            "b": " grey.",
            "label": "tie",
            "annotator": "kim",
            "time": "2026-01-31T12:00:00Z",
        },
        {"prompt": "The sky is", "completions": [" blue.", " grey.", " green."], "ranks": [1, 1, 2]},
    ),
    fields=_COLUMNS,
    fits=_prefers,
    fits_as={PREFERENCES: _prefers, THUMBS: _thumbs, STEPS: _steps, SFT: _demonstrates},
    rows=_rows,
    specific=45,
)
