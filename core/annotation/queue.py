"""Assigns items to annotators.

First the items that the annotator holds already, then due gold questions, then the items that lack the fewest answers.
"""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, func, or_, select, update
from sqlalchemy.orm import Session

from core.annotation import reservations, rounds, shuffle
from core.errors import InvalidRequest
from core.models import UNAUDITED, Annotation, AnnotationItem, AnnotationRound
from core.models.annotation import AnnotationStatus, RoundStatus
from data.parse import bad_text

LONGEST_ANNOTATOR = 100
Assignment = tuple[Annotation, AnnotationItem]


@dataclass(frozen=True)
class QueueProgress:
    """The progress of one annotator in a round."""

    done: int
    """Number of items that they have answered or skipped."""
    total: int
    """`done` plus the items that remain for them. An estimate in a round with gold questions."""
    last_item: str | None
    """The item that they answered or skipped last."""


@dataclass(frozen=True)
class Queue:
    """The items that are assigned to an annotator, and their progress."""

    status: str
    """Status of the round."""
    items: list[Assignment]
    progress: QueueProgress


def hand_out(session: Session, round_: AnnotationRound, annotator: str, limit: int = 1) -> Queue:
    """Assign at most `limit` items to the annotator and reserve them. A repeated call returns the same items.

    A round that is not open assigns none. Raises InvalidRequest for an invalid name.
    """
    round_ = rounds.locked(session, round_.id, share=True)
    lock_annotator(session, round_, annotator)
    items: list[Assignment] = []
    if round_.status == RoundStatus.OPEN:
        lapsed = _lock_lapsed_items(session, round_, annotator)
        items = _renewed_assignments(session, round_, annotator, lapsed, limit)
        while len(items) < limit:
            # A request that holds the lock of an item never waits for another one. So requests cannot deadlock.
            assignment = _new_assignment(session, round_, annotator, wait=not items and lapsed is None)
            if assignment is None:
                break
            items.append(assignment)
    return Queue(round_.status, items, queue_progress(session, round_, annotator))


def lock_annotator(session: Session, round_: AnnotationRound, annotator: str) -> None:
    """Serialise the requests of an annotator until the commit, so that two browser windows get the same items.

    Raises InvalidRequest for an invalid name.
    """
    if not annotator.strip() or annotator != annotator.strip() or len(annotator) > LONGEST_ANNOTATOR:
        _refuse_name(f"must have 1 to {LONGEST_ANNOTATOR} characters, without spaces at the ends")
    if bad_text(annotator):
        _refuse_name("holds a NUL character or half of a surrogate pair")
    key = func.hashtextextended(f"{round_.id}/{annotator}", 0)
    session.execute(select(func.pg_advisory_xact_lock(key)))


def queue_progress(session: Session, round_: AnnotationRound, annotator: str) -> QueueProgress:
    """The progress of an annotator, without a lock."""
    of_theirs, is_open = _by_annotator(round_, annotator), Annotation.status == AnnotationStatus.OPEN
    counts = select(func.count().filter(~is_open), func.count().filter(is_open & reservations.held())).where(of_theirs)
    done, opened = session.execute(counts).one()
    unseen = reservations.wanted(round_, annotator).order_by(None).with_only_columns(func.count())
    left = opened + session.scalars(unseen).one()
    total = done + left + _expected_gold(session, round_, annotator, left)
    return QueueProgress(done, total, last_item(session, round_, annotator))


def last_item(session: Session, round_: AnnotationRound, annotator: str) -> str | None:
    """The item that an annotator answered or skipped last; None before the first one."""
    query = select(Annotation.item_id).where(
        _by_annotator(round_, annotator), Annotation.status != AnnotationStatus.OPEN
    )
    return session.scalars(query.order_by(Annotation.answered_at.desc(), Annotation.item_id).limit(1)).first()


