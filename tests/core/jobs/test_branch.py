"""Branches: their start, the changes that they allow, and the checkpoints that they keep."""

from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from core.errors import InvalidRequest, InvalidSpec, NotFound
from core.jobs.actions.branch import BranchStart, branch_job
from core.jobs.actions.extend import extend_job
from core.jobs.actions.retry import retry_job
from core.jobs.checkpoints.checkpoints import CheckpointFile, record_checkpoint, start_checkpoints
from core.jobs.lifecycle import attempts
from core.jobs.lifecycle.actors import PLATFORM
from core.jobs.lifecycle.state import Request, request
from core.models import Checkpoint, CheckpointPin, Job
from core.models.jobs import JobStatus
from core.settings import Settings
from tests.core.factories import make_job, running
from trainer.events import CheckpointSaved
from trainer.spec import StageName

STATE: list[CheckpointFile] = [{"path": "trainer_state/state.json", "bytes": 1, "sha256": "-"}]
SPEC: dict[str, Any] = {"ppo": {"steps": 20, "lr_schedule": "constant", "warmup_ratio": 0.0}}


def saved(session: Session, job: Job, stage: StageName, step: int, final: bool = True) -> Checkpoint:
    path = f"checkpoints/{stage}" + ("" if final else f"-{step:06d}")
    event = CheckpointSaved(stage=stage, step=step, path=path, final=final)
    return record_checkpoint(session, job.id, job.attempt, event, [] if final else STATE, f"at/{job.id}/{path}")


@pytest.fixture
def source(session: Session) -> Job:
    """A succeeded job with the results of its stages and a state of PPO at step 10."""
    job = make_job(session, **SPEC)
    running(session, job)
    saved(session, job, "sft", 5)
    saved(session, job, "reward_model", 6)
    saved(session, job, "ppo", 10, final=False)
    saved(session, job, "ppo", 20)
    attempts.finish(session, job.id, 1, JobStatus.SUCCEEDED, "")
    session.commit()
    return job


AT_10 = BranchStart(stage="ppo", step=10)


def branched(session: Session, source: Job, settings: Settings, patch: Any = None, at: BranchStart = AT_10) -> Job:
    return branch_job(session, source, at, patch or {}, settings, PLATFORM)


def test_branch_starts_from_the_state_and_earlier_results(session: Session, source: Job, settings: Settings) -> None:
    made = branched(session, source, settings, {"ppo": {"kl": {"coef": 0.2}}})
    assert made.spec["ppo"]["kl"]["coef"] == 0.2 and made.parent is not None
    assert {name: made.parent[name] for name in ("job", "relation", "stage", "step")} == {
        "job": source.id,
        "relation": "branch",
        "stage": "ppo",
        "step": 10,
    }
    starts = {folder: one.step for folder, one in start_checkpoints(session, made.id).items()}
    assert starts == {"checkpoints/sft": 5, "checkpoints/reward_model": 6, "checkpoints/ppo-000010": 10}
    carried = {part["part"]: part["carried"] for part in made.parent["carried"]}
    assert carried == {
        "results": True,
        "weights": True,
        "optimizer": True,
        "critic": True,
        "kl_controller": False,
        "reference": True,
        "sampler": True,
    }


def test_branch_at_the_result_of_a_stage_runs_the_next(session: Session, source: Job, settings: Settings) -> None:
    at = BranchStart(stage="reward_model", step=6)
    made = branched(session, source, settings, {"ppo": {"critic": {"kind": "value_head"}}, "seed": 7}, at)
    assert set(start_checkpoints(session, made.id)) == {"checkpoints/sft", "checkpoints/reward_model"}


@pytest.mark.parametrize(
    ("patch", "pointer"),
    [
        ({"model": {"path": "other/model"}}, "#/model/path"),
        ({"model": {"lora": {"rank": 4}}}, "#/model/lora"),
        ({"ppo": {"critic": {"kind": "value_head"}}}, "#/ppo/critic/kind"),
        ({"ppo": {"optimizer": "adamw_8bit"}}, "#/ppo/optimizer"),
        ({"ppo": {"reference": {"update": "ema"}}}, "#/ppo/reference/update"),
        ({"ppo": {"steps": 10}}, "#/ppo/steps"),
        ({"sft": {"epochs": 2}}, "#/sft/epochs"),
        ({"data": {"max_prompt_tokens": 9}}, "#/data/max_prompt_tokens"),
        ({"stages": ["reward_model", "ppo", "evaluation"]}, "#/stages"),
        ({"seeds": 2}, "#/seeds"),
    ],
)
def test_patch_that_makes_the_state_unusable_is_refused(
    session: Session, source: Job, settings: Settings, patch: dict[str, Any], pointer: str
) -> None:
    with pytest.raises(InvalidSpec) as refusal:
        branched(session, source, settings, patch)
    assert refusal.value.extras["errors"][0]["pointer"] == pointer


def test_branch_of_a_step_that_is_not_stored_lists_them(session: Session, source: Job, settings: Settings) -> None:
    with pytest.raises(NotFound, match=r"It has: sft 5 \(result\), reward_model 6 \(result\), ppo 10, ppo 20"):
        branched(session, source, settings, at=BranchStart(stage="ppo", step=11))


def test_branch_of_a_checkpoint_of_another_job_is_not_found(session: Session, source: Job, settings: Settings) -> None:
    other = make_job(session, source.owner_id)
    running(session, other)
    theirs = saved(session, other, "sft", 1)
    with pytest.raises(NotFound):
        branched(session, source, settings, at=BranchStart(checkpoint=theirs.id))


