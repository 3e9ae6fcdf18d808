"""What annotators say, and take back."""

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
_SINCE = cast(extract("epoch", func.clock_timestamp() - Annotation.handed_at), Double)


@dataclass(frozen=True)
class Given:
    """An answer, in the places that the annotator saw: one of CHOICES, or a rank for each place (1 is the best)."""

    choice: str | None = None
    ranks: Sequence[int] | None = None
    seconds: float | None = None
    """How long it took; left out, since the item was handed out."""


def answer(session: Session, round_: AnnotationRound, item_id: str, annotator: str, given: Given) -> Annotation:
    """Store an answer or a skip; the same once more changes nothing, another one takes its place.

    Only for items that the annotator was handed; a late answer counts too. Raises NotFound, InvalidRequest, RoundNotReady
    or RoundClosed.
    """
    round_ = rounds.locked(session, round_.id, share=True)
    rounds.refuse_unless_ready(round_)
    queue.alone(session, round_, annotator)
    row, item = _handed(session, round_, item_id, annotator)
    choice, ranks = _meant(round_, row, given)
    status = AnnotationStatus.SKIPPED if choice == SKIP else AnnotationStatus.ANSWERED
    if (row.status, row.choice, row.ranks) == (status, choice, ranks):
        return row
    item.answers += (status == AnnotationStatus.ANSWERED) - (row.status == AnnotationStatus.ANSWERED)
    if status == AnnotationStatus.SKIPPED:
        row.reserved_until = func.least(Annotation.reserved_until, func.clock_timestamp() + reservations.AFTER_A_SKIP)
    row.status, row.choice, row.ranks = status.value, choice, ranks
    row.seconds = _SINCE if given.seconds is None else given.seconds
    row.answered_at = func.clock_timestamp()
    session.flush()
    session.refresh(row)
    return row


def undo(
    session: Session, round_: AnnotationRound, annotator: str, item_id: str | None = None
) -> tuple[Annotation, AnnotationItem] | None:
    """Take back the annotator's newest answer or skip, or that to one item; it is then the first that they get again.

    Once more takes back the one before. None where there is nothing to take back.
    """
    round_ = rounds.locked(session, round_.id, share=True)
    rounds.refuse_unless_ready(round_)
    queue.alone(session, round_, annotator)
    item_id = item_id or queue.last_item(session, round_, annotator)
    if item_id is None:
        return None
    row, item = _handed(session, round_, item_id, annotator)
    if row.status == AnnotationStatus.OPEN:
        return None
    item.answers -= row.status == AnnotationStatus.ANSWERED
    row.status, row.answered_at = AnnotationStatus.OPEN.value, None
    row.reserved_until = reservations.reservation(round_)
    session.flush()
    session.refresh(row)
    return row, item


def _handed(
    session: Session, round_: AnnotationRound, item_id: str, annotator: str
) -> tuple[Annotation, AnnotationItem]:
    """What the annotator was handed, with the item's lock."""
    item = reservations.locked(session, item_id)
    if item is None or item.round_id != round_.id:
        raise NotFound(f"There is no item {item_id!r} in {round_.id}.")
    row = session.get(Annotation, (item_id, annotator), populate_existing=True)
    if row is None:
        raise NotFound(f"{item_id} was not handed to {annotator!r}; ask for the next item first.")
    return row, item


def _meant(round_: AnnotationRound, row: Annotation, given: Given) -> tuple[str | None, list[int] | None]:
    """Choice and ranks in true positions."""
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
