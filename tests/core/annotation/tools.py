"""Rounds for tests, and functions that answer their items."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from core import tasks
from core.annotation import answers, items, queue, shuffle
from core.annotation.answers import AnswerInput
from core.annotation.items import ItemDraft
from core.blobs import blob_store
from core.db import session_scope
from core.models import Annotation, AnnotationItem, AnnotationRound, DataTask
from core.models.base import new_id
from core.models.tasks import TaskStatus
from core.settings import get_settings
from tests.core.factories import make_key
from worker.process import StopRequest
from worker.tasks.attempt import run_attempt

SOURCE = {"type": "dataset", "dataset": "ds_x@1", "rows": "unlabelled", "limit": 1000, "seed": 0}


def make_round(
    session: Session, owner_id: str | None = None, count: int = 3, gold: int = 0, k: int = 2, **columns: Any
) -> AnnotationRound:
    """An open round of `count` items and `gold` gold questions, whose first completion is the best. Committed."""
    plain = {"name": "A round", "kind": "pairs" if k == 2 else "ranking", "status": "preparing", "instructions": ""}
    numbers = {"gold_share": 0.0, "overlap": 1, "reservation_minutes": 10.0, "left_out": 0}
    whole = plain | numbers | {"source": SOURCE, "jobs": []} | columns
    round_ = AnnotationRound(id=new_id("ann"), owner_id=owner_id or make_key(session).owner_id, **whole)
    session.add(round_)
    session.flush()
    known = {"choice": "a"} if k == 2 else {"ranks": list(range(1, k + 1))}
    drafts = [
        ItemDraft(n, f"p{n}", [f"answer {m} of {n}" for m in range(k)], row=n) for n in range(1, count + gold + 1)
    ]
    marked = [draft if draft.number <= count else ItemDraft(**{**vars(draft), "gold": known}) for draft in drafts]
    items.store(session, round_.id, marked, left_out=0)
    session.commit()
    return round_


def next_ids(session: Session, round_: AnnotationRound, annotator: str, limit: int = 1) -> list[str]:
    """The ids of the next items of an annotator."""
    found = [item.id for _, item in queue.hand_out(session, round_, annotator, limit).items]
    session.commit()
    return found


def say(
    session: Session, round_: AnnotationRound, annotator: str, item_id: str, said: str | Sequence[int]
) -> Annotation:
    """Answer an item in the order of the screen, by a choice or by ranks."""
    given = AnswerInput(said, None, 2.0) if isinstance(said, str) else AnswerInput(None, said, 2.0)
    found = answers.answer(session, round_, item_id, annotator, given)
    session.commit()
    return found


def prefer(session: Session, round_: AnnotationRound, annotator: str, label: str) -> str | None:
    """Answer the next item with a, b, tie or skip in stored order. Returns its id; None if no item remains."""
    found = queue.hand_out(session, round_, annotator).items
    if not found:
        return None
    (annotation, item), *_ = found
    say(session, round_, annotator, item.id, shuffle.choice_of(label, annotation.shown))
    return item.id


def numbers(session: Session, ids: Sequence[str]) -> list[int]:
    """The numbers of items in their round."""
    found = {item.id: item.number for item in session.scalars(select(AnnotationItem).where(AnnotationItem.id.in_(ids)))}
    return [found[item_id] for item_id in ids]


def work() -> None:
    """Run the queued data tasks of annotation in this process. Search indexes and reports are left out."""
    while True:
        with session_scope() as session:
            queued = select(DataTask).where(DataTask.status == TaskStatus.QUEUED)
            for task in session.scalars(queued.where(DataTask.kind.not_like("annotation%"))):
                tasks.cancel(session, task)
            claim = tasks.claim(session, "dwk_test")
        if claim is None:
            return
        run_attempt(claim, get_settings(), blob_store(get_settings()), StopRequest())
