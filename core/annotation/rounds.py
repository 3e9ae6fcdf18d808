"""Creates, finds, changes and deletes annotation rounds."""

from collections.abc import Iterable

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from core import tasks
from core.access.users import acting_user
from core.annotation import sources
from core.annotation.spec import NewRound, RoundChanges
from core.datasets import versions
from core.db import check_storable, storable_message
from core.errors import NotFound, RoundClosed, RoundNotReady
from core.models import AnnotationPin, AnnotationRound, DataTask
from core.models.annotation import RoundStatus
from core.models.base import new_id
from core.models.tasks import TaskStatus
from core.settings import Settings, get_settings

ITEMS_TASK = "annotation_items"
_LOST = {"code": "task_lost", "message": "The data task of the round ended without a result."}
_CANCELLED = {"code": "cancelled", "message": "The data task of the round was cancelled."}


def create(session: Session, owner_id: str, spec: NewRound, settings: Settings | None = None) -> AnnotationRound:
    """Create a round, and queue a data task that makes its items.

    Raises InvalidRequest, and the errors of datasets and checkpoints that the owner may not use.
    """
    check_storable(spec.model_dump(mode="json"))
    settings = settings or get_settings()
    found = sources.resolve(session, owner_id, spec, settings)
    if spec.reward_model is not None:
        sources.owned_reward_model(session, owner_id, spec.reward_model, settings)
    plain = spec.model_dump(include={"kind", "instructions", "gold_share", "overlap", "reservation_minutes"})
    round_ = AnnotationRound(id=new_id("ann"), owner_id=owner_id, status=RoundStatus.PREPARING.value, **plain)
    round_.created_by = acting_user(session)
    round_.name = versions.checked_name(spec.name or found.name)
    round_.source, round_.policies, round_.gold = found.source, found.policies, found.gold
    round_.left_out, round_.jobs, round_.reward_model = 0, [], spec.reward_model
    round_.task_id = tasks.enqueue(session, owner_id, ITEMS_TASK, {"round": round_.id}).id
    session.add(round_)
    session.flush()
    pin(session, round_.id, "items", found.checkpoints)
    pin(session, round_.id, "scores", [spec.reward_model] if spec.reward_model else [])
    return round_


def get(session: Session, owner_id: str, round_id: str) -> AnnotationRound:
    """The owner's round. Raises NotFound, for the round of another owner as well."""
    row = session.scalars(select(AnnotationRound).filter_by(id=round_id, owner_id=owner_id)).one_or_none()
    if row is None:
        raise NotFound(f"There is no round {round_id!r}.")
    settle(session, row)
    return row


def locked(session: Session, round_id: str, *, share: bool = False) -> AnnotationRound:
    """The round, locked against changes until the commit. `share`: many transactions may hold the lock. Raises NotFound."""
    query = select(AnnotationRound).filter_by(id=round_id).with_for_update(read=share, key_share=not share)
    row = session.scalars(query.execution_options(populate_existing=True)).one_or_none()
    if row is None:
        raise NotFound(f"There is no round {round_id!r}.")
    return row


def settle(session: Session, round_: AnnotationRound) -> None:
    """Update a round whose data task has failed or was cancelled.

    Without items the round has failed. If its answers were not written, it is paused and can be closed again. A reward
    model that did not score the items is unpinned.
    """
    _unpin_failed_scorer(session, round_)
    if not _has_failed_task(session, round_):
        return
    round_ = locked(session, round_.id)
    if not _has_failed_task(session, round_):
        return
    task = session.get(DataTask, round_.task_id)
    error = _LOST if task is None else task.error or _CANCELLED
    round_.error = {"code": error["code"], "message": storable_message(error["message"])}
    round_.status = RoundStatus.FAILED if round_.status == RoundStatus.PREPARING else RoundStatus.PAUSED
    unpin(session, round_.id, "items")
    if round_.status == RoundStatus.FAILED:
        unpin(session, round_.id, "scores")
    session.flush()


