"""Jobs that start from checkpoints: ownership, and pins while the job needs them."""

from typing import Any

import pytest
from sqlalchemy import delete, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from core.db import session_scope
from core.errors import NotFound, WrongCheckpoint
from core.jobs.checkpoints.checkpoints import checkpoints_to_resume, prune_checkpoints, record_checkpoint
from core.jobs.lifecycle import attempts
from core.jobs.lifecycle.actors import PLATFORM
from core.jobs.lifecycle.state import Request, request
from core.jobs.submission.submit import submit_job
from core.models import Checkpoint, CheckpointPin, Job
from core.models.jobs import JobStatus
from tests.core.factories import make_job, make_key, running
from trainer.events import CheckpointSaved
from trainer.spec import JobSpec, StageName


def saved(session: Session, job: Job, stage: StageName, step: int = 10, final: bool = True, **more: Any) -> Checkpoint:
    """Record a checkpoint of the running job."""
    path = f"checkpoints/{stage}" + ("" if final else f"-{step:06d}")
    event = CheckpointSaved.model_validate({"stage": stage, "step": step, "path": path, "final": final} | more)
    return record_checkpoint(session, job.id, job.attempt, event, [], f"at/{event.path}/{step}")


@pytest.fixture
def source(session: Session) -> Job:
    job = make_job(session)
    running(session, job)
    return job


FIELDS: list[tuple[StageName, str, dict[str, Any]]] = [
    ("sft", "#/model/path", {"model": "ID"}),
    ("dpo", "#/model/path", {"model": {"path": "ID"}}),
    ("reward_model", "#/reward_model/path", {"reward_model": {"path": "ID"}}),
    ("ppo", "#/ppo/reference/path", {"ppo": {"reference": {"path": "ID"}}}),
    ("sft", "#/evaluation/against", {"evaluation": {"against": "ID"}}),
    ("reward_model", "#/rewards/1/path", {"rewards": [{"type": "model"}, {"type": "model", "path": "ID"}]}),
    ("reward_model", "#/evaluation/judge/path", {"evaluation": {"judge": {"type": "model", "path": "ID"}}}),
    ("reward_model", "#/ppo/online/label_by/path", {"ppo": {"online": {"label_by": {"type": "model", "path": "ID"}}}}),
]


def put(value: Any, checkpoint_id: str) -> Any:
    """The spec with the id in the field."""
    if isinstance(value, dict):
        return {name: put(item, checkpoint_id) for name, item in value.items()}
    if isinstance(value, list):
        return [put(item, checkpoint_id) for item in value]
    return checkpoint_id if value == "ID" else value


@pytest.mark.parametrize(("stage", "pointer", "spec"), FIELDS)
def test_every_model_of_a_spec_may_be_a_checkpoint(
    session: Session, source: Job, stage: StageName, pointer: str, spec: dict[str, Any]
) -> None:
    checkpoint = saved(session, source, stage)
    job = make_job(session, source.owner_id, **put(spec, checkpoint.id))
    (pin,) = session.scalars(select(CheckpointPin))
    assert (pin.job_id, pin.field, pin.checkpoint_id) == (job.id, pointer, checkpoint.id)


@pytest.mark.parametrize(("stage", "pointer", "spec"), FIELDS)
def test_another_key_s_checkpoint_is_as_absent_as_none(
    session: Session, source: Job, stage: StageName, pointer: str, spec: dict[str, Any]
) -> None:
    for name in ("ckpt_nope", saved(session, source, stage).id):
        with pytest.raises(NotFound, match=r"There is no checkpoint 'ckpt_.*'\. It may have been deleted") as refusal:
            make_job(session, make_key(session).owner_id, **put(spec, name))
        assert refusal.value.extras == {"param": pointer.removeprefix("#/").replace("/", ".")}


@pytest.mark.parametrize(
    ("stage", "spec", "param"),
    [
        ("reward_model", {"model": "ID"}, "model.path"),
        ("ppo", {"reward_model": {"path": "ID"}}, "reward_model.path"),
        ("sft", {"rewards": [{"type": "classifier", "path": "ID"}]}, "rewards.0.path"),
        ("sft", {"rewards": [{"type": "lexicon", "path": "ID"}]}, "rewards.0.path"),
    ],
)
def test_a_checkpoint_of_another_stage_is_refused(
    session: Session, source: Job, stage: StageName, spec: dict[str, Any], param: str
) -> None:
    with pytest.raises(WrongCheckpoint, match=f"is of the stage {stage}. {param} takes") as refusal:
        make_job(session, source.owner_id, **put(spec, saved(session, source, stage).id))
    assert refusal.value.extras["param"] == param


def test_a_checkpoint_that_an_unfinished_job_needs_is_not_pruned(session: Session, source: Job) -> None:
    first = saved(session, source, "ppo", 1, final=False)
    needing = make_job(session, source.owner_id, model=first.id)
    for number in (2, 3, 4):
        saved(session, source, "ppo", number, final=False)
    assert prune_checkpoints(session, source.id, 1) == ["at/checkpoints/ppo-000002/2"]
    request(session, needing, Request.CANCEL, PLATFORM)
    assert prune_checkpoints(session, source.id, 1) == [first.blob_prefix]


