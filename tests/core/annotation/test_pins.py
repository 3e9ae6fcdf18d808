"""Checkpoints that a round needs are kept until its data task is done or has failed."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.annotation import rounds, scores
from core.annotation.spec import NewRound
from core.jobs.checkpoints.checkpoints import prune_checkpoints, record_checkpoint
from core.models import AnnotationPin, Checkpoint, Job
from data.schema import DatasetKind
from tests.core.annotation.tools import make_round, work
from tests.core.factories import make_job, make_version, running
from trainer.events import CheckpointSaved
from trainer.spec import StageName


def saved(session: Session, job: Job, step: int, stage: StageName = "ppo") -> Checkpoint:
    event = CheckpointSaved(stage=stage, step=step, path=f"checkpoints/{stage}-{step:06d}", final=False)
    return record_checkpoint(session, job.id, 1, event, [], f"at/{step}")


def test_pins_policy_is_kept_until_its_completions_are_sampled(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    prompts = make_version(session, job.owner_id, DatasetKind.PROMPTS).dataset_id
    first, second = (saved(session, job, step) for step in (1, 2))
    source = {"type": "checkpoints", "checkpoints": [first.id, second.id], "prompts": prompts}
    round_ = rounds.create(session, job.owner_id, NewRound.model_validate({"source": source}))
    for step in (3, 4, 5):
        saved(session, job, step)
    assert prune_checkpoints(session, job.id, 1) == ["at/3"]
    assert (round_.policies or [])[0] | {} == {
        "checkpoint": first.id, "model": None, "job": job.id, "stage": "ppo", "step": 1, "seed": None,
    }  # fmt: skip
    assert round_.source["max_new_tokens"] == 64, "as that job samples"
    session.commit()
    work()  # the task fails, since the blob store is empty
    failed = rounds.get(session, job.owner_id, round_.id)
    session.refresh(failed)
    assert failed.status == "failed" and "has no files below at/1" in str(failed.error)
    assert session.scalars(select(AnnotationPin)).all() == []
    assert sorted(prune_checkpoints(session, job.id, 1)) == ["at/1", "at/2"]


def test_pins_reward_model_that_failed_to_score_is_released(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    round_ = make_round(session, job.owner_id, count=1)
    scores.request(session, round_, saved(session, job, 1, "reward_model").id)
    rounds.settle_all(session, job.owner_id)
    assert session.scalars(select(AnnotationPin.purpose)).all() == ["scores"]
    session.commit()
    work()  # the task fails, since the blob store is empty
    rounds.settle_all(session, job.owner_id)
    assert session.scalars(select(AnnotationPin)).all() == []
    assert rounds.get(session, job.owner_id, round_.id).status == "open"


def test_a_round_that_failed_keeps_no_reward_model(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    model = saved(session, job, 1, "reward_model")
    labelled = make_version(session, job.owner_id).dataset_id
    source = {"type": "dataset", "dataset": labelled}
    made = rounds.create(session, job.owner_id, NewRound.model_validate({"source": source, "reward_model": model.id}))
    session.commit()
    work()
    session.expire_all()
    assert rounds.get(session, job.owner_id, made.id).status == "failed"
    assert session.scalars(select(AnnotationPin)).all() == []
