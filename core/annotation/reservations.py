"""Reservations of items: an item is free while its answers and reservations are fewer than the round's `overlap`.

A reservation lasts some minutes by the database's clock. Answers and reservations are written under the lock of the item's
row, so a count is exact only under that lock.
"""

from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import Session

from core.models import Annotation, AnnotationItem, AnnotationRound
from core.models.annotation import AnnotationStatus

AFTER_A_SKIP = timedelta(minutes=1)
"""Time for which a skipped item stays reserved, so that the skip can be undone."""


def held() -> ColumnElement[bool]:
    """SQL of a condition for annotations without an answer whose reservation has not lapsed."""
    return (Annotation.status != AnnotationStatus.ANSWERED) & (Annotation.reserved_until > func.clock_timestamp())


def reservation(round_: AnnotationRound) -> ColumnElement[datetime]:
    """SQL of the end of a reservation that begins now."""
    return func.clock_timestamp() + timedelta(minutes=round_.reservation_minutes)


def locked(session: Session, item_id: str) -> AnnotationItem | None:
    """The item, locked until the commit; None if it does not exist."""
    query = select(AnnotationItem).filter_by(id=item_id).with_for_update(key_share=True)
    return session.scalars(query.execution_options(populate_existing=True)).one_or_none()


def free(session: Session, round_: AnnotationRound, item: AnnotationItem, annotator: str) -> bool:
    """Whether a locked item is free for this annotator. Their own reservation does not count."""
    others = select(func.count()).where(Annotation.item_id == item.id, Annotation.annotator != annotator, held())
    return item.answers + session.scalars(others).one() < round_.overlap


def wanted(round_: AnnotationRound, annotator: str) -> Select[AnnotationItem]:
    """The free items that the annotator has not seen. Those that lack the fewest answers come first.

    Without locks: an item may be taken before the caller locks it.
    """
    others = select(Annotation.item_id, func.count().label("held")).group_by(Annotation.item_id)
    others = others.where(Annotation.round_id == round_.id, Annotation.annotator != annotator, held())
    by_others = others.subquery()
    taken = AnnotationItem.answers + func.coalesce(by_others.c.held, 0)
    query = select(AnnotationItem).select_from(AnnotationItem)
    query = query.outerjoin(by_others, by_others.c.item_id == AnnotationItem.id)
    query = query.where(AnnotationItem.round_id == round_.id, AnnotationItem.gold.is_(None), taken < round_.overlap)
    return query.where(~seen_by(annotator)).order_by(taken.desc(), AnnotationItem.number)


def unseen_gold(round_: AnnotationRound, annotator: str) -> Select[AnnotationItem]:
    """The gold questions that the annotator has not seen. They need no reservation."""
    query = select(AnnotationItem).select_from(AnnotationItem)
    query = query.where(AnnotationItem.round_id == round_.id, AnnotationItem.gold.is_not(None))
    return query.where(~seen_by(annotator)).order_by(AnnotationItem.number)


def seen_by(annotator: str) -> ColumnElement[bool]:
    """SQL of a condition for items that were assigned to the annotator."""
    return (
        select(Annotation)
        .where(Annotation.item_id == AnnotationItem.id, Annotation.annotator == annotator)
        .correlate(AnnotationItem)
        .exists()
    )
