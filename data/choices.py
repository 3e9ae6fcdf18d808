"""Ready-made answers to the question about a column: ways to use it, as options of an import."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from data import verdicts
from data.column_meaning import Meaning, names_bad, names_verdict
from data.columns import columns_of
from data.errors import RowError
from data.formats import chat
from data.formats.base import PROMPTS, SFT, Rated
from data.formats.guess import guess
from data.formats.labels import label_text, suggested
from data.leftovers import PathColumn, Sample
from data.schema import DatasetKind

_FURTHER = frozenset({Meaning.ANSWER, Meaning.TEXT})
_VERDICTS = frozenset({Meaning.VERDICT, Meaning.RANKING})


@dataclass(frozen=True)
class Choice:
    """An answer to a question, as options of the import. Options that are None stay as they are."""

    label: str
    """For people."""
    format: str | None = None
    kind: str | None = None
    mapping: dict[str, Any] | None = None
    ignore: list[str] = field(default_factory=list)


def choices(column: PathColumn, meaning: Meaning, kind: DatasetKind, sample: Sample) -> list[Choice]:
    """Ways to use a column that no format uses, and the kind that the records have without it."""
    fields = fields_of(sample)
    found = (
        []
        if "*" in column.path
        else [*_as_named(column, sample), *_uses(column, meaning, kind, fields, _others(column, sample))]
    )
    if kind is SFT and (meaning in _VERDICTS or (meaning in _FURTHER and "completion" in fields)):
        label = (
            "Imitate every answer, also bad ones" if meaning in _VERDICTS else f"Imitate `{fields['completion']}` alone"
        )
        found.append(Choice(label, kind=SFT.value))
    return [*found, Choice(f"Ignore `{column.name}`", ignore=[column.name])]


def _as_named(column: PathColumn, sample: Sample) -> Iterator[Choice]:
    """The mapping that the names of the columns suggest, if it compares answers and uses this column."""
    mapping = guess(columns_of([record for record, _ in sample.rows], None))
    fields = mapping["fields"] if mapping is not None else {}
    used = any(path == column.name or path.startswith(f"{column.name}.") for path in fields.values())
    if used and ("chosen" in fields or "a" in fields):
        listed = ", ".join(f"{name}={path}" for name, path in fields.items())
        yield Choice(f"Map the columns as their names suggest: {listed}", mapping=mapping)


def _others(column: PathColumn, sample: Sample) -> list[str]:
    """The other texts that no format uses."""
    return [one.name for one in sample.unused() if one is not column and one.meaning(sides=True) in _FURTHER]


def _uses(
    column: PathColumn, meaning: Meaning, kind: DatasetKind, fields: dict[str, str], others: Sequence[str]
) -> list[Choice]:
    if meaning in _VERDICTS and "completions" in fields:
        return _of_several(column, fields)
    if meaning in _VERDICTS:
        return _of_pair(column, fields) if "a" in fields else _of_one(column, meaning, fields)
    if meaning in _FURTHER:
        return list(_of_answer(column, kind, fields, others))
    wanted = {SFT: ("messages",) if "messages" in fields else ("prompt", "completion"), PROMPTS: ("prompt",)}.get(kind)
    if meaning not in (Meaning.PROMPT, Meaning.SYSTEM) or wanted is None or not fields.keys() >= {*wanted}:
        return []
    name = "system" if meaning is Meaning.SYSTEM else "input"
    if name == "input" and (name in fields or "messages" in fields):
        return []
    label = "Put it before the prompt, as the system message" if name == "system" else "Put it below the prompt"
    return [Choice(label, mapping={"fields": fields | {name: column.name}})]


def _of_several(column: PathColumn, fields: dict[str, str]) -> list[Choice]:
    """A list of ranks, scores or places beside a list of answers."""
    if "prompt" not in fields or not all(isinstance(value, list) for value in column.values):
        return []
    path, several = column.name, {name: fields[name] for name in ("prompt", "completions")}
    ways = {
        "scores": "Scores: the highest is the best answer's",
        "ranks": "Ranks: the lowest is the best answer's",
        "order": "An order: the first number is the best answer's",
    }
    return [Choice(label, mapping={"fields": several | {name: path}}) for name, label in ways.items()]


def _of_answer(
    column: PathColumn, kind: DatasetKind, fields: dict[str, str], others: Sequence[str]
) -> Iterator[Choice]:
    """A further answer as a side of a pair, or the only answer to a prompt as the one to imitate."""
    path, prompt = column.name, {"prompt": fields["prompt"]} if "prompt" in fields else {}
    if kind is SFT:
        own = fields.get("completion", fields.get("messages"))
        yield from _pairs(path, own, prompt if "completion" in fields else {})
    elif kind is PROMPTS and prompt:
        yield from _pairs(path, others[0] if len(others) == 1 else None, prompt)
        yield Choice(f"An answer to imitate: `{path}`", mapping={"fields": prompt | {"completion": path}})


def _pairs(path: str, other: str | None, prompt: dict[str, str]) -> Iterator[Choice]:
    for better, worse in ((other, path), (path, other)) if other is not None else ():
        mapping = {"fields": prompt | {"chosen": better, "rejected": worse}}
        yield Choice(f"A pair: `{better}` is better than `{worse}`", mapping=mapping)


def _of_one(column: PathColumn, meaning: Meaning, fields: dict[str, str]) -> list[Choice]:
    """A thumb, score or rank for the one answer of each record. Nothing for a list of several verdicts."""
    wanted = {"messages"} if "messages" in fields else {"prompt", "completion"}
    path, given = _only(column)
    if not fields.keys() >= wanted or not given:
        return []
    values = sorted({label_text(value) for value in given})
    numbers = {verdicts.number_of(value) for value in values}
    measures = {value: verdicts.measure(value) for value in values}
    if None not in measures.values():
        labels = {value: f"{number:g}" for value, number in measures.items() if number is not None}
        return [_scored(path, fields, labels)]
    if None in numbers:
        return list(_thumbs(column, path, fields, values))
    if meaning is Meaning.RANKING:
        return [
            Choice(
                f"Answers with ranks: `{path}` is the lowest for the best", mapping={"fields": fields | {"rank": path}}
            )
        ]
    lower = Choice(f"Answers with scores: a lower `{path}` is better", mapping={"fields": fields | {"rank": path}})
    thumbs = list(_thumbs(column, path, fields, values)) if numbers <= {0, 1, -1} else []
    return [*thumbs, lower if names_bad(column.path[-1]) else _scored(path, fields, {})]


def _only(column: PathColumn) -> tuple[str, Sequence[Any]]:
    """The path to the values, which may be the only items of lists. No values for objects and for lists of several."""
    if all(isinstance(value, list) and len(value) == 1 for value in column.values):
        return f"{column.name}.0", [value[0] for value in column.values]
    plain = [value for value in column.values if not isinstance(value, list | dict)]
    return column.name, plain if len(plain) == len(column.values) else []


def _scored(path: str, fields: dict[str, str], labels: dict[str, str]) -> Choice:
    mapping: dict[str, Any] = {"fields": fields | {"score": path}} | ({"labels": labels} if labels else {})
    return Choice(f"Answers with scores: a higher `{path}` is better", mapping=mapping)


def _thumbs(column: PathColumn, path: str, fields: dict[str, str], values: Collection[str]) -> Iterator[Choice]:
    """The choice of thumbs, and its opposite where the column's name does not decide. In a column named like a defect
    (`toxic`), yes means a bad answer."""
    name = column.path[-1]
    yes_is_bad = [names_bad(name)] if names_bad(name) or names_verdict(name) or not _affirm(values) else [False, True]
    for bad in yes_is_bad:
        labels = _thumb_labels(values, inverted=bad and _affirm(values))
        mapping: dict[str, Any] = {"fields": fields | {"thumb": path}} | ({"labels": labels} if labels else {})
        says = (
            f"marks an answer as {'bad' if bad else 'good'}"
            if _affirm(values)
            else "separates good answers from bad ones"
        )
        yield Choice(f"Thumbs: `{path}` {says}", mapping=mapping)


def _affirm(values: Collection[str]) -> bool:
    """Whether the values only say yes or no, so that the column's name decides which is good."""
    return all(
        verdicts.plain_word(value) in verdicts.AFFIRMATIONS or verdicts.number_of(value) in (0, 1) for value in values
    )


