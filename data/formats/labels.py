"""The meaning of label values, by the mapping or by well-known words."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from data.errors import RowError
from data.files.records import compact

_WORDS = {
    "a": "a", "model_a": "a", "response_a": "a", "left": "a", "first": "a", "chosen": "a",
    "b": "b", "model_b": "b", "response_b": "b", "right": "b", "second": "b", "rejected": "b",
    "tie": "tie", "both_bad": "tie", "bothbad": "tie", "both bad": "tie", "tie (bothbad)": "tie",
    "equal": "tie", "same": "tie", "a=b": "tie",
    "a>b": "a", "a>>b": "a", "b>a": "b", "b>>a": "b",
}  # fmt: skip
_NUMBERED = re.compile(r"(\d+)\D*$")
"""The last number in the name of a side's column, as in `response_2` or `answers.1.text`."""


def label_text(value: Any) -> str:
    """The value as a mapping writes it, without surrounding white space: `true` for JSON's true."""
    return (value if isinstance(value, str) else compact(value)).strip()


def meaning(value: Any, labels: Mapping[str, str | None], fields: Mapping[str, str]) -> str:
    """ "a", "b" or "tie", by the mapping, or by the name of a side's column or a well-known word.

    Raises RowError for an unknown value, and for one that the mapping marks as unusable (None). A number alone has no
    meaning, because files count from 0 or from 1.
    """
    label_value = "" if value is None else label_text(value)
    label = labels[label_value] if label_value in labels else _by_itself(label_value, labels, fields)
    if label is not None:
        return label
    if not label_value:
        detail = "the label is empty"
    elif label_value in labels:
        detail = f"the mapping marks the label {label_value[:40]!r} as not usable"
    elif not labels and _number(label_value) is not None:
        detail = f"the label {label_value[:40]!r} is a number: give the values of a, b and tie in the mapping's labels"
    else:
        detail = f"the label {label_value[:40]!r} is not in the mapping"
    raise RowError(detail, pointer="/label", code="bad_label")


def suggested(values: Iterable[str], fields: Mapping[str, str]) -> dict[str, str]:
    """Labels for the values of a column that are clear from the file: words, and numbers in the names of the sides' columns.

    Other numbers get none. 1 is the first answer in some files, the second in others, and "yes" in others.
    """
    label_values = [label_text(value) for value in values]
    numbers = {text: number for text in label_values if (number := _number(text)) is not None}
    numbered = _numbered(fields, set(numbers.values()))
    found = {
        text: numbered.get(numbers[text]) if text in numbers else _by_itself(text, {}, fields) for text in label_values
    }
    return {text: label for text, label in found.items() if label is not None}


def _numbered(fields: Mapping[str, str], numbers: set[float]) -> dict[float, str]:
    """The side of each number, by the names of the sides' columns. Empty if further numbers show that the values are grades."""
    ends = [(_NUMBERED.search(fields.get(side, "")), side) for side in ("a", "b")]
    named = {float(end[1]): side for end, side in ends if end is not None}
    return named if len(named) == 2 and numbers <= {0, *named} else {}


def _by_itself(label_value: str, labels: Mapping[str, str | None], fields: Mapping[str, str]) -> str | None:
    """The meaning of a word; None where the mapping gives such words another meaning."""
    words = _WORDS | {path.lower(): side for side, path in fields.items() if side in ("a", "b")}
    if any(words.get(text.lower(), label) != label for text, label in labels.items() if label is not None):
        return None
    return words.get(label_value.lower())


def is_number(text: str) -> bool:
    """Whether the text is a number."""
    return _number(text) is not None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
