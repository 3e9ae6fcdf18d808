"""What an annotator is given next: what they hold already, then gold questions that are due, then what lacks least."""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, func, or_, select, update
from sqlalchemy.orm import Session

from core.annotation import reservations, rounds, shuffle
from core.errors import InvalidRequest
from core.models import Annotation, AnnotationItem, AnnotationRound
from core.models.annotation import AnnotationStatus, RoundStatus
from data.text import bad_text

LONGEST_ANNOTATOR = 100
Handed = tuple[Annotation, AnnotationItem]


@dataclass(frozen=True)
class Standing:
    """How far an annotator is."""

    done: int
    """What they have answered or skipped."""
    total: int
    """That, and what there still is for them; a guess where gold questions are mixed in."""
    last_item: str | None
    """What they answered or skipped last."""


@dataclass(frozen=True)
class Queue:
    """What an annotator has before them."""

    status: str
    """The round's."""
    items: list[Handed]
    standing: Standing


def hand_out(session: Session, round_: AnnotationRound, annotator: str, limit: int = 1) -> Queue:
    """At most `limit` items, each with a place that is kept for the annotator.

    Asking again gives the same ones. While the round is not open, there are none.
    """
    round_ = rounds.locked(session, round_.id, share=True)
    alone(session, round_, annotator)
    items: list[Handed] = []
    if round_.status == RoundStatus.OPEN:
        again = _lapsed_but_free(session, round_, annotator)
        items = _kept(session, round_, annotator, again, limit)
        while len(items) < limit:
            # Who holds an item's lock waits for no other: so nobody ever waits in a ring.
            found = _one_more(session, round_, annotator, waiting=not items and again is None)
            if found is None:
                break
            items.append(found)
    return Queue(round_.status, items, standing(session, round_, annotator))


def alone(session: Session, round_: AnnotationRound, annotator: str) -> None:
    """One request of an annotator after the other, until the commit: two windows of a browser get the same items.

    InvalidRequest for a name that is none.
    """
    if not annotator.strip() or annotator != annotator.strip() or len(annotator) > LONGEST_ANNOTATOR:
        _refuse(f"must have 1 to {LONGEST_ANNOTATOR} characters, and no space around it")
    if bad_text(annotator):
        _refuse("holds a NUL character or half of a surrogate pair")
    key = func.hashtextextended(f"{round_.id}/{annotator}", 0)
    session.execute(select(func.pg_advisory_xact_lock(key)))


def standing(session: Session, round_: AnnotationRound, annotator: str) -> Standing:
    """How many items an annotator has done, and how many that makes with those that are left."""
    of_theirs, is_open = _of(round_, annotator), Annotation.status == AnnotationStatus.OPEN
    counts = select(func.count().filter(~is_open), func.count().filter(is_open & reservations.held())).where(of_theirs)
    done, opened = session.execute(counts).one()
    unseen = reservations.wanted(round_, annotator).order_by(None).with_only_columns(func.count())
    left = opened + session.scalars(unseen).one()
    total = done + left + _gold_ahead(session, round_, annotator, left)
    return Standing(done, total, last_item(session, round_, annotator))


def last_item(session: Session, round_: AnnotationRound, annotator: str) -> str | None:
    """What an annotator answered or skipped last."""
    query = select(Annotation.item_id).where(_of(round_, annotator), Annotation.status != AnnotationStatus.OPEN)
    return session.scalars(query.order_by(Annotation.answered_at.desc(), Annotation.item_id).limit(1)).first()


def _kept(
    session: Session, round_: AnnotationRound, annotator: str, again: set[str] | None, limit: int
) -> list[Handed]:
    """What the annotator was handed, or has taken back, and has not answered, in the order of handing out.

    Asking is a sign of life: the places are kept on. `again`: lapsed ones that are theirs once more.
    """
    of_theirs = _of(round_, annotator) & (Annotation.status == AnnotationStatus.OPEN)
    on = or_(reservations.held(), Annotation.item_id.in_(again or ()))
    renew = update(Annotation).where(of_theirs, on).values(reserved_until=reservations.reservation(round_))
    session.execute(renew, execution_options={"synchronize_session": False})
    query = select(Annotation, AnnotationItem).join(AnnotationItem, AnnotationItem.id == Annotation.item_id)
    query = query.where(of_theirs, reservations.held()).order_by(Annotation.handed_at, Annotation.item_id).limit(limit)
    return list(session.execute(query.execution_options(populate_existing=True)))


