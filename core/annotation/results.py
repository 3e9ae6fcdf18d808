"""Reads a round: counts of items, figures, and the answers of each item."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import false, func, select
from sqlalchemy.orm import Session

from core.annotation.figures import Figures, figures
from core.annotation.labels import AnnotatorAnswer, ItemFacts
from core.models import Annotation, AnnotationItem, AnnotationRound
from core.models.annotation import AnnotationStatus


@dataclass(frozen=True)
class RoundCounts:
    """RoundCounts of a round. `items` excludes gold questions. `complete` items have all answers that the round asks for.

    `cut_off` items have a completion that reached the longest length.
    """

    items: int = 0
    gold_items: int = 0
    complete: int = 0
    cut_off: int = 0
    answers: int = 0
    annotators: int = 0


def counts(session: Session, rounds: Sequence[AnnotationRound]) -> dict[str, RoundCounts]:
    """The counts of each round, by id. Two queries for any number of rounds."""
    ids = [round_.id for round_ in rounds]
    plain = AnnotationItem.gold.is_(None)
    query = select(
        AnnotationItem.round_id,
        func.count().filter(plain),
        func.count().filter(~plain),
        func.count().filter(plain & (AnnotationItem.answers >= AnnotationRound.overlap)),
        func.count().filter(false() == func.any(AnnotationItem.finished)),
        func.coalesce(func.sum(AnnotationItem.answers).filter(plain), 0),
    ).join(AnnotationRound, AnnotationRound.id == AnnotationItem.round_id)
    rows = session.execute(query.where(AnnotationItem.round_id.in_(ids)).group_by(AnnotationItem.round_id)).all()
    people = select(Annotation.round_id, func.count(Annotation.annotator.distinct()))
    people = people.where(Annotation.round_id.in_(ids), Annotation.status != AnnotationStatus.OPEN)
    names = dict(session.execute(people.group_by(Annotation.round_id)).all())
    by_id = {row[0]: RoundCounts(*row[1:5], int(row[5]), names.get(row[0], 0)) for row in rows}
    return dict.fromkeys(ids, RoundCounts()) | by_id


def figures_of(session: Session, round_: AnnotationRound) -> Figures:
    """The figures of a round, from all of its answers."""
    items_query = select(AnnotationItem.id, AnnotationItem.gold, AnnotationItem.policies, AnnotationItem.scores)
    items = {
        row.id: ItemFacts(row.gold, row.policies, row.scores)
        for row in session.execute(items_query.filter_by(round_id=round_.id))
    }
    query = select(
        Annotation.annotator,
        Annotation.item_id,
        Annotation.choice,
        Annotation.ranks,
        Annotation.shown,
        Annotation.seconds,
        Annotation.answered_at,
    ).where(Annotation.round_id == round_.id, Annotation.status != AnnotationStatus.OPEN)
    answers = [AnnotatorAnswer(**row._mapping) for row in session.execute(query)]
    return figures(answers, items, len(round_.policies or ()))


def page(
    session: Session, round_: AnnotationRound, after: int, limit: int, *, disagreed: bool = False
) -> list[tuple[AnnotationItem, list[Annotation]]]:
    """The items after number `after`, in order, each with its answers and skips. `disagreed`: only items with unequal answers."""
    query = select(AnnotationItem).where(AnnotationItem.round_id == round_.id, AnnotationItem.number > after)
    if disagreed:
        answer = func.coalesce(Annotation.choice, func.array_to_string(Annotation.ranks, ","))
        different = select(func.count(answer.distinct())).where(
            Annotation.item_id == AnnotationItem.id, Annotation.status == AnnotationStatus.ANSWERED
        )
        query = query.where(different.correlate(AnnotationItem).scalar_subquery() > 1)
    items = session.scalars(query.order_by(AnnotationItem.number).limit(limit)).all()
    answers: dict[str, list[Annotation]] = defaultdict(list)
    theirs = select(Annotation).where(
        Annotation.item_id.in_([item.id for item in items]), Annotation.status != AnnotationStatus.OPEN
    )
    for annotation in session.scalars(theirs.order_by(Annotation.answered_at, Annotation.annotator)):
        answers[annotation.item_id].append(annotation)
    return [(item, answers[item.id]) for item in items]
