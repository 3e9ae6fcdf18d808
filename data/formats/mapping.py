"""The mapping engine: makes a row from the values of named fields. User mappings (`custom`) and `column_presets` use it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

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
    Rated,
    Reading,
    Row,
    Rows,
    Source,
    filled_or_first,
)
from data.formats.labels import label_text
from data.formats.pairs import common_prompt, compared
from data.formats.stepwise import step_labels
from data.formats.values import field as required_field
from data.formats.values import listed, number, numbered_label, ranked, truth
from data.schema import DatasetKind
from data.spelling import refuse_misspelt
from data.verdicts import number_of, polarity

FIELDS = (
    "prompt", "system", "input", "chosen", "rejected", "a", "b", "label", "completion", "messages", "completions", "ranks",
    "order", "scores", "score", "rank", "thumb", "steps", "step_labels", "score_a", "score_b", "rank_a", "rank_b", "text", "answer", "margin", "annotator",
    "source", "time",
)  # fmt: skip
"""Fields that a column can be mapped to."""
FORMS: tuple[tuple[DatasetKind, frozenset[str], frozenset[str]], ...] = tuple(
    (kind, frozenset(needed), frozenset(needed) | {"prompt", "system", "input", "source"} | frozenset(more))
    for kind, needed, more in (
        (PREFERENCES, ("chosen", "rejected"), ("margin", "annotator", "time")),
        (PREFERENCES, ("a", "b", "score_a", "score_b"), ("annotator", "time")),
        (PREFERENCES, ("a", "b", "rank_a", "rank_b"), ("annotator", "time")),
        (PREFERENCES, ("a", "b"), ("label", "margin", "annotator", "time")),
        (PREFERENCES, ("prompt", "completions"), ("ranks", "order", "scores", "annotator", "time")),
        (PREFERENCES, ("prompt", "completion", "score"), ("annotator", "time")),
        (PREFERENCES, ("prompt", "completion", "rank"), ("annotator", "time")),
        (PREFERENCES, ("messages", "score"), ("annotator", "time")),
        (PREFERENCES, ("messages", "rank"), ("annotator", "time")),
        (THUMBS, ("prompt", "completion", "thumb"), ("annotator", "time")),
        (THUMBS, ("messages", "thumb"), ("annotator", "time")),
        (STEPS, ("prompt", "steps", "step_labels"), ("annotator", "time")),
        (SFT, ("messages",), ()),
        (SFT, ("prompt", "completion"), ()),
        (PRETRAINING, ("text",), ()),
        (PROMPTS, ("prompt",), ("answer",)),
    )
)
"""The kind of a row, the fields that it needs, and all fields that it may have."""


class Values:
    """The values of one record by field, and the column of each field for error messages."""

    def __init__(self, values: Row, columns: Mapping[str, str], reading: Reading) -> None:
        self._values, self._columns, self._reading = values, columns, reading

    def row(self, label_of: Callable[[Any], str]) -> Row | Rated:
        """The row, or one answer with its score. `label_of` converts the value of the field `label`. Raises RowError."""
        values = self._values
        if "chosen" in values or "a" in values:
            return self._pair(label_of)
        if "completions" in values:
            return self._ranking()
        if "steps" in values:
            return self._steps()
        if "messages" in values:
            return self._conversation()
        if "text" in values:
            return {"text": values["text"]}
        answer = {"answer": values["answer"]} if values.get("answer") is not None else {}
        if values.get("completion") is None:
            return {"prompt": self._prompt()} | answer
        completion = chat.answer(values["completion"], self._pointer("completion"))
        return self._judged(self._prompt(), completion) or {"prompt": self._prompt(), "completion": completion} | answer

    def _conversation(self) -> Row | Rated:
        """A conversation to imitate, or its last answer with its verdict."""
        messages = chat.with_system(
            self._values.get("system"), chat.messages(self._values["messages"], self._pointer("messages"))
        )
        if self._values.keys().isdisjoint(("score", "rank", "thumb")):
            return {"messages": messages}
        prompt, completion = chat.prompt_and_answer(messages, self._pointer("messages"))
        judged = self._judged(prompt, completion)
        assert judged is not None
        return judged

    def _judged(self, prompt: Any, completion: str) -> Row | Rated | None:
        """The answer with its score, rank or thumb; None without one."""
        if "score" in self._values:
            return Rated(prompt, completion, self._score())
        if "rank" in self._values:
            return Rated(prompt, completion, -number(self._values["rank"], self._column("rank"), self._reading))
        return {"prompt": prompt, "completion": completion} | self._thumb() if "thumb" in self._values else None

    def _pair(self, label_of: Callable[[Any], str]) -> Row:
        values = self._values
        sides = ("chosen", "rejected") if "chosen" in values else ("a", "b")
        first, second = (values[side] for side in sides)
        if isinstance(first, str) and isinstance(second, str) and "prompt" not in values:
            prompt, a, b = common_prompt(first, second)
        else:
            columns = self._column(sides[0]), self._column(sides[1])
            prompt, a, b = compared(self._prompt(), first, second, columns, self._reading)
        label = "a" if sides[0] == "chosen" else label_of(values["label"]) if "label" in values else None
        row = {"prompt": chat.with_system(values.get("system"), prompt), "a": a, "b": b, "label": label}
        return row | self._measured("score", 1) | self._measured("rank", -1)

    def _measured(self, measure: str, sign: int) -> Row:
        """Label and margin by a score or rank of each side. Empty without them. `sign` is -1 where less is better."""
        names = (f"{measure}_a", f"{measure}_b")
        if not self._values.keys() >= {*names}:
            return {}
        first, second = (number(self._values[name], self._column(name), self._reading) for name in names)
        difference = round(sign * (first - second), 12)
        margin = {"margin": abs(difference)} if sign == 1 and difference else {}
        return {"label": "a" if difference > 0 else "b" if difference < 0 else "tie"} | margin

    def _ranking(self) -> Row:
        values = listed(self._values, "completions")
        texts = [chat.answer(value, f"{self._pointer('completions')}/{index}") for index, value in enumerate(values)]
        if "order" in self._values:
            return self._ordered(texts)
        measure = next((name for name in ("ranks", "scores") if name in self._values), None)
        if measure is None:
            return {"prompt": self._prompt(), "completions": texts, "ranks": None}
        measured = enumerate(listed(self._values, measure))
        numbers = [number(value, f"{measure}/{index}", self._reading) for index, value in measured]
        if len(numbers) != len(texts):
            detail = f"has {len(numbers)} entries for {len(texts)} answers"
            raise RowError(detail, pointer=f"/{measure}", code="wrong_type")
        sign = -1 if measure == "ranks" else 1
        scored = [(text, sign * value) for text, value in zip(texts, numbers, strict=True)]
        return ranked(self._prompt(), scored, self._reading)

    def _ordered(self, texts: list[str]) -> Row:
        """The ranking of answers by a list of their numbers, from the best to the worst. The numbers count from 0 or from 1."""
        places = [
            number(value, f"order/{index}", self._reading) for index, value in enumerate(listed(self._values, "order"))
        ]
        first = min(places, default=0)
        if first not in (0, 1) or sorted(places) != [first + at for at in range(len(texts))]:
            detail = f"must name each of the {len(texts)} answers once, counted from 0 or from 1"
            raise RowError(detail, pointer=self._pointer("order"), code="bad_label")
        scores = {int(place - first): -at for at, place in enumerate(places)}
        return ranked(self._prompt(), [(text, scores[at]) for at, text in enumerate(texts)], self._reading)

    def _prompt(self) -> Any:
        """Text or messages, with the input below and the system message before them. None without a prompt."""
        prompt, extra = self._values.get("prompt"), self._values.get("input")
        if prompt is None:
            return None
        prompt = chat.text_or_messages(prompt, self._pointer("prompt"))
        if isinstance(prompt, str) and isinstance(extra, str) and extra.strip():
            prompt = f"{prompt}\n{extra}"
        return chat.with_system(self._values.get("system"), prompt)

    def _score(self) -> float:
        """A number, or a verdict in a word: true, like and up are better than false, dislike and down."""
        value, column = self._verdict("score"), self._column("score")
        if isinstance(value, bool) or (number_of(value) is None and polarity(value) is not None):
            return float(truth(value, column))
        return number(value, column, self._reading)

    def _thumb(self) -> Row:
        return {"thumb": "up" if truth(self._verdict("thumb"), self._column("thumb")) else "down"}

    def _steps(self) -> Row:
        """Labelled steps. A label that the mapping's labels name has their meaning, any other its own."""
        steps, given = listed(self._values, "steps"), listed(self._values, "step_labels")
        meanings = self._reading.mapping.get("labels") or {}
        labels: list[Any] = [meanings.get(label_text(label), label) for label in given]
        if None in labels:
            detail = f"the mapping marks the label {given[labels.index(None)]!r} as not usable"
            raise RowError(detail, pointer=f"{self._pointer('step_labels')}/{labels.index(None)}", code="bad_label")
        if not set(map(label_text, given)) <= meanings.keys():
            labels = step_labels(labels, self._column("step_labels"))
        return {"prompt": self._prompt(), "steps": steps, "labels": labels}

    def _verdict(self, name: str) -> Any:
        """The value of `score` or `thumb`, by the mapping's labels where they have it. Raises RowError for an unusable one."""
        value, labels = self._values[name], self._reading.mapping.get("labels") or {}
        text = label_text(value) if value is not None else ""
        if text in labels and labels[text] is None:
            detail = f"the mapping marks the label {text[:40]!r} as not usable"
            raise RowError(detail, pointer=self._pointer(name), code="bad_label")
        return labels.get(text, value)

    def _column(self, name: str) -> str:
        return self._columns.get(name, name)

    def _pointer(self, name: str) -> str:
        return f"/{self._column(name)}"


