"""One form for rows of every kind: a prompt, its answers, their ranks and the annotator."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from data import rows
from data.rows import Prompt, Row
from data.schema import DatasetKind
from data.splits import prompt_key, prompt_text


@dataclass(frozen=True)
class Item:
    """A row. `answers` are the completions of a pair, ranking, thumb or demonstration, the steps of a solution as one text, or the text of a pretraining row."""

    prompt: Prompt | None
    answers: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    """Rank of each answer: 0 for the best, equal numbers for a tie, without gaps. A thumb has 0 for up and 1 for down,
    a solution 0 without a bad step and else 1.
    Empty for a row without a verdict."""
    annotator: str | None = None
    source: str | None = None
    labels: tuple[str, ...] = ()
    """The label of each step of a solution, whose text is the answer; empty for other kinds."""

    @cached_property
    def prompt_text(self) -> str:
        """The prompt as readable text; equal for equal prompts."""
        return "" if self.prompt is None else prompt_text(self.prompt)

    @cached_property
    def prompt_key(self) -> str | None:
        """The key that decides whether two prompts are the same; None without a prompt."""
        return None if self.prompt is None else prompt_key(self.prompt)

    @property
    def best(self) -> str:
        """The preferred answer. The first answer for several best ones, a tie, or a row without a verdict."""
        return self.answers[self.ranks.index(min(self.ranks)) if self.ranks else 0] if self.answers else ""


def parser(kind: DatasetKind) -> Callable[[Row, int], Item]:
    """A function that makes an Item of a row and its number. It raises RowError for a row that the trainer would refuse."""
    parsers = {"preferences": _preferences, "thumbs": _thumb, "steps": _steps, "sft": _sft, "prompts": _prompt}
    return {**parsers, "pretraining": _pretraining}[kind]


def _preferences(row: Row, number: int) -> Item:
    pairs = rows.comparisons(row, number)
    if not pairs:  # no verdict yet: read the texts as of a tie
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


def _steps(row: Row, _: int) -> Item:
    solution = rows.solution(row)
    text, bad, labels = "\n".join(solution.steps), int("bad" in solution.labels), tuple(solution.labels)
    return Item(solution.prompt, (text,), (bad,), solution.annotator, solution.source, labels)


def _sft(row: Row, _: int) -> Item:
    shown = rows.demonstration(row)
    return Item(shown.prompt, (shown.completion,), (0,))


def _prompt(row: Row, _: int) -> Item:
    return Item(rows.prompt_row(row).prompt)


def _pretraining(row: Row, _: int) -> Item:
    return Item(None, (rows.text(row),), (0,))