def _has_failed_task(session: Session, round_: AnnotationRound) -> bool:
    waits = round_.status in (RoundStatus.PREPARING, RoundStatus.CLOSING)
    return waits and not _is_running_or_done(session, round_.task_id)


def _unpin_failed_scorer(session: Session, round_: AnnotationRound) -> None:
    if _scorer_failed(session, round_) and _scorer_failed(session, locked(session, round_.id)):
        unpin(session, round_.id, "scores")


def _scorer_failed(session: Session, round_: AnnotationRound) -> bool:
    pinned = select(AnnotationPin).filter_by(round_id=round_.id, purpose="scores").limit(1)
    waits = round_.scores_task_id is not None and session.scalars(pinned).first() is not None
    return waits and not _is_running_or_done(session, round_.scores_task_id)


def settle_all(session: Session, owner_id: str) -> None:
    """Call `settle` for every round of the owner that waits for a data task."""
    waiting = AnnotationRound.status.in_((RoundStatus.PREPARING.value, RoundStatus.CLOSING.value))
    scored = AnnotationRound.id.in_(select(AnnotationPin.round_id).filter_by(purpose="scores"))
    query = select(AnnotationRound).where(AnnotationRound.owner_id == owner_id, waiting | scored)
    for round_ in session.scalars(query.order_by(AnnotationRound.id)):
        settle(session, round_)


def change(session: Session, round_: AnnotationRound, changes: RoundChanges) -> AnnotationRound:
    """Change the name, the instructions, the overlap or the status. Raises InvalidRequest, RoundClosed and RoundNotReady."""
    given = changes.model_dump(exclude_none=True)
    check_storable(given)
    if "name" in given:
        versions.checked_name(given["name"])
    round_ = locked(session, round_.id)
    if "overlap" in given or "status" in given:
        refuse_unless_ready(round_)
    for name, value in given.items():
        setattr(round_, name, value)
    if given.get("status") == RoundStatus.OPEN:
        round_.error = None
    session.flush()
    return round_


def remove(session: Session, round_: AnnotationRound) -> None:
    """Delete a round with its items and answers. The dataset with its answers stays.

    Raises RoundClosed while that dataset is being written.
    """
    round_ = locked(session, round_.id)
    if round_.status == RoundStatus.CLOSING:
        raise RoundClosed(f"{round_.id} is being written into a dataset. Delete it afterwards.")
    for task_id in (round_.task_id, round_.scores_task_id):
        task = session.get(DataTask, task_id) if task_id else None
        if task is not None and task.status in (TaskStatus.QUEUED, TaskStatus.RUNNING):
            tasks.cancel(session, task)
    session.delete(round_)
    session.flush()


def refuse_unless_ready(round_: AnnotationRound) -> None:
    """Raises RoundNotReady or RoundClosed unless the round has items and accepts answers."""
    match RoundStatus(round_.status):
        case RoundStatus.PREPARING:
            raise RoundNotReady(f"The items of {round_.id} are still being made.")
        case RoundStatus.FAILED:
            why = (round_.error or _LOST)["message"]
            raise RoundNotReady(f"The items of {round_.id} could not be made: {why}")
        case RoundStatus.CLOSING | RoundStatus.CLOSED:
            raise RoundClosed(f"{round_.id} is {round_.status} and accepts no more answers.")


def pin(session: Session, round_id: str, purpose: str, checkpoints: Iterable[str]) -> None:
    """Keep checkpoints from being pruned until `unpin` is called with the same purpose, `items` or `scores`."""
    session.add_all(
        AnnotationPin(round_id=round_id, checkpoint_id=checkpoint, purpose=purpose) for checkpoint in set(checkpoints)
    )
    session.flush()


def unpin(session: Session, round_id: str, purpose: str) -> None:
    session.execute(delete(AnnotationPin).filter_by(round_id=round_id, purpose=purpose))


def _is_running_or_done(session: Session, task_id: str | None) -> bool:
    task = session.get(DataTask, task_id, populate_existing=True) if task_id else None
    return task is not None and task.status not in (TaskStatus.FAILED, TaskStatus.CANCELLED)
