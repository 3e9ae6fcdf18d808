"""Reads typed fields of records, with an error for missing and mistyped ones, and ranks answers by score."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from data.errors import RowError
from data.files.cells import looks_printed, structure
from data.formats.base import Reading, Row, Source
from data.names import ANNOTATORS, REFERENCES, SOURCES, TIMES
from data.schema import LARGEST
from data.verdicts import polarity


def field(record: Source, name: str) -> Any:
    """The value of a field. Raises RowError where it is missing or null."""
    if name not in record:
        raise RowError(f"the field {name!r} is missing", pointer=f"/{name}", code="missing_field")
    value = record[name]
    if value is None:
        raise RowError("is empty", pointer=f"/{name}", code="empty_text")
    return value


def named(record: Source) -> str:
    """The names of the fields that are not null, for a message."""
    filled = [name for name, value in record.items() if value is not None]
    return ", ".join(repr(name[:60]) for name in filled[:12]) or "none"


def first_named(record: Source, names: Sequence[str]) -> str | None:
    """The first of these columns that is filled, otherwise the first that the record has. None if it has none."""
    return next((name for name in names if record.get(name) is not None), None) or next(
        (name for name in names if name in record), None
    )


def text(record: Source, name: str) -> str:
    """The text of a field, which may be blank. Raises RowError."""
    value = field(record, name)
    if not isinstance(value, str):
        raise RowError("must be text", pointer=f"/{name}", code="wrong_type")
    return value


def number(value: Any, name: str, reading: Reading | None = None) -> float | int:
    """The number of a value. A number in a text is converted and noted. Raises RowError."""
    if isinstance(value, bool):
        raise RowError("must be a number", pointer=f"/{name}", code="wrong_type")
    if isinstance(value, str):
        value = _read_number(value, name)
        if reading is not None:
            reading.note("numbers_as_text", f"`{name}` is text; it was read as a number")
    if not isinstance(value, int | float) or value != value:
        raise RowError("must be a number", pointer=f"/{name}", code="wrong_type")
    if abs(value) > LARGEST:
        raise RowError("is too large a number", pointer=f"/{name}", code="bad_number")
    return value


def _read_number(value: str, name: str) -> float | int:
    try:
        return int(value) if value.strip().lstrip("+-").isdecimal() and len(value) < 20 else float(value)
    except ValueError as error:
        raise RowError("must be a number", pointer=f"/{name}", code="wrong_type") from error


def truth(value: Any, name: str) -> bool:
    """True or false, from JSON, 1 and 0, or words for a good and a bad answer. Raises RowError."""
    found = polarity(value)
    if found is None:
        raise RowError("must be true or false, or a word such as good or bad", pointer=f"/{name}", code="bad_label")
    return found


def numbered_label(value: Any, name: str, labels: Mapping[float, str], reading: Reading) -> str:
    """The label that a number in the column `name` stands for. Raises RowError for any other value."""
    found = labels.get(number(value, name, reading))
    if found is None:
        known = " or ".join(f"{label:g}" for label in labels)
        raise RowError(f"must be {known}", pointer=f"/{name}", code="bad_label")
    return found


def listed(record: Source, name: str) -> list[Any]:
    """The list of a field, or of a text that holds one as JSON or in Python's form. Raises RowError."""
    value = field(record, name)
    if isinstance(value, str):
        found = structure(value)
        if found is None:
            known = "is a list as Python or numpy prints it, not JSON: write the column with json.dumps"
            detail = known if looks_printed(value) else "must be a list, written as JSON"
            raise RowError(detail, pointer=f"/{name}", code=_json_trouble(value))
        value = found
    if not isinstance(value, list):
        raise RowError("must be a list", pointer=f"/{name}", code="wrong_type")
    return value


def _json_trouble(text: str) -> str:
    """The code of a text that is not JSON. Cut emoji leave halves of surrogate pairs, the usual cause."""
    return "bad_characters" if "\\ud" in text.lower() else "wrong_type"


def reference(record: Source) -> Row:
    """`{"answer": …}` from the first column of REFERENCES that is not empty; otherwise {}."""
    references = [record[name] for name in REFERENCES if record.get(name) not in (None, "")]
    return {"answer": references[0]} if references else {}


_SECONDS = re.compile(r"\d{9,13}(\.\d+)?")
"""Seconds or milliseconds since 1970 in digits. A date in digits (20260131) is shorter."""


def time(value: Any) -> str | None:
    """The time in RFC 3339, in its own zone or UTC. Accepts seconds or milliseconds since 1970 and ISO 8601; None for anything else."""
    try:
        if isinstance(value, str) and _SECONDS.fullmatch(value):  # as a CSV has it
            value = float(value)
        if isinstance(value, str):
            at = datetime.fromisoformat(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            at = datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
        else:
            return None
    except (ValueError, OverflowError, OSError):
        return None
    aware = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return aware.isoformat().replace("+00:00", "Z")


def notes(record: Source, **own: Any) -> Row:
    """Annotator, time and source from their usual columns. Values in `own` replace them; None is left out."""
    row: Row = {"annotator": _first(record, ANNOTATORS), "source": _first(record, SOURCES)}
    row["time"] = next((at for name in TIMES if (at := time(record.get(name))) is not None), None)
    row |= own
    return {name: value for name, value in row.items() if value is not None}


def _first(record: Source, names: tuple[str, ...]) -> str | None:
    for name in names:
        value = record.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return str(value)
    return None


def given(record: Source, reading: Reading, *names: str) -> Row:
    """The fields `names` unchanged, so that the row schema reports their errors. Empty ones are left out."""
    found = {name: value for name in names if (value := record.get(name)) is not None and value != ""}
    if isinstance(found.get("margin"), str):
        found["margin"] = number(found["margin"], "margin", reading)
    return found


TWICE = "An answer was given to this prompt before, with the same rating: it counts once"


def ranked(prompt: Any, answers: Sequence[tuple[Any, float]], reading: Reading) -> Row:
    """A ranking by scores, of which higher is better. Equal scores are ties; the best rank is 1.

    An answer that occurs twice with one score counts once, and is noted. Raises RowError if its scores differ, or if
    fewer than two answers are left.
    """
    best: dict[str, float] = {}
    for index, (answer, score) in enumerate(answers):
        if not isinstance(answer, str):
            code = "empty_text" if answer is None else "wrong_type"
            raise RowError("must be text", pointer=f"/completions/{index}", code=code)
        if best.setdefault(answer, score) != score:
            detail = f"one answer has the scores {best[answer]:g} and {score:g}"
            raise RowError(detail, code="contradictory_ratings")
    if len(best) < 2:
        raise RowError("there is only one answer to the prompt", code="single_answer")
    if len(best) < len(answers):
        reading.note("rated_twice", TWICE)
    return {"prompt": prompt, "completions": list(best), "ranks": ranks(list(best.values()))}


def ranks(scores: Sequence[float]) -> list[int]:
    """1 for the highest score, 2 for the next lower one, and so on."""
    order = sorted(set(scores), reverse=True)
    return [order.index(score) + 1 for score in scores]
