"""The spec of the next job, and jobs that cannot be continued."""

from typing import Any

import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from core.annotation import continuation
from core.annotation.continuation import ContinuationBasis, NextJob, next_spec
from core.errors import CannotContinue, InvalidSpec, NotFound, RoundOpen
from core.jobs.checkpoints.checkpoints import record_checkpoint
from core.jobs.overview.lineage import parents
from core.models import AnnotationItem, AnnotationRound, Checkpoint, Dataset, Job
from core.settings import Settings
from tests.core.annotation.tools import make_round
from tests.core.factories import make_job, make_version, running
from trainer.events import CheckpointSaved
from trainer.spec import JobSpec, StageName

CONFIG = {"config": {"model_type": "llama"}, "tokenizer": {"vocab_size": 300}}


def spec(**changes: Any) -> JobSpec:
    whole = {
        "name": "First",
        "model": CONFIG,
        "data": {"preferences": "ds_old", "sft": "ds_sft"},
        "seed": 7,
        "seeds": 3,
    }
    return JobSpec.model_validate(whole | {"ppo": {"steps": 30, "kl": {"coef": 0.1}}} | changes)


def after(base: JobSpec, anchor: str | None = "ckpt_sft", **changes: Any) -> JobSpec:
    """The spec of the next job."""
    basis = ContinuationBasis(base, "ckpt_ppo", changes.pop("reward_model", "ckpt_rm"), anchor)
    return JobSpec.model_validate(next_spec(basis, "ds_new@2", "Second", **changes))


def test_next_job_refits_reward_model_and_starts_from_policy() -> None:
    found = after(spec(), steps=5)
    changed = spec(
        name="Second",
        model="ckpt_ppo",
        data={"preferences": "ds_new@2", "sft": "ds_sft"},
        stages=["reward_model", "ppo", "evaluation"],
        reward_model={"path": "ckpt_rm"},
        ppo={"steps": 5, "kl": {"coef": 0.1}, "reference": {"path": "ckpt_sft"}},
        seed=8,
        seeds=1,
    )
    assert found == changed


def test_next_job_after_thumbs_trains_on_pairs_of_the_round() -> None:
    data, pointwise = {"thumbs": "ds_thumbs"}, {"loss": "pointwise", "batch_size": 8}
    found = after(spec(data=data, stages=["sft", "reward_model", "kto", "ppo"], reward_model=pointwise))
    assert (found.data.preferences, found.data.thumbs, found.stages) == ("ds_new@2", None, ("reward_model", "ppo"))
    assert (found.reward_model.loss, found.reward_model.batch_size) == ("pairwise", 8)


def test_next_job_after_steps_trains_on_pairs_of_the_round() -> None:
    data, stepwise = {"steps": "ds_steps", "sft": "ds_sft"}, {"loss": "stepwise", "batch_size": 8}
    found = after(spec(data=data, stages=["sft", "reward_model", "ppo"], reward_model=stepwise))
    assert (found.data.preferences, found.data.steps, found.reward_model.loss) == ("ds_new@2", None, "pairwise")


def test_steps_and_evaluation_are_as_they_were() -> None:
    without = spec(stages=["sft", "reward_model", "ppo"])
    assert after(without).stages == ("reward_model", "ppo")
    assert after(without).ppo.steps == 30
    assert after(spec(seed=2**32 - 1)).seed == 0


def test_next_job_without_other_anchor_sets_no_reference() -> None:
    assert after(spec(), anchor=None).ppo.reference.path is None
    assert after(spec(), anchor="ckpt_ppo").ppo.reference.path is None, "the policy itself is where it starts anyway"
    moving = {"steps": 30, "reference": {"update": "ema", "path": "owner/reference"}}
    assert after(spec(ppo=moving)).ppo.reference.path is None


def test_next_job_adopts_an_external_reward_model() -> None:
    rewards = [{"type": "model", "path": "owner/rm", "weight": 2.0}, {"type": "length", "target": 10}]
    found = after(spec(stages=["sft", "ppo"], rewards=rewards), reward_model="owner/rm")
    assert found.reward_model.path == "owner/rm"
    assert found.rewards == spec(rewards=[rewards[0] | {"path": None}, rewards[1]]).rewards
    assert found.own_reward_model and found.stages == ("reward_model", "ppo")


