"""The platform's own rows, in all their forms; and pairs that nobody has compared yet."""

from collections.abc import Callable

from core.datasets.formats.base import (
    PREFERENCES,
    PRETRAINING,
    PROMPTS,
    SFT,
    Format,
    Reading,
    Row,
    Rows,
    Source,
    has,
    says_which,
)
from core.datasets.formats.pairs import refuse_misspelt
from core.datasets.formats.values import field, given, listed, number
from core.datasets.line_json import BadLine
from core.datasets.row_shapes import NOTES
from core.models.dataset import DatasetKind

_FORMS: dict[DatasetKind, tuple[tuple[str, ...], ...]] = {
    PREFERENCES: (("prompt", "completions", "ranks"), ("prompt", "chosen", "rejected"), ("prompt", "a", "b", "label")),
    SFT: (("messages",), ("prompt", "completion")),
    PROMPTS: (("prompt",),),
    PRETRAINING: (("text",),),
}
_OPTIONAL: dict[DatasetKind, tuple[str, ...]] = {
    PREFERENCES: NOTES,
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
    yield _from_text(row, reading) if "completions" in form else row


def _form(record: Source, kind: DatasetKind) -> tuple[str, ...]:
    """The first of which any field but the prompt is there. What belongs to another form is refused: it is not clear what was
    meant. Null is as good as absent, but that a null label says outright that there is none."""
    for form, least, most in _WHOLE[kind]:  # nearly always
        if least <= record.keys() <= most and None not in record.values():
            return form
    forms = _FORMS[kind]
    said = {name: value for name, value in record.items() if value is not None}
    form = next((form for form in forms if any(name in said for name in form if name != "prompt")), forms[-1])
    if missing := [name for name in form if name not in said and not (name in _VERDICTS and name in record)]:
        found = f"; found {', '.join(map(repr, list(said)[:12]))}"
        detail = f"the field {missing[0]!r} is missing (needed: {', '.join(form)}){found}"
        raise BadLine(detail, pointer=f"/{missing[0]}", code="missing_field")
    refuse_misspelt(said, frozenset((*form, *_OPTIONAL[kind])))
    others = {name for other in forms for name in other}.difference(form)
    if "completions" in form:
        others.add("margin")  # which belongs to a pair
    if strange := next((name for name in said if name in others), None):
        detail = f"the field {strange!r} does not go with {', '.join(form)}"
        raise BadLine(detail, pointer=f"/{strange}", code="unknown_field")
    return form


def _from_text(row: Row, reading: Reading) -> Row:
    """Lists that lie in a cell as JSON."""
    for name in ("completions", "ranks"):
        if isinstance(row.get(name), str):
            row[name] = listed(row, name)
    if isinstance(row.get("ranks"), list):
        ranks = enumerate(row["ranks"])
        row["ranks"] = [number(rank, f"ranks/{at}", reading) if isinstance(rank, str) else rank for at, rank in ranks]
    return row


def _fits(kind: DatasetKind) -> Callable[[Source], float]:
    return lambda record: any(_is(record, form) for form in _FORMS[kind])


def _is(record: Source, form: tuple[str, ...]) -> bool:
    return all(record.get(name) is not None or (name in _VERDICTS and name in record) for name in form)


def _waiting(record: Source, reading: Reading) -> Rows:
    reading.note("unlabelled", "nobody has said which answer is better: the row waits to be annotated")
    notes = given(record, reading, "source")
    if "completions" in record:
        yield {"prompt": field(record, "prompt"), "completions": listed(record, "completions"), "ranks": None} | notes
        return
    a, b = next((pair for pair in _PAIRS if has(record, *pair)), _PAIRS[0])
    yield {"prompt": field(record, "prompt"), "a": field(record, a), "b": field(record, b), "label": None} | notes


_PAIRS = (
    ("a", "b"), ("response_a", "response_b"), ("response1", "response2"), ("response_1", "response_2"),
    ("completion_a", "completion_b"), ("output_1", "output_2"), ("answer_a", "answer_b"),
)  # fmt: skip


def _is_waiting(record: Source) -> float:
    """Weakly where some field may be a label under a name that nobody knows here."""
    if "prompt" not in record or not ("completions" in record or any(has(record, *pair) for pair in _PAIRS)):
        return 0
    return 0.5 if says_which(record, ()) else 1


ROWS = Format(
    id="rows",
    title="Rows of this platform",
    about="As datasets are stored and exported: pairs with a label, rankings, demonstrations, prompts and texts.",
    source="",
    kinds=(PREFERENCES, SFT, PROMPTS, PRETRAINING),
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
    fits=_fits(PREFERENCES),
    fits_as={PREFERENCES: _fits(PREFERENCES), SFT: _fits(SFT)},
    rows=_rows,
    specific=45,
)
UNLABELLED = Format(
    id="unlabelled",
    title="Unlabelled pairs",
    about="A prompt and answers that nobody has compared yet: for annotating.",
    source="",
    kinds=(PREFERENCES,),
    example=({"prompt": "The sky is", "response_a": " blue.", "response_b": " grey."},),
    fields=frozenset({"prompt", "completions", "source"}.union(*_PAIRS)),
    fits=_is_waiting,
    rows=_waiting,
    specific=30,
)
