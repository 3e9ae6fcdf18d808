"""Suggests a mapping by the usual names of columns (`data.names`)."""

import re
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

from data import verdicts
from data.column_meaning import Meaning, meaning, names_metadata, words
from data.columns import Column
from data.formats.labels import is_number, suggested
from data.names import (
    PAIR_ENDS,
    RANK_LISTS,
    RANKING_NAMES,
    SCORE_LISTS,
    SIDE_RANKS,
    SIDE_SCORES,
    SUGGESTED_ANSWERS,
    SUGGESTED_LABELS,
    SUGGESTED_NOTES,
    SUGGESTED_PAIRS,
    SUGGESTED_PROMPTS,
    SUGGESTED_SIDES,
)
from data.spelling import plain

_VERDICT = re.compile(r"(^|[._-])(is_\w+|label|tag|verdict|scores?|ratings?|rewards?)$|\.responses$", re.IGNORECASE)
"""Names of columns that rate an answer, such as Argilla's `quality.responses`."""
_YES = re.compile(r"(^|[._-])is_\w+$", re.IGNORECASE)
"""Names such as `is_safe` and `is_toxic`: the user must decide whether yes is better."""
_TEXTS = {"text", "messages"}
"""Types of columns with content."""


def guess(columns: Sequence[Column]) -> dict[str, Any] | None:
    """`{"fields": …, "labels": …}`, or None where no column has a known name of a prompt, pair or answer."""
    names = _named(columns)
    fields: dict[str, str] = {}
    if (prompt := _first(names, SUGGESTED_PROMPTS)) is not None:
        fields["prompt"] = prompt
        if prompt != names.get("input") and prompt == names.get("instruction") and "input" in names:
            fields["input"] = names["input"]
    fields |= _answers(names) or _siblings(columns)
    if not fields.keys() - {"prompt", "input"}:
        return None
    if "completion" in fields and (verdict := _verdict(columns)) is not None:
        if "prompt" not in fields or not _counts(verdict):
            return None  # some of the answers may be bad: they are nothing to imitate
        fields["score"] = verdict.name
    fields |= _measures(fields, names) or _listed(fields, columns) or _measured(fields, columns)
    fields |= _label(fields, columns)
    if "chosen" in fields or "a" in fields:
        notes = {note: _first(names, known) for note, known in SUGGESTED_NOTES.items()}
        fields |= {note: column for note, column in notes.items() if column is not None}
    if not _settles(fields, columns):
        return None
    values = next((column.examples for column in columns if column.name == fields.get("label")), [])
    return {"fields": fields, "labels": suggested(values, fields)}


def _measures(fields: dict[str, str], names: dict[str, str]) -> dict[str, str]:
    """The columns of a score or rank of each side, such as `rank_1` and `rank_2` beside `response_1` and `response_2`.

    Empty for other mappings than pairs without a label.
    """
    if "a" not in fields or "label" in fields:
        return {}
    for field, known in (("score", SIDE_SCORES), ("rank", SIDE_RANKS)):
        for name in known:
            found = {f"{field}_{side}": _of_side(name, fields[side], side, names) for side in ("a", "b")}
            if all(found.values()):
                return {mapped: str(column) for mapped, column in found.items()}
    return {}


def _listed(fields: dict[str, str], columns: Sequence[Column]) -> dict[str, str]:
    """The items of a list with a score or rank of each side. A text that ranks, such as A>B, is the label."""
    if "a" not in fields or fields.keys() & {"label", "score_a", "rank_a"}:
        return {}
    listing = next((column for column in columns if plain(column.name) in (*RANK_LISTS, *SCORE_LISTS)), None)
    if listing is None or not listing.examples:
        return {}
    measure = "rank" if plain(listing.name) in RANK_LISTS else "score"
    if listing.type.startswith("list"):
        return {f"{measure}_a": f"{listing.name}.0", f"{measure}_b": f"{listing.name}.1"}
    return {"label": listing.name} if measure == "rank" else {}


def _siblings(columns: Sequence[Column]) -> dict[str, str]:
    """Two texts whose names differ in one word: `chosen_answer` and `rejected_answer`, `option_a` and `option_b`. Empty if several do."""
    texts = [column for column in columns if "text" in column.type.split(" or ") and not names_metadata(column.name)]
    found = [sides for pair in combinations(texts, 2) if (sides := _sides(pair[0].name, pair[1].name))]
    return found[0] if len(found) == 1 else {}


def _sides(first: str, second: str) -> dict[str, str]:
    """The two columns as sides of a pair, if their names differ in one word."""
    differ = _difference(first, second)
    if differ is None:
        return {}
    if differ in PAIR_ENDS and (len(words(first)) > 1 or len(differ[0]) > 1):
        return {"a": first, "b": second}
    good = tuple(map(verdicts.polarity, differ))
    if differ == ("w", "l") or good == (True, False):
        return {"chosen": first, "rejected": second}
    return {"chosen": second, "rejected": first} if differ == ("l", "w") or good == (False, True) else {}


