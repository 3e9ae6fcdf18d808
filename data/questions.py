"""Questions about columns that look meaningful and that a format does not use."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from data import verdicts
from data.choices import Choice, choices
from data.column_meaning import Meaning, is_filled, meaning, names_verdict, words
from data.formats import order
from data.formats.base import PREFERENCES, PRETRAINING, PROMPTS, SFT, STEPS, THUMBS, Format, Rated
from data.leftovers import PathColumn, Sample
from data.names import ANSWER_LISTS, RANKING_PROMPTS, REVERSALS
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
_OF_ONE = frozenset(
    {Meaning.ANSWER, Meaning.PROMPT, Meaning.SYSTEM, Meaning.ROLE, Meaning.TREE, Meaning.TURN, Meaning.TEXT}
)
_ASKED: dict[DatasetKind, frozenset[Meaning]] = {
    SFT: _OF_ONE,
    THUMBS: _OF_ONE,
    STEPS: _OF_ONE,
    PROMPTS: _OF_ONE,
    PREFERENCES: frozenset({Meaning.PROMPT, Meaning.SYSTEM, Meaning.TREE, Meaning.TURN}),
    PRETRAINING: frozenset({Meaning.ANSWER, Meaning.SYSTEM, Meaning.ROLE, Meaning.TREE, Meaning.TURN}),
}
"""Meanings of unused columns that stop an import, without verdicts and rankings."""


_SEVERAL_NAMES = frozenset({"scored_answers", "rankings", "scored_pair", "trl_unpaired", "llama_factory_kto"})
"""Formats that read the verdict from any of several columns. A record with two of them may contradict itself."""
_NOTED = frozenset({Meaning.ANSWER, Meaning.REFERENCE, Meaning.TEXT, Meaning.PROMPT})
_NAMED_SIDES = frozenset(word for word in verdicts.SIDES if len(word) > 1)


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
class LostColumns:
    """Columns whose content would be lost."""

    asked: list[Question]
    """Those that stop an import."""
    noted: list[str]
    """Those that get a warning."""


@dataclass(frozen=True)
class RowFacts:
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

    def asks(self, column: PathColumn, *, declared: bool = False) -> Meaning | None:
        """The meaning of an unused column, if it stops the import. `declared`: the format reads columns of this name."""
        found = column.meaning(sides=self.sides)
        if found in (Meaning.VERDICT, Meaning.RANKING):
            second = declared and self.judged and self.known.id in _SEVERAL_NAMES
            return found if second or self._asks_verdict(column) else None
        if found is Meaning.MEDIA:
            return found if self.marked else None
        if found is Meaning.TURN and not self.flat:
            return None
        return found if found in _ASKED[self.kind] else None

    def notes(self, column: PathColumn) -> bool:
        """Whether an unused column gets a warning, if it does not stop the import."""
        found = column.meaning(sides=self.sides)
        obeyed = self.known.sides_named and column.name.lower() in order.COLUMNS
        rated = found in (Meaning.VERDICT, Meaning.RANKING) and names_verdict(column.path[-1])
        further = self.kind in (PREFERENCES, THUMBS, STEPS) and rated and not obeyed and "*" not in column.path
        return further or (found in _NOTED and self.kind is not PRETRAINING)

    def _asks_verdict(self, column: PathColumn) -> bool:
        if self.kind is PREFERENCES and self.known.sides_named:
            return self._contradicts(column)
        if self.kind is PRETRAINING:
            return names_verdict(column.path[-1])
        if self.kind is PROMPTS:  # a score of the prompt is harmless, a text may be an answer
            return any(isinstance(value, str) and len(value.split()) > 2 for value in column.values)
        return not self.judged and (self.kind in (SFT, THUMBS) or self.unlabelled)

    @staticmethod
    def _contradicts(column: PathColumn) -> bool:
        """Whether some value may not mean that the chosen answer is better."""
        if column.path[-1].lower() in order.COLUMNS:
            accepted = ("a", "b", "tie") if len(column.path) == 1 else ("a",)  # one inside an object is not obeyed
            return any(order.stated(value) not in accepted for value in column.values)
        if not REVERSALS.isdisjoint(words(column.path[-1])):
            return any(verdicts.polarity(value) is not False for value in column.values)
        said = {verdicts.plain_word(value) for value in column.values if isinstance(value, str)}
        return bool(said) and said <= _NAMED_SIDES and not said <= {"chosen"}


def questions(sample: Sample, known: Format, kind: DatasetKind, names: Names, ignore: Collection[str]) -> LostColumns:
    """The questions about the unused columns of the first records, without those in `ignore`.

    A column that one of nearly the same name hides, such as `Prompt` beside `prompt`, gets a warning.
    """
    shape, asked, noted = shape_of(sample, known, kind), [], []
    for column in sample.unused():
        if any(column.name == name or column.name.startswith(f"{name}.") for name in ignore):
            continue
        if column.path == ("prompt",) and kind is PREFERENCES and names.declares("prompt"):
            continue  # the format has compared it with the conversations
        meant = shape.asks(column, declared=len(column.path) == 1 and names.declares(column.name))
        if meant is not None and not _is_hidden(column, sample, names):
            asked.append(question(column, meant, shape, sample))
        elif meant is not None or shape.notes(column):
            noted.append(column.name)
    return LostColumns([*_about_order(sample, known), *asked], noted)


def _is_hidden(column: PathColumn, sample: Sample, names: Names) -> bool:
    name = column.path[0]
    return any(name in record and names.is_hidden(name, record) for record, _ in sample.rows)


def shape_of(sample: Sample, known: Format, kind: DatasetKind) -> RowFacts:
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
    return RowFacts(kind, known, judged, unlabelled, flat, any(_is_marked(record) for record, _ in sample.rows))


def _is_marked(record: Mapping[str, Any]) -> bool:
    return any(mark in str(record) for mark in ("<image>", "<audio>", "<video>", "<img>"))


def question(column: PathColumn, meaning: Meaning, shape: RowFacts, sample: Sample | None = None) -> Question:
    """The question about an unused column."""
    path = column.name
    named = " and ".join(f"`{name}`" for name in [path, *_speakers(sample, path)])
    use = _TREE.format(names=named) if meaning in (Meaning.ROLE, Meaning.TREE) else _consequence(meaning, shape)
    listed = ", ".join(column.examples()[:4])
    if (
        meaning is Meaning.VERDICT
        and not shape.sides
        and any(isinstance(value, list | dict) for value in column.values)
    ):
        use += " To use it, write one value for each record."
    detail = f"`{path}` {_WHAT[meaning]} ({listed}) and is not used: {use}"
    by_format = shape.kind is PREFERENCES and meaning in (Meaning.VERDICT, Meaning.RANKING)
    ways = choices(column, meaning, shape.kind, sample or Sample([], []))
    return Question(path, meaning, detail, column.examples(), ways, by_format)


def _speakers(sample: Sample | None, path: str) -> list[str]:
    columns = sample.columns if sample is not None else []
    return [
        column.name for column in columns if column.name != path and column.meaning() in (Meaning.ROLE, Meaning.TREE)
    ][:2]


def _consequence(meaning: Meaning, shape: RowFacts) -> str:
    if meaning in (Meaning.VERDICT, Meaning.RANKING):
        if shape.known.sides_named:
            return "it may contradict which answer is better."
        if shape.judged:
            return "another column is the verdict, which this one may contradict."
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


def advice(records: Sequence[Mapping[str, Any]]) -> str | None:
    """How to write records of a known layout that no format reads; None for other records."""
    return of_messages(records) or _of_label_studio(records) or _of_answers(records)


def _of_label_studio(records: Sequence[Mapping[str, Any]]) -> str | None:
    if any(isinstance(record.get("data"), dict) and isinstance(record.get("annotations"), list) for record in records):
        return (
            "This is an export of Label Studio with its tasks. Export it as CSV or JSON-MIN, which have one column for each "
            "answer and for the verdict, and map those."
        )
    return None


def _of_answers(records: Sequence[Mapping[str, Any]]) -> str | None:
    """Advice for answers that are objects without a rank or score."""
    for record in records:
        for name in ANSWER_LISTS:
            value = record.get(name)
            if isinstance(value, list) and value and isinstance(value[0], dict):
                keys = ", ".join(map(repr, list(value[0])[:8]))
                return (
                    f"The answers in `{name}` have {keys}: give each one its text and a `rank` (1 the best) or `score`."
                )
    return None


def of_messages(records: Sequence[Mapping[str, Any]]) -> str | None:
    """The advice for records that are single messages; None if a column does not say who speaks."""
    names = dict.fromkeys(name for record in records for name in record)
    found = {name: meaning(name, [record[name] for record in records if is_filled(record.get(name))]) for name in names}
    speakers = [name for name, meant in found.items() if meant in (Meaning.ROLE, Meaning.TREE)]
    if Meaning.ROLE not in found.values():
        return None
    cure = _TREE.format(names=" and ".join(f"`{name}`" for name in speakers))
    return cure[:1].upper() + cure[1:]


def unread(column: PathColumn, known: Format, kind: DatasetKind) -> Question | None:
    """The question about a column that only later records have; None if it is harmless."""
    shape = RowFacts(kind, known, judged=known.sided or bool(known.grouped) or known.labelled)
    meant = shape.asks(column)
    return None if meant is None else question(column, meant, shape)
