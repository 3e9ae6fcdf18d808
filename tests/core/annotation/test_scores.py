"""Scores of reward models: computed once, replaced as a whole, and never mixed."""

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from core.annotation import scores
from core.errors import RoundNotReady
from core.jobs.checkpoints.checkpoints import record_checkpoint
from core.models import AnnotationItem, AnnotationPin, AnnotationRound, Checkpoint, DataTask
from tests.core.annotation.tools import make_round
from tests.core.factories import make_job, running
from trainer.events import CheckpointSaved


@pytest.fixture
def models(session: Session) -> list[Checkpoint]:
    """Two reward models of a job."""
    job = make_job(session)
    running(session, job)
    events = [CheckpointSaved(stage="reward_model", step=n, path=f"checkpoints/rm-{n}", final=True) for n in (1, 2)]
    return [record_checkpoint(session, job.id, 1, one, [], f"at/{one.step}") for one in events]


def task_statuses(session: Session) -> list[str]:
    kinds = select(DataTask).filter_by(kind=scores.SCORES_TASK).order_by(DataTask.created_at, DataTask.id)
    return [task.status for task in session.scalars(kinds)]


def test_scores_request_same_model_once_and_replace_by_another(session: Session, models: list[Checkpoint]) -> None:
    round_ = make_round(session, count=2)
    for _ in range(2):
        scores.request(session, round_, models[0].id)
    assert task_statuses(session) == ["queued"]
    items = scores.all_items(session, round_.id)
    scores.store(session, round_.id, models[0].id, [(item.id, [0.5, None]) for item in items])
    session.commit()
    assert [item.scores for item in scores.all_items(session, round_.id)] == [[0.5, None]] * 2
    scores.request(session, round_, models[1].id)
    session.commit()
    session.expire_all()
    assert sorted(task_statuses(session)) == ["cancelled", "queued"]
    assert [item.scores for item in session.scalars(select(AnnotationItem))] == [None, None]
    assert [pin.checkpoint_id for pin in session.scalars(select(AnnotationPin))] == [models[1].id]


def test_scores_of_a_replaced_model_are_not_stored(session: Session, models: list[Checkpoint]) -> None:
    round_ = make_round(session, count=1)
    for model in models:
        scores.request(session, round_, model.id)
    (item,) = scores.all_items(session, round_.id)
    scores.store(session, round_.id, models[0].id, [(item.id, [1.0, 2.0])])
    session.expire_all()
    assert session.get_one(AnnotationRound, round_.id).reward_model == models[1].id
    assert session.get_one(AnnotationItem, item.id).scores is None


def test_a_round_without_items_has_nothing_to_score(session: Session, models: list[Checkpoint]) -> None:
    round_ = make_round(session, count=1)
    round_.status = "preparing"
    session.commit()
    with pytest.raises(RoundNotReady):
        scores.request(session, round_, models[0].id)
