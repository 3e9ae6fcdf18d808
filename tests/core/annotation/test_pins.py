"""Checkpoints that a round is about to ask stay until it has asked them."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from core import jobs
from core.annotation import rounds
from core.annotation.spec import NewRound
from core.models import AnnotationPin, Checkpoint, Job
from core.models.dataset import DatasetKind
from tests.core.annotation.tools import work
from tests.core.factories import make_job, make_version, running
from trainer.events import CheckpointSaved


def saved(session: Session, job: Job, step: int) -> Checkpoint:
    event = CheckpointSaved(stage="ppo", step=step, path=f"checkpoints/ppo-{step:06d}", final=False)
    return jobs.record_checkpoint(session, job.id, 1, event, [], f"at/{step}")


def test_a_policy_is_not_pruned_before_it_has_answered(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    prompts = make_version(session, job.owner_id, DatasetKind.PROMPTS).dataset_id
    first, second = (saved(session, job, step) for step in (1, 2))
    source = {"type": "checkpoints", "checkpoints": [first.id, second.id], "prompts": prompts}
    round_ = rounds.create(session, job.owner_id, NewRound.model_validate({"source": source}))
    for step in (3, 4, 5):
        saved(session, job, step)
    assert jobs.prune_checkpoints(session, job.id, 1) == ["at/3"]
    assert (round_.policies or [])[0] | {} == {
        "checkpoint": first.id, "model": None, "job": job.id, "stage": "ppo", "step": 1,
    }  # fmt: skip
    assert round_.source["max_new_tokens"] == 64, "as that job samples"
    session.commit()
    work()  # there is nothing in the blob store: it fails
    failed = rounds.get(session, job.owner_id, round_.id)
    session.refresh(failed)
    assert failed.status == "failed" and "There is nothing left of at/1" in str(failed.error)
    assert session.scalars(select(AnnotationPin)).all() == []
    assert sorted(jobs.prune_checkpoints(session, job.id, 1)) == ["at/1", "at/2"]
