"""A row of any kind as what a report looks at: a prompt, answers to it, and who ranked them how."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from data import rows
from data.report.settings import RowKind
from data.rows import Prompt, Row
from data.splits import prompt_key, prompt_text


@dataclass(frozen=True)
class Item:
    """`answers` are the completions of a pair or ranking, that of a demonstration, or a text to pretrain on."""

    prompt: Prompt | None
    answers: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    """Of each answer: 0 the best, the same number for a tie, no number left out. Of a thumb 0 for up, 1 for down. Empty for
    a row without a verdict."""
    annotator: str | None = None
    source: str | None = None

    @cached_property
    def prompt_text(self) -> str:
        """As people read it; the same for equal prompts."""
        return "" if self.prompt is None else prompt_text(self.prompt)

    @cached_property
    def prompt_key(self) -> str | None:
        """The trainer's own: what makes two prompts the same one."""
        return None if self.prompt is None else prompt_key(self.prompt)

    @property
    def best(self) -> str:
        """The preferred answer; of several, of a tie, and where nobody has judged, the first."""
        return self.answers[self.ranks.index(min(self.ranks)) if self.ranks else 0] if self.answers else ""


def parser(kind: RowKind) -> Callable[[Row, int], Item]:
    """What makes an Item of a row and its number; raises DataError for a row that the trainer would refuse."""
    parsers = {"preferences": _preferences, "thumbs": _thumb, "sft": _sft, "prompts": _prompt}
    return {**parsers, "pretraining": _pretraining}[kind]


def _preferences(row: Row, number: int) -> Item:
    pairs = rows.comparisons(row, number)
    if not pairs:  # nobody has judged it yet: the same texts as of a tie
        tied = {"ranks": [1] * len(row["completions"])} if "completions" in row else {"label": "tie"}
        return replace(_preferences(row | tied, number), ranks=())
    first = pairs[0]
    if "completions" not in row:
        ranks = {"a": (0, 1), "b": (1, 0), "tie": (0, 0)}[first.label]
        return Item(first.prompt, (first.a, first.b), ranks, first.annotator, first.source)
    # The pairs of a ranking begin with those of its first completion, one with each other.
    others = pairs[: len(row["ranks"]) - 1]
    place = {rank: index for index, rank in enumerate(sorted(set(row["ranks"])))}
    answers = (first.a, *(pair.b for pair in others))
    return Item(first.prompt, answers, tuple(place[rank] for rank in row["ranks"]), first.annotator, first.source)


def _thumb(row: Row, _: int) -> Item:
    thumb = rows.thumb(row)
    return Item(thumb.prompt, (thumb.completion,), (0 if thumb.up else 1,), thumb.annotator, thumb.source)


def _sft(row: Row, _: int) -> Item:
    shown = rows.demonstration(row)
    return Item(shown.prompt, (shown.completion,), (0,))


def _prompt(row: Row, _: int) -> Item:
    return Item(rows.prompt_row(row).prompt)


def _pretraining(row: Row, _: int) -> Item:
    return Item(None, (rows.text(row),), (0,))
