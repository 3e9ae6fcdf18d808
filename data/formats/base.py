"""The definition of a format: which records it fits, the columns it reads and the rows it gives."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from data.column_meaning import names_metadata
from data.findings import Findings
from data.names import ANSWER_WORDS, LABEL_WORDS, MEDIA, ORDER_COLUMNS, SYSTEM, THUMB_TAGS
from data.schema import DatasetKind
from data.verdicts import polarity

Source = dict[str, Any]
"""A record of the source file."""
Row = dict[str, Any]
"""A row before its canonical form."""

PREFERENCES, THUMBS, STEPS, PROMPTS, SFT, PRETRAINING = (
    DatasetKind.PREFERENCES,
    DatasetKind.THUMBS,
    DatasetKind.STEPS,
    DatasetKind.PROMPTS,
    DatasetKind.SFT,
    DatasetKind.PRETRAINING,
)


@dataclass(frozen=True)
class Rated:
    """One answer with a score, to be ranked among the other answers to its prompt."""

    prompt: Any
    """Text or messages."""
    completion: str
    score: float
    """More is better."""
    notes: Row = field(default_factory=dict)


@dataclass
class Reading:
    """The state of reading one file: kind, findings, mapping and the current line."""

    kind: DatasetKind
    findings: Findings
    mapping: Mapping[str, Any] = field(default_factory=dict)
    line: int = 0
    """The record's."""
    named: bool = False
    """Whether the user named the format, kind or mapping: columns that may contradict it are then not asked about."""

    def note(self, code: str, detail: str) -> None:
        """Note a property of a record that can still be used. `code` is a key of findings.CODES."""
        self.findings.note(code, self.line, detail)


Rows = Iterable[Row | Rated]


@dataclass(frozen=True)
class Format:
    """One published form of preference data, demonstrations or prompts."""

    id: str
    title: str
    about: str
    """The records of the format and the rows they become, in one or two sentences."""
    source: str
    """The page that describes it, or a dataset that uses it."""
    kinds: tuple[DatasetKind, ...]
    """The kinds that it can give, the usual one first."""
    example: tuple[Source, ...]
    """Records that show it, and give rows."""
    fields: frozenset[str]
    """Columns that `rows` reads. A reader receives no others, in any container."""
    fits: Callable[[Source], float]
    """How well a record fits: from 0 or false (not at all) to 1 or true."""
    rows: Callable[[Source, Reading], Rows]
    """The rows of a record. Raises RowError."""
    for_prompts: frozenset[str] = frozenset()
    """Those that it reads for prompts alone."""
    pattern: re.Pattern[str] | None = None
    """Names of further columns that `rows` reads."""
    names: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    """The record's column for fields of a row, for error messages: `a` is its `chosen`. A tuple holds names of one column."""
    grouped: Literal["", "consecutive", "anywhere"] = ""
    """The position of the answers to one prompt if each is a record of its own."""
    sided: bool = False
    """Whether scores are thumbs, up or down: a prompt needs both."""
    sides_named: bool = False
    """Whether the names of the columns say which side of a pair is better."""
    labelled: bool = False
    """Whether a label decides which of two sides is better. The sides are then in the order in which they were judged."""
    specific: int = 50
    """Decides between formats that fit: the one with the higher value describes the record more closely."""
    one_of_many: bool = False
    """Whether the user must choose among its kinds."""
    fits_as: Mapping[DatasetKind, Callable[[Source], float]] = field(default_factory=dict)
    """Replaces `fits` if that differs between the kinds. Kinds that are not in it are never detected."""

    suggests: Callable[[Sequence[Source]], DatasetKind] | None = None
    """Returns which of its kinds the first records suggest, if one record alone does not show it. None: the first of `kinds`."""

    def columns(self, kind: DatasetKind) -> frozenset[str]:
        """Every column that may change rows of this kind: its own, media, the system message, and the better side of a pair."""
        beside = frozenset() if kind is PROMPTS else self.for_prompts
        sides = ORDER_COLUMNS if self.sides_named else frozenset()
        return (self.fields - beside) | MEDIA | sides | (SYSTEM if kind is not PRETRAINING else frozenset())

    def names_in(self, record: Source) -> Mapping[str, str]:
        """The column of this record for each field in `names`."""
        return {
            name: column if isinstance(column, str) else filled_or_first(record, column)
            for name, column in self.names.items()
        }


def filled_or_first(record: Source, names: Sequence[str]) -> str:
    """The first of these columns that holds a value; without one, the first that the record has, or the first name."""
    filled = (name for name in names if record.get(name) is not None)
    return next(filled, None) or next((name for name in names if name in record), names[0])


_LONG = 60
"""Most characters of a mark or a name; longer texts are content."""


def says_more(record: Source, known: Collection[str]) -> bool:
    """Whether fields besides `known` and metadata hold long texts or lists, or have names of answers."""
    for name, value in record.items():
        if name not in known and value and "metadata" not in name:
            described = names_metadata(name)
            long = len(value) > _LONG if isinstance(value, str) else isinstance(value, list | dict) and not described
            if long or (not described and any(word in name.lower() for word in ANSWER_WORDS)):
                return True
    return False


def says_which(record: Source, known: Collection[str]) -> bool:
    """Whether another field has the name of a label or score."""
    others = [name.lower() for name in record if name not in known and not names_metadata(name)]
    return any(word in name for name in others for word in LABEL_WORDS)


def judged(record: Source) -> bool:
    """Whether a usual column rates the answer as good or bad: a format of thumbs then fits the record better."""
    return any(polarity(record[name]) is not None for name in THUMB_TAGS if name in record)


def has(record: Source, *names: str) -> bool:
    """Whether the record has all of these fields, with any values."""
    return all(name in record for name in names)
