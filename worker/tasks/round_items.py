"""The data task `annotation_items`: makes the items of a round from rows of a dataset or from sampled completions."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from core.annotation import items, scores, shuffle
from core.annotation.items import ItemDraft, Row, Verdict, question_hash, row_question_hash, verdicts
from core.annotation.spec import MOST_RANKED
from core.datasets import rows, versions
from core.db import session_scope
from core.errors import InvalidDataset
from core.models import AnnotationRound, DatasetVersion
from core.models.annotation import RoundKind, RoundStatus
from worker.tasks.context import TaskContext
from worker.tasks.round_models import sample_items

_ITEM_NAMES = {RoundKind.PAIRS: "pair", RoundKind.RANKING: "ranking of 2 to 9 completions"}


@dataclass(frozen=True)
class ItemDrafts:
    """The items to compare, before they are stored."""

    drafts: Iterable[ItemDraft]
    count: int
    left_out: int
    """Number of rows or prompts that could not become an item."""
    questions: set[int]
    """Hashes of their questions. None of them may be a gold question as well."""


@dataclass(frozen=True)
class RowSample:
    """Row numbers of a version."""

    version: DatasetVersion
    numbers: list[int]
    left_out: int


def make_items(task: TaskContext) -> None:
    """Make and store the items. An error fails the round."""
    with session_scope() as session:
        round_ = session.get(AnnotationRound, task.args["round"])
    if round_ is None or round_.status != RoundStatus.PREPARING:
        return
    asked = _sampled(task, round_) if round_.source["type"] == "checkpoints" else _from_rows(task, round_)
    gold = _gold(task, round_, asked)
    with session_scope() as session:
        items.store(session, round_.id, chain(asked.drafts, gold), asked.left_out)
        if round_.reward_model is not None:
            scores.request(session, round_, round_.reward_model)


def _sampled(task: TaskContext, round_: AnnotationRound) -> ItemDrafts:
    drafts, left_out = sample_items(task, round_)
    if not drafts:
        raise InvalidDataset(
            f"All {left_out} prompts of {round_.source['prompts']} were left out: they are too long, or the completions "
            "of each are empty or equal."
        )
    found = {question_hash(draft.prompt, draft.completions) for draft in drafts}
    return ItemDrafts(drafts, len(drafts), left_out, found)


def _from_rows(task: TaskContext, round_: AnnotationRound) -> ItemDrafts:
    labelled = None if round_.source["rows"] == "all" else False
    name, limit = round_.source["dataset"], round_.source["limit"]
    sample = _drawn(task, round_, name, limit, labelled)
    if not sample.numbers:
        advice = ' Set `source.rows` to "all" to include labelled ones.' if labelled is False else ""
        raise InvalidDataset(
            f"{name} holds no {'' if labelled is None else 'unlabelled '}{_item_name(round_)}.{advice}"
        )
    found = {row_question_hash(row) for _, row in _ordered(task, sample)} if round_.gold else set()
    return ItemDrafts(_read(task, sample, 1), len(sample.numbers), sample.left_out, found)


def _gold(task: TaskContext, round_: AnnotationRound, asked: ItemDrafts) -> Iterator[ItemDraft]:
    if round_.gold is None:
        return iter(())
    needed = items.gold_needed(round_.gold_share, asked.count)
    sample = _drawn(task, round_, round_.gold, needed, labelled=True, but=asked.questions)
    if not sample.numbers:
        raise InvalidDataset(
            f"{round_.gold} holds no labelled {_item_name(round_)} for a gold question. Its labels must agree, and it must "
            "not be an item of the round."
        )
    return _read(task, sample, asked.count + 1, gold=True)


def _drawn(
    task: TaskContext, round_: AnnotationRound, name: str, limit: int, labelled: bool | None, but: Iterable[int] = ()
) -> RowSample:
    """A sample of rows that can be items, one for each question, and the number of rankings that are too long.

    A question is unlabelled if no row labels it, and labelled if all of its labels agree.
    """
    kind, seed, seen = RoundKind(round_.kind), round_.source["seed"], Counter[str]()
    with session_scope() as session:
        version = versions.usable(session, task.owner_id, name)
    known: dict[int, Verdict | None] = {}
    if labelled is not None:
        known = verdicts(kind, (row for _, row in task.version_rows(version)))
    others = set(but) | {one for one, verdict in known.items() if not labelled or verdict is None}

    def key(_: int, row: Row) -> float | None:
        seen["too long"] += kind is RoundKind.RANKING and len(row.get("completions", ())) > MOST_RANKED
        if not items.fits_round(kind, row, labelled=labelled):
            return None
        question = row_question_hash(row)
        return None if question in others else shuffle.sample_key(seed, question)

    return RowSample(version, items.draw(task.version_rows(version), key, limit), seen["too long"])


def _read(task: TaskContext, sample: RowSample, first: int, *, gold: bool = False) -> Iterator[ItemDraft]:
    """Items with the numbers of the sample, in the order of the file."""
    position = {number: at for at, number in enumerate(sample.numbers, first)}
    for number, row in _ordered(task, sample):
        yield items.item_from_row(number, position[number], row, gold=gold)


def _ordered(task: TaskContext, sample: RowSample) -> Iterator[tuple[int, Row]]:
    ordered = sorted(sample.numbers)
    return zip(ordered, rows.read(task.blobs, rows.content_of(sample.version), ordered), strict=True)


def _item_name(round_: AnnotationRound) -> str:
    return _ITEM_NAMES[RoundKind(round_.kind)]
