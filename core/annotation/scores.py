"""What a reward model thinks of a round's items: asked for here, computed in the data lane."""

from collections.abc import Iterable, Sequence

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from core import tasks
from core.annotation import rounds
from core.errors import RoundNotReady
from core.models import AnnotationItem, AnnotationRound, DataTask
from core.models.annotation import RoundStatus
from core.models.tasks import TaskStatus

SCORES_TASK = "annotation_scores"
_GOOD = (TaskStatus.QUEUED, TaskStatus.RUNNING, TaskStatus.DONE)


def request(session: Session, round_: AnnotationRound, checkpoint_id: str) -> AnnotationRound:
    """Have the items scored by this reward model, in place of whatever scored them before.

    By the one that has scored them, or is about to, nothing is done. RoundNotReady while there are no items.
    """
    round_ = rounds.locked(session, round_.id)
    if round_.status in (RoundStatus.PREPARING, RoundStatus.FAILED):
        raise RoundNotReady(f"The items of {round_.id} are not there yet.")
    task = task_of(session, round_)
    if round_.reward_model == checkpoint_id and task is not None and task.status in _GOOD:
        return round_
    if task is not None:
        tasks.cancel(session, task)
    rounds.unpin(session, round_.id, "scores")
    rounds.pin(session, round_.id, "scores", [checkpoint_id])
    session.execute(update(AnnotationItem).filter_by(round_id=round_.id).values(scores=None))
    args = {"round": round_.id, "checkpoint": checkpoint_id}
    round_.reward_model = checkpoint_id
    round_.scores_task_id = tasks.enqueue(session, round_.owner_id, SCORES_TASK, args).id
    session.flush()
    return round_


def task_of(session: Session, round_: AnnotationRound) -> DataTask | None:
    """The data task that scores the items, or has."""
    return session.get(DataTask, round_.scores_task_id) if round_.scores_task_id else None


def store(
    session: Session, round_id: str, checkpoint_id: str, scored: Iterable[tuple[str, Sequence[float | None]]]
) -> None:
    """Note the scores of items by id, unless another model has been asked for meanwhile."""
    round_ = rounds.locked(session, round_id)
    if round_.reward_model != checkpoint_id:
        return
    rows = [{"id": item_id, "scores": list(values)} for item_id, values in scored]
    if rows:
        session.execute(update(AnnotationItem), rows)
    rounds.unpin(session, round_id, "scores")


def all_items(session: Session, round_id: str) -> Sequence[AnnotationItem]:
    """What there is to score: gold questions too, whose answer is known."""
    query = select(AnnotationItem).filter_by(round_id=round_id).order_by(AnnotationItem.number)
    return session.scalars(query).all()