def _thumb_labels(values: Collection[str], *, inverted: bool) -> dict[str, str | None]:
    """Labels for values whose meaning is not clear by themselves: None, not usable, until the user gives one.

    -1 is bad beside 1; 0 is then neither. Beside an unclear value, a single letter is a grade.
    """
    if {verdicts.number_of(value) for value in values} <= {-1, 0, 1} and "-1" in values:
        return {value: {"-1": "down", "1": "up"}.get(value) for value in values}
    polarities = {value: verdicts.polarity(value) for value in values}
    if None in polarities.values():
        polarities |= {value: None for value in values if len(value) == 1 and value.isalpha()}
    if not inverted and None not in polarities.values():
        return {}
    names = {True: "down" if inverted else "up", False: "up" if inverted else "down", None: None}
    return {value: names[good] for value, good in polarities.items()}


def _of_pair(column: PathColumn, fields: dict[str, str]) -> list[Choice]:
    """The label of a pair. Values whose meaning is not clear are not usable until the user gives one."""
    if any(isinstance(value, list | dict) for value in column.values):
        return []
    mapped = fields | {"label": column.name}
    values = sorted({label_text(value) for value in column.values})
    labels = dict.fromkeys(values) | suggested(values, mapped)
    return [Choice(f"`{column.name}` names the better of the two", mapping={"fields": mapped, "labels": labels})]