def _renewed_assignments(
    session: Session, round_: AnnotationRound, annotator: str, lapsed: set[str] | None, limit: int
) -> list[Assignment]:
    """Renew the annotator's reservations. Returns the first `limit` assigned items without an answer, oldest first.

    `lapsed`: items whose reservation has lapsed, but can be renewed.
    """
    of_theirs = _by_annotator(round_, annotator) & (Annotation.status == AnnotationStatus.OPEN)
    on = or_(reservations.held(), Annotation.item_id.in_(lapsed or ()))
    renew = update(Annotation).where(of_theirs, on).values(reserved_until=reservations.reservation(round_))
    session.execute(renew, execution_options={"synchronize_session": False, **UNAUDITED})
    query = select(Annotation, AnnotationItem).join(AnnotationItem, AnnotationItem.id == Annotation.item_id)
    query = query.where(of_theirs, reservations.held()).order_by(Annotation.handed_at, Annotation.item_id).limit(limit)
    return list(session.execute(query.execution_options(populate_existing=True)))


def _lock_lapsed_items(session: Session, round_: AnnotationRound, annotator: str) -> set[str] | None:
    """Lock the items whose reservation by the annotator has lapsed and that no other annotator has taken since.

    None, without a lock, if there is no such item. Items that another request has locked are left out.
    """
    lapsed = select(Annotation.item_id).where(
        _by_annotator(round_, annotator), Annotation.status == AnnotationStatus.OPEN, ~reservations.held()
    )
    query = select(AnnotationItem).where(AnnotationItem.id.in_(lapsed)).order_by(AnnotationItem.id)
    query = query.with_for_update(skip_locked=True, key_share=True).execution_options(populate_existing=True)
    before = session.begin_nested()
    rows = session.scalars(query).all()
    free = {item.id for item in rows if item.gold is not None or reservations.free(session, round_, item, annotator)}
    if not free:
        before.rollback()
        return None
    before.commit()
    return free


def _new_assignment(session: Session, round_: AnnotationRound, annotator: str, *, wait: bool) -> Assignment | None:
    """Assign the next item, or a gold question if one is due. None if no item remains: then gold questions end too.

    With `wait`, it waits for items that are locked.
    """
    item = _next_item(session, round_, annotator, skip_locked=True)
    if item is None and wait:
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
    """Lock and return the free item that lacks the fewest answers. `skip_locked`: without those that are locked."""
    full: list[str] = []
    query = reservations.wanted(round_, annotator).limit(1).execution_options(populate_existing=True)
    query = query.with_for_update(skip_locked=skip_locked, key_share=True, of=AnnotationItem)
    while True:
        before = session.begin_nested()
        item = session.scalars(query.where(AnnotationItem.id.not_in(full))).first()
        if item is None or reservations.free(session, round_, item, annotator):
            before.commit()
            return item
        full.append(item.id)  # taken since the query; the rollback releases its lock
        before.rollback()


def _due_gold(session: Session, round_: AnnotationRound, annotator: str) -> AnnotationItem | None:
    """A gold question that the annotator has not seen, if one is due."""
    mine = select(func.count(), func.count().filter(Annotation.gold)).where(_by_annotator(round_, annotator))
    handed, gold = session.execute(mine).one()
    if gold >= shuffle.gold_due(round_.gold_share, handed, round_.salt, annotator):
        return None
    unseen = session.scalars(reservations.unseen_gold(round_, annotator)).all()
    return min(unseen, key=lambda item: shuffle.gold_key(round_.salt, item.id, annotator), default=None)


def _expected_gold(session: Session, round_: AnnotationRound, annotator: str, left: int) -> int:
    """The expected number of gold questions among `left` more items."""
    if not left or not round_.gold_share:
        return 0
    unseen = reservations.unseen_gold(round_, annotator).order_by(None).with_only_columns(func.count())
    return min(session.scalars(unseen).one(), round(left * round_.gold_share / (1 - round_.gold_share)))


def _by_annotator(round_: AnnotationRound, annotator: str) -> ColumnElement[bool]:
    return (Annotation.round_id == round_.id) & (Annotation.annotator == annotator)


def _refuse_name(detail: str) -> None:
    errors = [{"pointer": "#/annotator", "detail": detail}]
    raise InvalidRequest(f"The annotator's name {detail}.", param="annotator", errors=errors)
