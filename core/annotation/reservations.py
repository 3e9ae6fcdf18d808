"""Places at an item: as many as answers are wanted, each taken by an answer, or for some minutes by who may give one.

Counted by the database's clock, and for certain only under the lock of the item's row: every answer, and everything that
takes a place, holds it.
"""

from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import Session

from core.models import Annotation, AnnotationItem, AnnotationRound
from core.models.annotation import AnnotationStatus

AFTER_A_SKIP = timedelta(minutes=1)
"""For so long a skip can be taken back without others having taken the place."""


def held() -> ColumnElement[bool]:
    """Whether an annotation that is no answer holds a place."""
    return (Annotation.status != AnnotationStatus.ANSWERED) & (Annotation.reserved_until > func.clock_timestamp())


def reservation(round_: AnnotationRound) -> ColumnElement[datetime]:
    """The end of one that begins now."""
    return func.clock_timestamp() + timedelta(minutes=round_.reservation_minutes)


def locked(session: Session, item_id: str) -> AnnotationItem | None:
    """The item as it is now, its places in nobody else's hands until the commit."""
    query = select(AnnotationItem).filter_by(id=item_id).with_for_update(key_share=True)
    return session.scalars(query.execution_options(populate_existing=True)).one_or_none()


def free(session: Session, round_: AnnotationRound, item: AnnotationItem, annotator: str) -> bool:
    """Whether a locked item has a place for this annotator, beside what others have answered or hold."""
    others = select(func.count()).where(Annotation.item_id == item.id, Annotation.annotator != annotator, held())
    return item.answers + session.scalars(others).one() < round_.overlap


def wanted(round_: AnnotationRound, annotator: str) -> Select[AnnotationItem]:
    """Items with a place for an annotator who has not seen them, as far as can be seen without their locks: those that
    lack least first."""
    others = select(Annotation.item_id, func.count().label("held")).group_by(Annotation.item_id)
    others = others.where(Annotation.round_id == round_.id, Annotation.annotator != annotator, held())
    by_others = others.subquery()
    taken = AnnotationItem.answers + func.coalesce(by_others.c.held, 0)
    query = select(AnnotationItem).select_from(AnnotationItem)
    query = query.outerjoin(by_others, by_others.c.item_id == AnnotationItem.id)
    query = query.where(AnnotationItem.round_id == round_.id, AnnotationItem.gold.is_(None), taken < round_.overlap)
    return query.where(~seen_by(annotator)).order_by(taken.desc(), AnnotationItem.number)


def unseen_gold(round_: AnnotationRound, annotator: str) -> Select[AnnotationItem]:
    """Gold questions, of which everybody may get each."""
    query = select(AnnotationItem).select_from(AnnotationItem)
    query = query.where(AnnotationItem.round_id == round_.id, AnnotationItem.gold.is_not(None))
    return query.where(~seen_by(annotator)).order_by(AnnotationItem.number)


def seen_by(annotator: str) -> ColumnElement[bool]:
    """Whether an item was ever handed to them."""
    return (
        select(Annotation)
        .where(Annotation.item_id == AnnotationItem.id, Annotation.annotator == annotator)
        .correlate(AnnotationItem)
        .exists()
    )