def fields_of(sample: Sample) -> dict[str, str]:
    """The columns that hold the prompt and the answers of the rows, by field of a mapping."""
    found: dict[str, str] = {}
    for record, row in sample.rows[:1]:
        texts = {"prompt": row.prompt, "completion": row.completion} if isinstance(row, Rated) else row
        wanted = {"a": texts.get("chosen", texts.get("a")), "b": texts.get("rejected", texts.get("b"))}
        wanted |= {name: texts.get(name) for name in ("messages", "prompt", "completion", "completions")}
        for name, value in wanted.items():
            column = next((column for column in record if value is not None and _holds(record[column], value)), None)
            if column is not None:
                found[name] = column
        if "prompt" not in found and isinstance(texts.get("prompt"), str):
            found |= _joined(record, texts["prompt"])
        if "prompt" not in found and isinstance(texts.get("prompt"), list) and "completion" in found:
            found |= _behind_system(record, texts["prompt"])
    return found


def _behind_system(record: Mapping[str, Any], turns: list[dict[str, str]]) -> dict[str, str]:
    """The columns of a system message and a question that were made one prompt."""
    if [turn["role"] for turn in turns] != ["system", "user"]:
        return {}
    both = {
        name: next((column for column, value in record.items() if value == turn["content"]), "")
        for name, turn in zip(("system", "prompt"), turns, strict=True)
    }
    return both if all(both.values()) else {}


def _joined(record: Mapping[str, Any], prompt: str) -> dict[str, str]:
    """The columns of an instruction and its input, which were joined."""
    first, _, rest = prompt.partition("\n")
    names = {
        name: next((column for column, value in record.items() if value == text), "")
        for name, text in (("prompt", first), ("input", rest))
    }
    return names if all(names.values()) else {}


def _holds(value: Any, wanted: Any) -> bool:
    if value == wanted:
        return True
    if not isinstance(value, list) or not isinstance(wanted, str | list):
        return False
    try:
        turns = chat.messages(value, "")
    except RowError:
        return False
    return turns == wanted or (len(turns) == 1 and turns[0]["content"] == wanted)
