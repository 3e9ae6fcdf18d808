"""Questions about columns that look meaningful and that a format does not use, with ready-made choices."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from data import verdicts
from data.column_meaning import Meaning, is_filled, meaning, names_bad, names_verdict
from data.errors import RowError
from data.formats import chat, order
from data.formats.base import PREFERENCES, PRETRAINING, PROMPTS, SFT, THUMBS, Format, Rated
from data.formats.labels import label_text, suggested
from data.leftovers import Column, Sample
from data.names import ANSWER_LISTS, RANKING_PROMPTS
from data.schema import DatasetKind
from data.spelling import Names

NAMED_NOTHING, NAMED_KIND, NAMED_FORMAT = 0, 1, 2
"""The most that the user named: nothing, the kind, or the format or a mapping."""
_TREE = (
    "each record is one message, and {names} say who speaks and what comes before it. Write one record for each "
    "conversation: `messages` with `role` and `content`, or `prompt` with `completions` and their `ranks`. Trees of Open "
    "Assistant (one record with `prompt.replies`) are read as they are."
)
_WHAT: dict[Meaning, str] = {
    Meaning.VERDICT: "looks like a verdict on the answer",
    Meaning.RANKING: "looks like a ranking of the answers",
    Meaning.ANSWER: "looks like a further answer",
    Meaning.REFERENCE: "looks like a reference answer",
    Meaning.PROMPT: "looks like a part of the prompt",
    Meaning.SYSTEM: "looks like a system message",
    Meaning.ROLE: "names who speaks",
    Meaning.TREE: "names the message before",
    Meaning.TURN: "numbers the turns of a conversation",
    Meaning.MEDIA: "names an image or a sound that the text refers to",
    Meaning.TEXT: "is a text of unknown meaning",
}
_ASKED: dict[DatasetKind, frozenset[Meaning]] = {
    SFT: frozenset({Meaning.ANSWER, Meaning.PROMPT, Meaning.SYSTEM, Meaning.ROLE, Meaning.TREE, Meaning.TURN}),
    THUMBS: frozenset({Meaning.ANSWER, Meaning.PROMPT, Meaning.SYSTEM, Meaning.ROLE, Meaning.TREE, Meaning.TURN}),
    PROMPTS: frozenset({Meaning.ANSWER, Meaning.PROMPT, Meaning.SYSTEM, Meaning.ROLE, Meaning.TREE, Meaning.TURN}),
    PREFERENCES: frozenset({Meaning.PROMPT, Meaning.SYSTEM, Meaning.TREE, Meaning.TURN}),
    PRETRAINING: frozenset({Meaning.ANSWER, Meaning.SYSTEM, Meaning.ROLE, Meaning.TREE, Meaning.TURN}),
}
"""Meanings of unused columns that stop an import, without verdicts and rankings."""


_NAMED_SIDES = frozenset(word for word in verdicts.SIDES if len(word) > 1)


@dataclass(frozen=True)
class Choice:
    """An answer to a question, as options of the import. Options that are None stay as they are."""

    label: str
    """For people."""
    format: str | None = None
    kind: str | None = None
    mapping: dict[str, Any] | None = None
    ignore: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Question:
    """A column that looks meaningful and is not used."""

    column: str
    meaning: Meaning
    detail: str
    """A sentence for people."""
    values: list[str]
    """Some of its values, as short texts."""
    choices: list[Choice]
    by_format: bool = False
    """Whether naming the kind leaves the question open."""

    def is_settled(self, named: int) -> bool:
        """Whether what the user named answers it."""
        return named >= (NAMED_FORMAT if self.by_format else NAMED_KIND)

    def as_json(self) -> dict[str, Any]:
        """The form that the API returns."""
        return {name: value for name, value in asdict(self).items() if name != "by_format"}


@dataclass(frozen=True)
class Found:
    """Columns whose content would be lost."""

    asked: list[Question]
    """Those that stop an import."""
    noted: list[str]
    """Those that get a warning."""


@dataclass(frozen=True)
class Shape:
    """The rows of a file, as far as questions depend on them."""

    kind: DatasetKind
    known: Format
    judged: bool = False
    """Whether a verdict is used."""
    unlabelled: bool = False
    """Whether the answers are not compared."""
    flat: bool = True
    """Whether the prompts are without earlier turns."""
    marked: bool = False
    """Whether a text has a mark such as <image>."""

    @property
    def sides(self) -> bool:
        """Whether the records have two answers or more."""
        return self.kind is PREFERENCES and not self.known.grouped

    def asks(self, column: Column) -> Meaning | None:
        """The meaning of an unused column, if it stops the import."""
        found = column.meaning(sides=self.sides)
        if found in (Meaning.VERDICT, Meaning.RANKING):
            return found if self._asks_verdict(column) else None
        if found is Meaning.MEDIA:
            return found if self.marked else None
        if found is Meaning.TURN and not self.flat:
            return None
        return found if found in _ASKED[self.kind] else None

    def notes(self, column: Column) -> bool:
        """Whether an unused column gets a warning, if it does not stop the import."""
        found = column.meaning(sides=self.sides)
        return (
            found in (Meaning.ANSWER, Meaning.REFERENCE, Meaning.TEXT, Meaning.PROMPT) and self.kind is not PRETRAINING
        )

    def _asks_verdict(self, column: Column) -> bool:
        if self.kind is PREFERENCES and self.known.sides_named:
            return self._contradicts(column)
        if self.kind is PRETRAINING:
            return names_verdict(column.path[-1])
        return not self.judged and (self.kind in (SFT, THUMBS) or self.unlabelled)

    @staticmethod
    def _contradicts(column: Column) -> bool:
        """Whether some value may not mean that the chosen answer is better."""
        if column.path[-1].lower() in order.COLUMNS:
            return any(order.stated(value) is None for value in column.values)
        words = {verdicts.plain_word(value) for value in column.values if isinstance(value, str)}
        return bool(words) and words <= _NAMED_SIDES and not words <= {"chosen"}


def questions(sample: Sample, known: Format, kind: DatasetKind, names: Names, ignore: Collection[str]) -> Found:
    """The questions about the unused columns of the first records, without those in `ignore`.

    A column whose name differs in case from a used one gets a warning.
    """
    shape, asked, noted = shape_of(sample, known, kind), [], []
    for column in sample.unused():
        if any(column.name == name or column.name.startswith(f"{name}.") for name in ignore):
            continue
        if column.path == ("prompt",) and kind is PREFERENCES and names.declares("prompt"):
            continue  # the format has compared it with the conversations
        meant = shape.asks(column)
        if meant is not None and not names.is_respelt(column.path[0]):
            asked.append(question(column, meant, shape, sample))
        elif meant is not None or shape.notes(column):
            noted.append(column.name)
    return Found([*_about_order(sample, known), *asked], noted)


def shape_of(sample: Sample, known: Format, kind: DatasetKind) -> Shape:
    """The shape of the rows that the records give."""
    rows = [row for _, row in sample.rows]
    plain = [row for row in rows if not isinstance(row, Rated)]
    judged = any(isinstance(row, Rated) for row in rows) or any(
        column.used and column.meaning(sides=True) in (Meaning.VERDICT, Meaning.RANKING) for column in sample.columns
    )
    unlabelled = bool(plain) and all(row.get("label", row.get("ranks", "")) is None for row in plain)
    prompts = [row.prompt if isinstance(row, Rated) else row.get("prompt", row.get("messages")) for row in rows]
    flat = not any(
        isinstance(prompt, list) and any(turn["role"] == "assistant" for turn in prompt[:-1]) for prompt in prompts
    )
    return Shape(kind, known, judged, unlabelled, flat, any(_is_marked(record) for record, _ in sample.rows))


def _is_marked(record: Mapping[str, Any]) -> bool:
    return any(mark in str(record) for mark in ("<image>", "<audio>", "<video>", "<img>"))


def question(column: Column, meaning: Meaning, shape: Shape, sample: Sample | None = None) -> Question:
    """The question about an unused column."""
    fields = fields_of(sample) if sample is not None else {}
    choices = _choices(column, meaning, shape, fields)
    path = column.name
    ignoring = Choice(f"Ignore `{path}`", ignore=[path])
    named = " and ".join(f"`{name}`" for name in [path, *_speakers(sample, path)])
    use = _TREE.format(names=named) if meaning in (Meaning.ROLE, Meaning.TREE) else _consequence(meaning, shape)
    listed = ", ".join(column.examples()[:4])
    detail = f"`{path}` {_WHAT[meaning]} ({listed}) and is not used: {use}"
    by_format = shape.kind is PREFERENCES and meaning in (Meaning.VERDICT, Meaning.RANKING)
    return Question(path, meaning, detail, column.examples(), [*choices, ignoring], by_format)


def _speakers(sample: Sample | None, path: str) -> list[str]:
    columns = sample.columns if sample is not None else []
    return [one.name for one in columns if one.name != path and one.meaning() in (Meaning.ROLE, Meaning.TREE)][:2]


def _consequence(meaning: Meaning, shape: Shape) -> str:
    if meaning in (Meaning.VERDICT, Meaning.RANKING):
        if shape.known.sides_named:
            return "it may contradict which answer is better."
        return (
            "the pairs would wait for annotation."
            if shape.unlabelled
            else "every answer would be imitated, also those marked as bad."
        )
    if meaning is Meaning.TURN:
        return "each record would be a conversation of its own, without the turns before it."
    return {
        Meaning.ANSWER: "the answer would be lost.",
        Meaning.PROMPT: "the model would not see it.",
        Meaning.SYSTEM: "the model would not see it.",
    }.get(meaning, "its content would be lost.")


def _choices(column: Column, meaning: Meaning, shape: Shape, fields: dict[str, str]) -> list[Choice]:
    """Ways to use the column, if the other columns are known, and the kind that the records have without it."""
    path, usable = column.name, "*" not in column.path
    found: list[Choice] = []
    if meaning in (Meaning.VERDICT, Meaning.RANKING) and usable:
        found += _of_pair(column, fields) if "a" in fields else _of_one(column, fields)
        found += [Choice("Imitate every answer, also bad ones", kind=SFT.value)] if shape.kind is SFT else []
    elif meaning is Meaning.ANSWER and usable and "completion" in fields and shape.kind is SFT:
        sides = {"prompt": fields["prompt"]} if "prompt" in fields else {}
        own = fields["completion"]
        found += [
            Choice(
                f"A pair: `{own}` is better than `{path}`",
                mapping={"fields": sides | {"chosen": own, "rejected": path}},
            ),
            Choice(
                f"A pair: `{path}` is better than `{own}`",
                mapping={"fields": sides | {"chosen": path, "rejected": own}},
            ),
            Choice(f"Imitate `{own}` alone", kind=SFT.value),
        ]
    elif meaning in (Meaning.PROMPT, Meaning.SYSTEM) and usable and _is_mappable(fields, shape):
        name = "system" if meaning is Meaning.SYSTEM else "input"
        label = "Put it before the prompt, as the system message" if name == "system" else "Put it below the prompt"
        found.append(Choice(label, mapping={"fields": fields | {name: path}}))
    return found


def _is_mappable(fields: dict[str, str], shape: Shape) -> bool:
    return shape.kind is SFT and fields.keys() >= {"prompt", "completion"} and "input" not in fields


def _of_one(column: Column, fields: dict[str, str]) -> list[Choice]:
    """A thumb or a score for the one answer of each record."""
    wanted = {"messages"} if "messages" in fields else {"prompt", "completion"}
    if not fields.keys() >= wanted:
        return []
    values = {label_text(value) for value in column.values if not isinstance(value, list | dict)}
    thumb = {"fields": fields | {"thumb": column.name}} | _thumb_labels(column.path[-1], values)
    score = {"fields": fields | {"score": column.name}}
    numbers = {verdicts.number_of(value) for value in values}
    says = "bad" if names_bad(column.path[-1]) else "good"
    scored = [Choice(f"Answers with scores: a higher `{column.name}` is better", mapping=score)]
    placed = [
        Choice(
            f"Answers with ranks: `{column.name}` is 1 for the best", mapping={"fields": fields | {"rank": column.name}}
        )
    ]
    rated = [Choice(f"Thumbs: `{column.name}` marks an answer as {says}", mapping=thumb)]
    if None not in numbers and not numbers <= {0, 1, -1}:
        ranks = column.meaning() is Meaning.RANKING and "messages" not in fields
        return placed if ranks else [] if says == "bad" else scored
    return [*rated, *(scored if None not in numbers and says == "good" else [])]


def _thumb_labels(name: str, values: Collection[str]) -> dict[str, Any]:
    """Labels for values whose meaning is not clear by themselves. -1 is bad beside 1; 0 is then neither.

    In a column that is named like a defect (`toxic`), true is bad.
    """
    numbers = {verdicts.number_of(value) for value in values}
    if names_bad(name):
        meanings_of = {True: "down", False: "up", None: None}
        return {"labels": {value: meanings_of[verdicts.polarity(value)] for value in sorted(values)}}
    if -1 in numbers and numbers <= {-1, 0, 1}:
        meanings = {-1.0: "down", 1.0: "up"}
        return {"labels": {value: meanings.get(verdicts.number_of(value) or 0) for value in sorted(values)}}
    unclear = sorted(value for value in values if verdicts.polarity(value) is None)
    return {"labels": dict.fromkeys(unclear)} if unclear else {}


def _of_pair(column: Column, fields: dict[str, str]) -> list[Choice]:
    """The label of a pair. Values whose meaning is not clear are not usable until the user gives one."""
    mapped = fields | {"label": column.name}
    values = sorted({label_text(value) for value in column.values if not isinstance(value, list | dict)})
    labels = dict.fromkeys(values) | suggested(values, mapped)
    return [Choice(f"`{column.name}` names the better of the two", mapping={"fields": mapped, "labels": labels})]


def fields_of(sample: Sample) -> dict[str, str]:
    """The columns that hold the prompt and the answers of the rows, by field of a mapping."""
    found: dict[str, str] = {}
    for record, row in sample.rows[:1]:
        texts = {"prompt": row.prompt, "completion": row.completion} if isinstance(row, Rated) else row
        wanted = {"a": texts.get("chosen", texts.get("a")), "b": texts.get("rejected", texts.get("b"))}
        wanted |= {name: texts.get(name) for name in ("messages", "prompt", "completion")}
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


def _about_order(sample: Sample, known: Format) -> list[Question]:
    """The question about a `ranking` that counts from 0: it may hold ranks, or the numbers of the answers in order.

    Both mean the same where each of its permutations is its own inverse, as with two answers.
    """
    ranking = next((one for one in sample.columns if one.used and one.name.lower() == "ranking"), None)
    if known.id != "rankings" or ranking is None or not any(map(_is_ambiguous, ranking.values)):
        return []
    texts = next(
        (column.name for column in sample.columns if column.used and column.name in ANSWER_LISTS), "completions"
    )
    fields = {
        "prompt": next((name for name in RANKING_PROMPTS if name in sample.rows[0][0]), "prompt"),
        "completions": texts,
    }
    choices = [
        Choice(
            "Ranks: the first number is the first answer's place, 0 the best",
            mapping={"fields": fields | {"ranks": ranking.name}},
        ),
        Choice("An order: the first number is the best answer's", mapping={"fields": fields | {"order": ranking.name}}),
    ]
    detail = f"`{ranking.name}` counts from 0 ({', '.join(ranking.examples()[:3])}): it may hold ranks, or the numbers of the answers from the best to the worst."
    return [Question(ranking.name, Meaning.RANKING, detail, ranking.examples(), choices, by_format=True)]


def _is_ambiguous(value: Any) -> bool:
    """Whether the list is a permutation from 0 that differs from its inverse."""
    if not isinstance(value, list) or sorted(map(str, value)) != sorted(map(str, range(len(value)))):
        return False
    places = [int(place) for place in value]
    return any(places[place] != index for index, place in enumerate(places))


def of_messages(records: Sequence[Mapping[str, Any]]) -> str | None:
    """The advice for records that are single messages; None if a column does not say who speaks."""
    names = dict.fromkeys(name for record in records for name in record)
    found = {name: meaning(name, [record[name] for record in records if is_filled(record.get(name))]) for name in names}
    speakers = [name for name, meant in found.items() if meant in (Meaning.ROLE, Meaning.TREE)]
    if Meaning.ROLE not in found.values():
        return None
    cure = _TREE.format(names=" and ".join(f"`{name}`" for name in speakers))
    return cure[:1].upper() + cure[1:]


def unread(column: Column, known: Format, kind: DatasetKind) -> Question | None:
    """The question about a column that only later records have; None if it is harmless."""
    shape = Shape(kind, known, judged=known.sided or bool(known.grouped) or known.labelled)
    meant = shape.asks(column)
    return None if meant is None else question(column, meant, shape)