def _difference(first: str, second: str) -> tuple[str, str] | None:
    """The one word in which two names differ, for each. None if they differ in more, or in nothing."""
    pairs = [pair for pair in zip(words(first), words(second), strict=False) if pair[0] != pair[1]]
    return pairs[0] if len(pairs) == 1 and len(words(first)) == len(words(second)) else None


def _measured(fields: dict[str, str], columns: Sequence[Column]) -> dict[str, str]:
    """Two columns of numbers whose names differ as those of the answers do: `votes_a` and `votes_b`."""
    if "a" not in fields or fields.keys() & {"label", "score_a", "rank_a"}:
        return {}
    sides = _difference(fields["a"], fields["b"])
    numbers = [column for column in columns if column.type == "number" and not names_metadata(column.name)]
    found = [pair for pair in combinations(numbers, 2) if _difference(pair[0].name, pair[1].name) == sides is not None]
    if len(found) != 1:
        return {}
    first, second = (one.name for one in found[0])
    measure = "score" if RANKING_NAMES.isdisjoint(words(first)) else "rank"
    return {f"{measure}_a": first, f"{measure}_b": second}


def _label(fields: dict[str, str], columns: Sequence[Column]) -> dict[str, str]:
    """The only column that names one of the answers, whatever its own name."""
    if "a" not in fields or fields.keys() & {"label", "score_a", "rank_a"}:
        return {}
    names = [column.name for column in columns if column.examples and all(map(_names_side, column.examples))]
    return {"label": names[0]} if len(names) == 1 else {}


def _names_side(text: str) -> bool:
    return verdicts.plain_word(text) in verdicts.SIDES


def _of_side(measure: str, answer: str, side: str, names: dict[str, str]) -> str | None:
    """The column of a side's measure: named like the answer's column, or by the side's letter."""
    own = plain(answer)
    ends = [own.rpartition("_")[2], own, own[-1], side]
    return _first(names, [name for end in ends for name in (f"{measure}_{end}", f"{measure}{end}", f"{end}_{measure}")])


def _settles(fields: dict[str, str], columns: Sequence[Column]) -> bool:
    """Whether the mapping uses a verdict, or no other column looks like one: a suggestion must not drop a ranking or score."""
    if fields.keys() & {"label", "score", "score_a", "rank_a", "ranks", "scores"}:
        return True
    sides = "a" in fields or "chosen" in fields
    mapped = set(fields.values())
    others = [column for column in columns if column.examples and column.name not in mapped]
    return not any(
        _holds_annotations(column)
        or meaning(column.name, column.examples, sides=sides) in (Meaning.VERDICT, Meaning.RANKING)
        for column in others
    )


def _holds_annotations(column: Column) -> bool:
    """Whether a list holds annotations, as Label Studio exports them. A mapping cannot read a verdict inside."""
    return plain(column.name) == "annotations" and not {"list", "messages"}.isdisjoint(column.type.split(" or "))


def _named(columns: Sequence[Column]) -> dict[str, str]:
    """Columns by their possible names: the whole path, its end, or the object if it has no other text."""
    names = {plain(column.name): column.name for column in columns} | {
        column.name.lower(): column.name for column in columns
    }
    texts: dict[str, list[str]] = {}
    for column in columns:
        *parents, end = plain(column.name).split(".")
        names.setdefault(end, column.name)
        for depth in range(len(parents) if _TEXTS.intersection(column.type.split(" or ")) else 0):
            texts.setdefault(".".join(parents[: depth + 1]), []).append(column.name)
    for parent, inside in texts.items():
        if len(inside) == 1:
            names.setdefault(parent.rpartition(".")[2], inside[0])
    return names


def _answers(names: dict[str, str]) -> dict[str, str]:
    for field_names, pairs in ((("chosen", "rejected"), SUGGESTED_SIDES), (("a", "b"), SUGGESTED_PAIRS)):
        for pair in pairs:
            if all(name.lower() in names for name in pair):
                found = {field: names[name.lower()] for field, name in zip(field_names, pair, strict=True)}
                label = _first(names, SUGGESTED_LABELS) if "a" in found else None
                return found | ({"label": label} if label is not None else {})
    answer = _first(names, SUGGESTED_ANSWERS)
    return {"completion": answer} if answer is not None else {}


def _verdict(columns: Sequence[Column]) -> Column | None:
    return next((column for column in columns if column.examples and _VERDICT.search(column.name)), None)


def _counts(verdict: Column) -> bool:
    """Whether a higher value is better, by the column's name and values: numbers, true and false."""
    return not _YES.search(verdict.name) and all(_is_score(text) for text in verdict.examples)


def _is_score(text: str) -> bool:
    return text.strip().lower() in ("true", "false") or is_number(text)


def _first(names: dict[str, str], known: Iterable[str]) -> str | None:
    return next((names[name] for name in known if name in names), None)