def test_branch_at_the_last_result_without_stages_is_refused(session: Session, source: Job, settings: Settings) -> None:
    with pytest.raises(InvalidSpec, match="no stage is left"):
        branched(
            session, source, settings, {"stages": ["sft", "reward_model", "ppo"]}, BranchStart(stage="ppo", step=20)
        )


def test_own_checkpoint_of_a_branch_releases_its_start(session: Session, source: Job, settings: Settings) -> None:
    made = branched(session, source, settings)
    running(session, made)
    saved(session, made, "ppo", 12, final=False)
    assert set(start_checkpoints(session, made.id)) == {"checkpoints/sft", "checkpoints/reward_model"}


def test_retry_of_a_branch_starts_from_the_same_state(session: Session, source: Job, settings: Settings) -> None:
    made = branched(session, source, settings)
    before = start_checkpoints(session, made.id)
    request(session, made, Request.CANCEL, PLATFORM)
    assert session.scalars(select(CheckpointPin)).all() == []
    retry_job(session, made, PLATFORM, settings)
    assert start_checkpoints(session, made.id) == before


def test_branch_of_a_branch_inherits_the_earlier_results(session: Session, source: Job, settings: Settings) -> None:
    first = branched(session, source, settings)
    running(session, first)
    saved(session, first, "ppo", 12, final=False)
    second = branched(session, first, settings, at=BranchStart(stage="ppo", step=12))
    assert {one.job_id for one in start_checkpoints(session, second.id).values()} == {source.id, first.id}


def test_branch_of_a_branch_whose_source_is_gone_is_explained(
    session: Session, source: Job, settings: Settings
) -> None:
    first = branched(session, source, settings)
    running(session, first)
    last = saved(session, first, "ppo", 12, final=False)
    attempts.finish(session, first.id, 1, JobStatus.SUCCEEDED, "")
    session.delete(source)
    session.flush()
    with pytest.raises(NotFound) as refused:
        branched(session, first, settings, at=BranchStart(stage="ppo", step=12))
    assert refused.value.detail == (
        f"The result of the stage sft of {first.id} is no longer stored. It belonged to {source.id}, which was deleted. Clone the "
        f"job to run every stage again, or submit one with {last.id} as `model.path`."
    )


def test_retry_of_a_branch_whose_source_is_gone_is_explained(session: Session, source: Job, settings: Settings) -> None:
    made = branched(session, source, settings)
    running(session, made)
    attempts.finish(session, made.id, 1, JobStatus.FAILED, "x", error={"code": "x", "message": "x"})
    session.delete(source)
    session.flush()
    with pytest.raises(NotFound, match=r"has been deleted\. Clone the job to run every stage again"):
        retry_job(session, made, PLATFORM, settings)


def test_extend_continues_with_more_steps(session: Session, source: Job, settings: Settings) -> None:
    made = extend_job(session, source, 40, settings, PLATFORM)
    assert made.spec["ppo"]["steps"] == 40 and made.parent is not None
    assert (made.parent["relation"], made.parent["step"]) == ("extend", 10)


@pytest.mark.parametrize(
    ("ppo", "pointer"),
    [
        ({"lr_schedule": "linear"}, "#/ppo/lr_schedule"),
        ({"warmup_ratio": 0.5}, "#/ppo/warmup_ratio"),
        ({"kl": {"controller": "cosine"}}, "#/ppo/kl/controller"),
    ],
)
def test_extend_with_a_schedule_over_the_steps_is_refused(
    session: Session, source: Job, settings: Settings, ppo: dict[str, Any], pointer: str
) -> None:
    source.spec = source.spec | {"ppo": source.spec["ppo"] | ppo | {"kl": source.spec["ppo"]["kl"] | ppo.get("kl", {})}}
    with pytest.raises(InvalidSpec, match="Branch from the checkpoint") as refusal:
        extend_job(session, source, 40, settings, PLATFORM)
    assert refusal.value.extras["errors"][0]["pointer"] == pointer


def test_extend_of_several_seeds_names_the_way_to_go(session: Session, source: Job, settings: Settings) -> None:
    source.spec = source.spec | {"seeds": 3}
    with pytest.raises(InvalidRequest, match=r"has several seeds.*Branch from a checkpoint of one seed"):
        extend_job(session, source, 40, settings, PLATFORM)


def test_extend_to_fewer_steps_is_refused(session: Session, source: Job, settings: Settings) -> None:
    with pytest.raises(InvalidRequest, match="more than 20"):
        extend_job(session, source, 20, settings, PLATFORM)


def test_unknown_step_lists_each_place_once(session: Session, source: Job, settings: Settings) -> None:
    common: dict[str, Any] = {"job_id": source.id, "attempt": 1, "stage": "ppo", "final": False, "metrics": {}}
    common |= {"bytes": 1, "blob_prefix": "at"}
    best = Checkpoint(id="ckpt_best", step=10, best=True, path="checkpoints/ppo-best", files=STATE, **common)
    weights = Checkpoint(id="ckpt_weights", step=11, path="checkpoints/ppo-000011", files=[], **common)
    session.add_all([best, weights])
    session.flush()
    with pytest.raises(NotFound) as refused:
        branched(session, source, settings, at=BranchStart(stage="ppo", step=12))
    places = "sft 5 (result), reward_model 6 (result), ppo 10, ppo 20 (result)"
    assert refused.value.detail == f"{source.id} has no checkpoint ppo, step 12. It has: {places}."