def _lapsed_but_free(session: Session, round_: AnnotationRound, annotator: str) -> set[str] | None:
    """Items whose place the annotator let lapse, and nobody has taken, with their locks. None, and no lock, without any.

    One that somebody else is at this moment taking is not waited for.
    """
    lapsed = select(Annotation.item_id).where(
        _of(round_, annotator), Annotation.status == AnnotationStatus.OPEN, ~reservations.held()
    )
    query = select(AnnotationItem).where(AnnotationItem.id.in_(lapsed)).order_by(AnnotationItem.id)
    query = query.with_for_update(skip_locked=True, key_share=True).execution_options(populate_existing=True)
    before = session.begin_nested()
    found = session.scalars(query).all()
    free = {item.id for item in found if item.gold is not None or reservations.free(session, round_, item, annotator)}
    if not free:
        before.rollback()
        return None
    before.commit()
    return free


def _one_more(session: Session, round_: AnnotationRound, annotator: str, *, waiting: bool) -> Handed | None:
    """A gold question where one is due, but none without something to hide it among."""
    item = _next_item(session, round_, annotator, skip_locked=True)
    if item is None and waiting:
        item = _next_item(session, round_, annotator, skip_locked=False)
    if item is None:
        return None
    item = _due_gold(session, round_, annotator) or item
    row = Annotation(item_id=item.id, annotator=annotator, round_id=round_.id, status=AnnotationStatus.OPEN.value)
    row.gold = item.gold is not None
    row.shown = shuffle.order(len(item.completions), round_.salt, item.id, annotator)
    row.handed_at, row.reserved_until = func.clock_timestamp(), reservations.reservation(round_)
    session.add(row)
    session.flush()
    session.refresh(row)
    return row, item


def _next_item(
    session: Session, round_: AnnotationRound, annotator: str, *, skip_locked: bool
) -> AnnotationItem | None:
    """Lock the item that lacks least and has a place; what others hold at this moment is passed by, or waited for."""
    full: list[str] = []
    query = reservations.wanted(round_, annotator).limit(1).execution_options(populate_existing=True)
    query = query.with_for_update(skip_locked=skip_locked, key_share=True, of=AnnotationItem)
    while True:
        before = session.begin_nested()
        item = session.scalars(query.where(AnnotationItem.id.not_in(full))).first()
        if item is None or reservations.free(session, round_, item, annotator):
            before.commit()
            return item
        full.append(item.id)  # somebody was quicker; and its lock is let go
        before.rollback()


def _due_gold(session: Session, round_: AnnotationRound, annotator: str) -> AnnotationItem | None:
    """A gold question that the annotator has not seen, if it is time for one."""
    mine = select(func.count(), func.count().filter(Annotation.gold)).where(_of(round_, annotator))
    handed, gold = session.execute(mine).one()
    if gold >= shuffle.gold_due(round_.gold_share, handed, round_.salt, annotator):
        return None
    unseen = session.scalars(reservations.unseen_gold(round_, annotator)).all()
    return min(unseen, key=lambda item: shuffle.gold_key(round_.salt, item.id, annotator), default=None)


def _gold_ahead(session: Session, round_: AnnotationRound, annotator: str, left: int) -> int:
    """About how many gold questions will be mixed into what is left."""
    if not left or not round_.gold_share:
        return 0
    unseen = reservations.unseen_gold(round_, annotator).order_by(None).with_only_columns(func.count())
    return min(session.scalars(unseen).one(), round(left * round_.gold_share / (1 - round_.gold_share)))


def _of(round_: AnnotationRound, annotator: str) -> ColumnElement[bool]:
    return (Annotation.round_id == round_.id) & (Annotation.annotator == annotator)


def _refuse(detail: str) -> None:
    errors = [{"pointer": "#/annotator", "detail": detail}]
    raise InvalidRequest(f"The annotator's name {detail}.", param="annotator", errors=errors)