def saved(session: Session, job: Job, stage: StageName, step: int = 10, final: bool = True, **more: Any) -> Checkpoint:
    path = f"checkpoints/{stage}" + ("" if final else f"-{step:06d}")
    event = CheckpointSaved.model_validate({"stage": stage, "step": step, "path": path, "final": final} | more)
    return record_checkpoint(session, job.id, job.attempt, event, [], f"at/{event.path}/{step}")


@pytest.fixture
def job(session: Session) -> Job:
    """A running job."""
    found = make_job(session)
    running(session, found)
    return found


@pytest.fixture
def closed(session: Session, job: Job) -> AnnotationRound:
    """A round of the same owner, closed into a dataset."""
    version = make_version(session, job.owner_id)
    found = make_round(session, job.owner_id)
    values = {"status": "closed", "closed_at": version.ready_at, "dataset_id": version.dataset_id, "version": 1}
    session.execute(update(AnnotationRound).filter_by(id=found.id).values(**values))
    session.commit()
    session.refresh(found)
    return found


def test_basis_policy_is_final_else_best_else_newest_checkpoint(session: Session, job: Job) -> None:
    def policy() -> str:
        return continuation.basis_of(session, job.owner_id, job.id).policy

    saved(session, job, "reward_model")
    sft = saved(session, job, "sft")
    assert policy() == sft.id
    newest = [saved(session, job, "ppo", step, final=False) for step in (1, 2)][-1]
    assert policy() == newest.id
    best = saved(session, job, "ppo", 1, final=False, path="checkpoints/ppo-best", best=True)
    assert policy() == best.id
    final = saved(session, job, "ppo", 6)
    assert policy() == final.id
    assert continuation.basis_of(session, job.owner_id, job.id).reference == sft.id


def test_basis_of_several_seeds_is_the_first_with_reward_model(session: Session, job: Job) -> None:
    found = {}
    for seed in (8, 7):
        for stage in ("sft", "reward_model", "ppo"):
            path = f"seeds/{seed}/checkpoints/{stage}"
            found[seed, stage] = saved(session, job, stage, path=path, seed=seed).id  # type: ignore[arg-type]
    basis = continuation.basis_of(session, job.owner_id, job.id)
    assert (basis.policy, basis.reward_model, basis.reference) == tuple(
        found[7, s] for s in ("ppo", "reward_model", "sft")
    )


def test_basis_of_ended_seeds_is_that_of_the_best_seed(session: Session, job: Job) -> None:
    """The job's own copy of the result has no seed, and neither reward model nor reference beside it."""
    found = {}
    for seed in (7, 8, 9):
        for stage in ("sft", "reward_model", "ppo"):
            path = f"seeds/{seed}/checkpoints/{stage}"
            found[seed, stage] = saved(session, job, stage, path=path, seed=seed).id  # type: ignore[arg-type]
    saved(session, job, "ppo")
    session.execute(update(Job).filter_by(id=job.id).values(summary={"best_seed": 8.0, "win_rate": 0.7}))
    session.commit()
    basis = continuation.basis_of(session, job.owner_id, job.id)
    assert (basis.policy, basis.reward_model, basis.reference) == tuple(
        found[8, s] for s in ("ppo", "reward_model", "sft")
    )


def test_a_job_that_there_is_nothing_in_to_go_on_from(session: Session, job: Job) -> None:
    with pytest.raises(NotFound, match="There is no job 'job_nope'"):
        continuation.basis_of(session, job.owner_id, "job_nope")
    with pytest.raises(NotFound):
        continuation.basis_of(session, "key_other", job.id)
    with pytest.raises(CannotContinue, match="no checkpoint of a policy"):
        continuation.basis_of(session, job.owner_id, job.id)
    saved(session, job, "sft")
    with pytest.raises(CannotContinue, match=r"reward model of job_.* is not trained yet"):
        continuation.basis_of(session, job.owner_id, job.id)


