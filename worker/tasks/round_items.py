"""The data task `annotation_items`: makes the items of a round, from the rows of a dataset or from what policies answer."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from core.annotation import items, questions, scores, shuffle
from core.annotation.items import Draft, Row
from core.annotation.spec import MOST_RANKED
from core.datasets import rows, versions
from core.db import session_scope
from core.errors import InvalidDataset
from core.models import AnnotationRound, DatasetVersion
from core.models.annotation import RoundKind, RoundStatus
from worker.tasks import complete
from worker.tasks.context import TaskRun
from worker.tasks.every_row import every_row

_WORDS = {RoundKind.PAIRS: "pair", RoundKind.RANKING: "ranking of 2 to 9 completions"}


@dataclass(frozen=True)
class Asked:
    """What is to be compared."""

    drafts: Iterable[Draft]
    count: int
    left_out: int
    """How many could not become an item."""
    questions: set[int]
    """None of them is a gold question too."""


@dataclass(frozen=True)
class Sample:
    """Rows of a version, by number."""

    version: DatasetVersion
    numbers: list[int]
    left_out: int


def run(task: TaskRun) -> None:
    """Raises what keeps the items from being made; the round fails with it."""
    with session_scope() as session:
        round_ = session.get(AnnotationRound, task.args["round"])
    if round_ is None or round_.status != RoundStatus.PREPARING:
        return
    asked = _completions(task, round_) if round_.source["type"] == "checkpoints" else _rows(task, round_)
    gold = _gold(task, round_, asked)
    with session_scope() as session:
        items.store(session, round_.id, chain(asked.drafts, gold), asked.left_out)
        if round_.reward_model is not None:
            scores.request(session, round_, round_.reward_model)


def _completions(task: TaskRun, round_: AnnotationRound) -> Asked:
    drafts, left_out = complete.drafts(task, round_)
    if not drafts:
        raise InvalidDataset(
            f"All {left_out} prompts of {round_.source['prompts']} were left out: they are too long, or the answers to "
            "each are empty or the same."
        )
    found = {questions.question(draft.prompt, draft.completions) for draft in drafts}
    return Asked(drafts, len(drafts), left_out, found)


def _rows(task: TaskRun, round_: AnnotationRound) -> Asked:
    labelled = None if round_.source["rows"] == "all" else False
    name, limit = round_.source["dataset"], round_.source["limit"]
    sample = _drawn(task, round_, name, limit, labelled)
    if not sample.numbers:
        advice = ' Set `source.rows` to "all" to ask about labelled ones anew.' if labelled is False else ""
        raise InvalidDataset(f"{name} holds no {'' if labelled is None else 'unlabelled '}{_word(round_)}.{advice}")
    found = {questions.question_of(row) for _, row in _ordered(task, sample)} if round_.gold else set()
    return Asked(_read(task, sample, 1), len(sample.numbers), sample.left_out, found)


def _gold(task: TaskRun, round_: AnnotationRound, asked: Asked) -> Iterator[Draft]:
    if round_.gold is None:
        return iter(())
    needed = items.gold_needed(round_.gold_share, asked.count)
    sample = _drawn(task, round_, round_.gold, needed, labelled=True, but=asked.questions)
    if not sample.numbers:
        raise InvalidDataset(
            f"{round_.gold} holds no labelled {_word(round_)} for a gold question: its labels have to agree, and the round "
            "must not ask about it anyway."
        )
    return _read(task, sample, asked.count + 1, gold=True)


def _drawn(
    task: TaskRun, round_: AnnotationRound, name: str, limit: int, labelled: bool | None, but: Iterable[int] = ()
) -> Sample:
    """A sample of the rows that can be items, one for each question, and how many rankings are too long to be any.

    Unlabelled are those that no other row answers; labelled those whose answers agree.
    """
    kind, seed, seen = RoundKind(round_.kind), round_.source["seed"], Counter[str]()
    with session_scope() as session:
        version = versions.usable(session, task.owner_id, name)
    known: dict[int, questions.Verdict | None] = {}
    if labelled is not None:
        known = questions.verdicts(kind, (row for _, row in every_row(task, version)))
    others = set(but) | {one for one, verdict in known.items() if not labelled or verdict is None}

    def key(_: int, row: Row) -> float | None:
        seen["too long"] += kind is RoundKind.RANKING and len(row.get("completions", ())) > MOST_RANKED
        if not items.is_of(kind, row, labelled=labelled):
            return None
        question = questions.question_of(row)
        return None if question in others else shuffle.sample_key(seed, question)

    return Sample(version, items.draw(every_row(task, version), key, limit), seen["too long"])


def _read(task: TaskRun, sample: Sample, first: int, *, gold: bool = False) -> Iterator[Draft]:
    """Items in the order of the sample, read as they lie in the file."""
    place = {number: at for at, number in enumerate(sample.numbers, first)}
    for number, row in _ordered(task, sample):
        yield items.of_row(number, place[number], row, gold=gold)


def _ordered(task: TaskRun, sample: Sample) -> Iterator[tuple[int, Row]]:
    ordered = sorted(sample.numbers)
    return zip(ordered, rows.read(task.blobs, rows.content_of(sample.version), ordered), strict=True)


def _word(round_: AnnotationRound) -> str:
    return _WORDS[RoundKind(round_.kind)]