def with_notes(row: Row | Rated, notes: Row) -> Row | Rated:
    """The row with its annotator, time, source and margin."""
    return replace(row, notes=notes) if isinstance(row, Rated) else row | notes


def names_of_sides(names: dict[str, Any]) -> dict[str, Any]:
    """Columns by field, with the names of `a` and `b` for columns that are mapped to `chosen` and `rejected`."""
    sides = (("a", "chosen"), ("b", "rejected"), ("prompt", "chosen"))
    return {row: names[mapped] for row, mapped in sides if mapped in names} | names


class JoinedColumns(NamedTuple):
    """A value that several columns give together, such as an instruction with its input."""

    columns: frozenset[str]
    """Columns that `read` reads."""
    read: Callable[[Source, Reading], Any]
    """The value. Raises RowError."""
    name: str = ""
    """The column that error messages name."""


NO_NOTES = JoinedColumns(frozenset(), lambda record, reading: {})


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A format whose columns only have other names than the fields of a row. `format` makes it a Format."""

    id: str
    title: str
    about: str
    source: str
    example: tuple[Source, ...]
    columns: Mapping[str, str | tuple[str, ...] | JoinedColumns]
    """The column of each field (one of FIELDS). A tuple holds names of one column; the first that is filled is read."""
    labels: Mapping[float, str] = field(default_factory=dict)
    """The label ("a", "b" or "tie") of each number in the column of the field `label`."""
    optional: frozenset[str] = frozenset()
    """Fields that a record may lack. Without one of the others the record is refused."""
    notes: JoinedColumns = NO_NOTES
    """Annotator, time, source and margin."""
    kinds: tuple[DatasetKind, ...] = (PREFERENCES,)
    """The kinds that it can give, the usual one first. A kind uses the fields that its rows have."""
    fits: Callable[[Source], float] | None = None
    """How well a record fits, from 0 to 1. None: 1 if it has a column for each required field, otherwise 0."""
    specific: int = 80
    grouped: Literal["", "anywhere"] = ""
    one_of_many: bool = False
    tools: bool = False
    """Whether a column `tools` may define tools, which are left out with a finding."""
    refuses_misspelt: bool = False
    """Whether a column whose name is nearly a declared one is refused."""

    def format(self) -> Format:
        declared = {kind: self._declared(kind) for kind in self.kinds}
        others = frozenset[str]().union(*(declared[kind] for kind in self.kinds if kind is not PROMPTS))
        names = {
            name: column.name if isinstance(column, JoinedColumns) else column for name, column in self.columns.items()
        }
        return Format(
            id=self.id,
            title=self.title,
            about=self.about,
            source=self.source,
            kinds=self.kinds,
            example=self.example,
            fields=frozenset[str]().union(*declared.values()),
            fits=self.fits or self._has_required,
            rows=self._rows,
            for_prompts=declared[PROMPTS] - others if PROMPTS in self.kinds and others else frozenset(),
            names=names_of_sides(names),
            grouped=self.grouped,
            labelled="label" in self.columns,
            sides_named="chosen" in self.columns,
            specific=self.specific,
            one_of_many=self.one_of_many,
        )

    def _rows(self, record: Source, reading: Reading) -> Rows:
        if self.refuses_misspelt:
            refuse_misspelt(record, self._declared(reading.kind) | {"system"})
        if self.tools:
            chat.note_tools(record, reading)
        values, columns = self._values(record, reading)

        def label_of(value: Any) -> str:
            return numbered_label(value, columns["label"], self.labels, reading)

        yield with_notes(Values(values, columns, reading).row(label_of), self.notes.read(record, reading))

    def _values(self, record: Source, reading: Reading) -> tuple[Row, dict[str, str]]:
        """The values by field, and the column that each is from."""
        values: Row = {}
        columns: dict[str, str] = {}
        for name, column in self._fields(reading.kind).items():
            if isinstance(column, JoinedColumns):
                values[name], columns[name] = column.read(record, reading), column.name
                continue
            names = _aliases(column)
            if name in self.optional:
                names = tuple(one for one in names if not _is_absent(record.get(one)))
                if not names:
                    continue
            columns[name] = filled_or_first(record, names)
            values[name] = required_field(record, columns[name])
        return values, columns

    def _fields(self, kind: DatasetKind) -> Mapping[str, str | tuple[str, ...] | JoinedColumns]:
        """The columns of the fields that rows of this kind have."""
        allowed = next(most for form, least, most in FORMS if form is kind and least <= self.columns.keys())
        return {name: column for name, column in self.columns.items() if name in allowed}

    def _declared(self, kind: DatasetKind) -> frozenset[str]:
        """Every column that is read for this kind."""
        columns = (
            column.columns if isinstance(column, JoinedColumns) else _aliases(column)
            for column in self._fields(kind).values()
        )
        return self.notes.columns.union(*columns, ("tools",) if self.tools else ())

    def _has_required(self, record: Source) -> bool:
        required = (column for name, column in self._fields(self.kinds[0]).items() if name not in self.optional)
        return all(
            isinstance(column, JoinedColumns) or any(name in record for name in _aliases(column)) for column in required
        )


def _aliases(column: str | tuple[str, ...]) -> tuple[str, ...]:
    return (column,) if isinstance(column, str) else column


def _is_absent(value: Any) -> bool:
    return value is None or value == ""
