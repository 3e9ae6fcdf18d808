"""Scores of a round's items by a reward model. A data task computes them."""

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
_GOOD = (TaskStatus.QUEUED, TaskStatus.RUNNING, TaskStatus.SUCCEEDED)


def request(session: Session, round_: AnnotationRound, checkpoint_id: str) -> AnnotationRound:
    """Queue a data task that scores the items by this reward model. It replaces the scores of another model.

    Does nothing if this model has scored them or is about to. Raises RoundNotReady for a round without items.
    """
    round_ = rounds.locked(session, round_.id)
    if round_.status in (RoundStatus.PREPARING, RoundStatus.FAILED):
        raise RoundNotReady(f"{round_.id} has no items yet. Try again once it is open.")
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
    """The data task that scores the items or has scored them; None without a reward model."""
    return session.get(DataTask, round_.scores_task_id) if round_.scores_task_id else None


def store(
    session: Session, round_id: str, checkpoint_id: str, scored: Iterable[tuple[str, Sequence[float | None]]]
) -> None:
    """Store the scores of items, by id. Does nothing if another model was chosen meanwhile."""
    round_ = rounds.locked(session, round_id)
    if round_.reward_model != checkpoint_id:
        return
    rows = [{"id": item_id, "scores": list(values)} for item_id, values in scored]
    if rows:
        session.execute(update(AnnotationItem), rows)
    rounds.unpin(session, round_id, "scores")


def all_items(session: Session, round_id: str) -> Sequence[AnnotationItem]:
    """All items of the round with its gold questions, in order."""
    query = select(AnnotationItem).filter_by(round_id=round_id).order_by(AnnotationItem.number)
    return session.scalars(query).all()