def test_ended_job_releases_only_its_own_pins(session: Session, source: Job) -> None:
    first = saved(session, source, "ppo", 1, final=False)
    needing, ended = (make_job(session, source.owner_id, model=first.id) for _ in range(2))
    request(session, ended, Request.CANCEL, PLATFORM)
    assert session.scalars(select(CheckpointPin.job_id)).all() == [needing.id]


def test_prune_skips_a_checkpoint_that_a_new_job_pins(session: Session, source: Job) -> None:
    ids = [saved(session, source, "ppo", number, final=False).id for number in (1, 2, 3)]
    session.commit()
    spec = JobSpec.model_validate({"model": ids[0], "data": {"prompts": None, **source.spec["data"]}})
    with session_scope() as other:
        submit_job(other, source.owner_id, spec)
        assert prune_checkpoints(session, source.id, 1) == []
    assert session.scalar(select(func.count()).select_from(CheckpointPin)) == 1


def test_pruned_checkpoint_is_not_found_by_a_new_job(session: Session, source: Job) -> None:
    first, *_ = [saved(session, source, "ppo", number, final=False) for number in (1, 2, 3)]
    prune_checkpoints(session, source.id, 1)
    with pytest.raises(NotFound):
        make_job(session, source.owner_id, model=first.id)


@pytest.mark.parametrize("table", [Checkpoint, Job])
def test_neither_a_needed_checkpoint_nor_its_job_can_be_deleted(
    session: Session, source: Job, table: type[Checkpoint] | type[Job]
) -> None:
    checkpoint = saved(session, source, "sft")
    needing = make_job(session, source.owner_id, model=checkpoint.id)
    gone = delete(table).where(table.id == {Checkpoint: checkpoint.id, Job: source.id}[table])
    with pytest.raises(IntegrityError), session.begin_nested():
        session.execute(gone)
    running(session, needing)
    attempts.finish(session, needing.id, 1, JobStatus.SUCCEEDED, "")
    session.execute(gone)
    assert session.get(Job, needing.id) is not None


def test_best_checkpoint_replaces_the_previous_best(session: Session, source: Job) -> None:
    folder = {"path": "checkpoints/ppo-best", "best": True}
    before = saved(session, source, "ppo", 1, final=False, **folder)
    after = saved(session, source, "ppo", 3, final=False, **folder)
    for number in (4, 5, 6):
        saved(session, source, "ppo", number, final=False)
    assert [found.step for found in checkpoints_to_resume(session, source.id)] == [6, 3]
    stale = prune_checkpoints(session, source.id, 1)
    assert before.blob_prefix in stale and after.blob_prefix not in stale and len(stale) == 2
    kept = session.scalars(select(Checkpoint).order_by(Checkpoint.step))
    assert [(found.step, found.best) for found in kept] == [(3, True), (5, False), (6, False)]


def test_old_best_flag_in_a_step_folder_is_cleared_and_prunable(session: Session, source: Job) -> None:
    saved(session, source, "ppo", 1, final=False, best=True)
    for number in (2, 3):
        saved(session, source, "ppo", number, final=False)
    assert prune_checkpoints(session, source.id, 1) == []
    saved(session, source, "ppo", 4, final=False, best=True)
    assert prune_checkpoints(session, source.id, 1) == ["at/checkpoints/ppo-000001/1"]


def test_replaced_best_checkpoint_is_kept_for_a_job_that_pins_it(session: Session, source: Job) -> None:
    folder = {"path": "checkpoints/ppo-best", "best": True}
    before = saved(session, source, "ppo", 1, final=False, **folder)
    make_job(session, source.owner_id, model=before.id)
    after = saved(session, source, "ppo", 3, final=False, **folder)
    assert prune_checkpoints(session, source.id, 1) == []
    assert checkpoints_to_resume(session, source.id) == [after]
    assert (before.best, before.path) == (False, None)


def test_each_seed_has_separate_checkpoints(session: Session, source: Job) -> None:
    for seed in (7, 8):
        for number in (1, 2, 3):
            path = f"seeds/{seed}/checkpoints/ppo-{number:06d}"
            saved(session, source, "ppo", number, final=False, path=path, seed=seed)
    assert len(prune_checkpoints(session, source.id, 1)) == 2
    saved(session, source, "ppo", 3, path="seeds/7/checkpoints/ppo", seed=7)
    resumed = [found.path for found in checkpoints_to_resume(session, source.id)]
    assert resumed == ["seeds/7/checkpoints/ppo", "seeds/8/checkpoints/ppo-000003"]


def test_a_folder_outside_the_run_s_is_refused(session: Session, source: Job) -> None:
    with pytest.raises(ValueError, match="not a plain relative path"):
        saved(session, source, "sft", path="../elsewhere")
