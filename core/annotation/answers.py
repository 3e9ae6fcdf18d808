"""Stores the answers of annotators, and undoes them."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Double, cast, extract, func
from sqlalchemy.orm import Session

from core.annotation import queue, reservations, rounds, shuffle
from core.errors import InvalidRequest, NotFound
from core.models import Annotation, AnnotationItem, AnnotationRound
from core.models.annotation import AnnotationStatus, RoundKind

SKIP = "skip"
CHOICES = ("1", "2", "tie", SKIP)
_SECONDS_SINCE_ASSIGNMENT = cast(extract("epoch", func.clock_timestamp() - Annotation.handed_at), Double)


@dataclass(frozen=True)
class AnswerInput:
    """An answer in the order of the screen: one of CHOICES, or a rank for each position (1 is the best)."""

    choice: str | None = None
    ranks: Sequence[int] | None = None
    seconds: float | None = None
    """Time that the annotator took. None: the time since the item was assigned."""


def answer(session: Session, round_: AnnotationRound, item_id: str, annotator: str, given: AnswerInput) -> Annotation:
    """Store an answer or a skip. The same answer again changes nothing; another answer replaces it.

    The item must have been assigned to the annotator. The reservation may have lapsed. Raises NotFound, InvalidRequest,
    RoundNotReady or RoundClosed.
    """
    round_ = rounds.locked(session, round_.id, share=True)
    rounds.refuse_unless_ready(round_)
    queue.lock_annotator(session, round_, annotator)
    row, item = _locked_assignment(session, round_, item_id, annotator)
    choice, ranks = _in_stored_order(round_, row, given)
    status = AnnotationStatus.SKIPPED if choice == SKIP else AnnotationStatus.ANSWERED
    if (row.status, row.choice, row.ranks) == (status, choice, ranks):
        return row
    item.answers += (status == AnnotationStatus.ANSWERED) - (row.status == AnnotationStatus.ANSWERED)
    if status == AnnotationStatus.SKIPPED:
        row.reserved_until = func.least(Annotation.reserved_until, func.clock_timestamp() + reservations.AFTER_A_SKIP)
    row.status, row.choice, row.ranks = status.value, choice, ranks
    row.seconds = _SECONDS_SINCE_ASSIGNMENT if given.seconds is None else given.seconds
    row.answered_at = func.clock_timestamp()
    session.flush()
    session.refresh(row)
    return row


def undo(
    session: Session, round_: AnnotationRound, annotator: str, item_id: str | None = None
) -> tuple[Annotation, AnnotationItem] | None:
    """Undo the annotator's newest answer or skip, or the one to `item_id`. The item is the next one that they get.

    Another call undoes the answer before. None if there is nothing to undo.
    """
    round_ = rounds.locked(session, round_.id, share=True)
    rounds.refuse_unless_ready(round_)
    queue.lock_annotator(session, round_, annotator)
    item_id = item_id or queue.last_item(session, round_, annotator)
    if item_id is None:
        return None
    row, item = _locked_assignment(session, round_, item_id, annotator)
    if row.status == AnnotationStatus.OPEN:
        return None
    item.answers -= row.status == AnnotationStatus.ANSWERED
    row.status, row.answered_at = AnnotationStatus.OPEN.value, None
    row.reserved_until = reservations.reservation(round_)
    session.flush()
    session.refresh(row)
    return row, item


def _locked_assignment(session: Session, round_: AnnotationRound, item_id: str, annotator: str) -> queue.Assignment:
    """The annotation and its item, which is locked until the commit. Raises NotFound for an item that was not assigned."""
    item = reservations.locked(session, item_id)
    if item is None or item.round_id != round_.id:
        raise NotFound(f"There is no item {item_id!r} in {round_.id}.")
    row = session.get(Annotation, (item_id, annotator), populate_existing=True)
    if row is None:
        raise NotFound(f"{item_id} was not assigned to {annotator!r}. Ask for the next item first.")
    return row, item


def _in_stored_order(
    round_: AnnotationRound, row: Annotation, given: AnswerInput
) -> tuple[str | None, list[int] | None]:
    """The choice and the ranks in stored order. Raises InvalidRequest for an answer that does not fit the round."""
    if given.choice == SKIP and given.ranks is None:
        return SKIP, None
    if round_.kind == RoundKind.PAIRS:
        if given.ranks is not None or given.choice not in CHOICES:
            _refuse("choice", f"must be one of {', '.join(CHOICES)} in a round of pairs, without `ranks`")
        assert given.choice is not None
        return shuffle.label_of(given.choice, row.shown), None
    if given.choice is not None or given.ranks is None:
        _refuse("ranks", "must be given in a ranking, without `choice` (or `choice` = skip without them)")
    assert given.ranks is not None
    count = len(row.shown)
    if len(given.ranks) != count or not all(1 <= rank <= count for rank in given.ranks):
        _refuse("ranks", f"must be {count} numbers from 1 (the best) to {count}, one for each completion as shown")
    return None, shuffle.true_ranks(given.ranks, row.shown)


def _refuse(field: str, detail: str) -> None:
    raise InvalidRequest(f"#/{field}: {detail}", param=field, errors=[{"pointer": f"#/{field}", "detail": detail}])