@pytest.mark.parametrize(
    ("rewards", "message"),
    [
        ([{"type": "regex", "pattern": "x"}], "its rewards are rules"),
        ([{"type": "model", "path": "a/b"}, {"type": "model", "path": "c/d"}], "names 2 reward models"),
    ],
)
def test_rewards_that_cannot_learn_from_answers(session: Session, rewards: list[Any], message: str) -> None:
    job = make_job(session, stages=["ppo"], rewards=rewards)
    running(session, job)
    saved(session, job, "ppo")
    with pytest.raises(CannotContinue, match=message):
        continuation.basis_of(session, job.owner_id, job.id)


def test_continue_queues_a_job_and_stores_it_with_the_round(
    session: Session, job: Job, closed: AnnotationRound, settings: Settings
) -> None:
    ids = {stage: saved(session, job, stage).id for stage in ("sft", "reward_model", "ppo")}  # type: ignore[arg-type]
    made = continuation.continue_job(session, closed, NextJob(job.id, steps=4), settings)
    assert (made.status, made.spec["model"]["path"], made.spec["ppo"]["steps"]) == ("queued", ids["ppo"], 4)
    assert made.spec["data"]["preferences"].startswith(f"{closed.dataset_id}@sha256:")
    session.refresh(closed)
    assert closed.jobs == [made.id]
    parent = parents(session, [made])[made.id]
    assert (parent.job, parent.checkpoint, parent.stage) == (job.id, ids["ppo"], "ppo")
    assert (parent.round, parent.round_name) == (closed.id, closed.name)
    assert parent.text == f'Continues a job, result of the PPO stage, with the answers of the round "{closed.name}"'
    dataset = session.get_one(Dataset, closed.dataset_id).name
    assert continuation.plan(session, closed, job.id).sentences == [
        f"The reward model of {job.id} (result of the reward model stage, {ids['reward_model']}) is trained for 1 more epoch "
        f"on the labelled ones of the 3 rows of {dataset}, version 1 ({closed.dataset_id}@1). 10% of the prompts are held out.",
        f"PPO continues from the policy of {job.id} (result of the PPO stage, {ids['ppo']}) for 100 steps.",
        f"Its KL penalty is measured against the policy of {job.id} (result of the SFT stage, {ids['sft']}).",
        "Its prompts are those of the same rows.",
        "At the end it is compared with the policy that it starts from.",
    ]


def test_next_job_plan_states_further_conditions(session: Session, closed: AnnotationRound) -> None:
    job = make_job(
        session, closed.owner_id, name="Kind", model={"path": "a/b", "lora": {}}, evaluation={"against": "other/model"}
    )
    running(session, job)
    for stage in ("sft", "reward_model", "ppo"):
        saved(session, job, stage)  # type: ignore[arg-type]
    first = select(AnnotationItem.id).filter_by(round_id=closed.id, number=1).scalar_subquery()
    session.execute(update(AnnotationItem).where(AnnotationItem.id == first).values(finished=[True, False]))
    sentences = continuation.plan(session, closed, job.id).sentences
    assert sentences[1].startswith("PPO continues from the policy of Kind (result of the PPO stage, ckpt_")
    assert sentences[-3:] == [
        "At the end it is compared with the policy other/model.",
        "In 1 of the 3 items a completion was cut off at the longest length. The reward model learns it as if it had ended "
        "there.",
        "Policy, reward model and reference start from different weights, so each needs a backbone of its own. The run "
        "takes more memory than the job before.",
    ]


def test_continue_refuses_a_spec_that_a_posted_job_would_fail(
    session: Session, closed: AnnotationRound, settings: Settings
) -> None:
    job = make_job(session, closed.owner_id, ppo={"steps": 50, "critic": {"warmup_steps": 10}})
    running(session, job)
    for stage in ("sft", "reward_model", "ppo"):
        saved(session, job, stage)  # type: ignore[arg-type]
    with pytest.raises(InvalidSpec, match="warmup_steps"):
        continuation.continue_job(session, closed, NextJob(job.id, steps=10), settings)


def test_a_round_that_is_not_closed_is_nothing_to_go_on_with(session: Session, job: Job, settings: Settings) -> None:
    with pytest.raises(RoundOpen, match=r"is open\. Close it first"):
        continuation.continue_job(session, make_round(session, job.owner_id), NextJob(job.id), settings)
