"""The origin of a job in words, the history before its first step, and the jobs made from it."""

from typing import Any

import pytest
from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from core.blobs import LocalBlobs
from core.jobs.actions.branch import BranchStart, branch_job, clone_job
from core.jobs.actions.extend import extend_job
from core.jobs.checkpoints.checkpoints import record_checkpoint
from core.jobs.lifecycle import attempts
from core.jobs.lifecycle.actors import PLATFORM
from core.jobs.lifecycle.removal import delete_job
from core.jobs.overview.inputs import inputs, model_names
from core.jobs.overview.lineage import children_counts, lineage, parents
from core.jobs.run.events import append_events
from core.models import Checkpoint, CheckpointPin, Job
from core.models.jobs import JobStatus, Relation
from core.settings import Settings
from tests.core.factories import make_job, running
from tests.core.jobs.test_branch import SPEC, saved
from trainer.events import CheckpointSaved, StageFinished
from trainer.spec import StageName


def done(session: Session, job: Job, *steps: int, results: tuple[tuple[StageName, int], ...] = ()) -> Job:
    """The job after a run that saved states of PPO at these steps, the results, and the figures of each result."""
    running(session, job)
    for stage, step in results:
        saved(session, job, stage, step)
        append_events(session, job.id, 1, [StageFinished(stage=stage, seconds=2.5, summary={"loss": 0.25})])
    for step in steps:
        saved(session, job, "ppo", step, final=False)
    attempts.finish(session, job.id, 1, JobStatus.SUCCEEDED, "")
    session.commit()
    return job


@pytest.fixture
def first(session: Session) -> Job:
    return done(session, make_job(session, name="First", **SPEC), 10, results=(("sft", 5), ("reward_model", 6)))


def branched(session: Session, settings: Settings, of: Job, step: int, name: str) -> Job:
    made = branch_job(session, of, BranchStart(stage="ppo", step=step), {"name": name}, settings, PLATFORM)
    session.commit()
    return made


def text_of(session: Session, job: Job) -> str:
    return parents(session, [job])[job.id].text


def parts(session: Session, job: Job) -> list[tuple[Any, ...]]:
    return [(one.stage, one.name, one.to) for one in lineage(session, job).history]


def test_branch_names_its_parent_and_the_inherited_stages(session: Session, settings: Settings, first: Job) -> None:
    second = branched(session, settings, first, 10, "Second")
    parent = parents(session, [second])[second.id]
    assert (parent.text, parent.deleted) == ('Branched from "First", PPO step 10', False)
    assert [(one.stage, one.name, one.step, one.seconds, one.summary) for one in parent.stages] == [
        ("sft", "First", 5, 2.5, {"loss": 0.25}),
        ("reward_model", "First", 6, 2.5, {"loss": 0.25}),
    ]
    assert parts(session, second) == [("sft", "First", None), ("reward_model", "First", None), ("ppo", "First", 10)]


def test_history_of_a_chain_has_a_part_of_each_generation(session: Session, settings: Settings, first: Job) -> None:
    second = done(session, branched(session, settings, first, 10, "Second"), 15)
    third = branched(session, settings, second, 15, "Third")
    assert parts(session, third) == [
        ("sft", "First", None),
        ("reward_model", "First", None),
        ("ppo", "First", 10),
        ("ppo", "Second", 15),
    ]
    assert [(one.name, one.text) for one in lineage(session, third).ancestors] == [
        ("Second", 'Branched from "Second", PPO step 15'),
        ("First", 'Branched from "First", PPO step 10'),
    ]


def test_branch_at_a_result_has_the_whole_stage_as_history(session: Session, settings: Settings, first: Job) -> None:
    at = BranchStart(stage="reward_model", step=6)
    made = branch_job(session, first, at, {}, settings, PLATFORM)
    assert text_of(session, made) == 'Branched from "First", result of the reward model stage'
    assert parts(session, made) == [("sft", "First", None), ("reward_model", "First", None)]


def test_deleted_parent_leaves_its_name(session: Session, settings: Settings, first: Job, tmp_path: Any) -> None:
    second = done(session, branched(session, settings, first, 10, "Second"), 15)
    delete_job(session, LocalBlobs(tmp_path), first.id)
    session.commit()
    assert text_of(session, second) == 'Branched from "First", which was deleted, PPO step 10'
    found = lineage(session, second)
    assert [(one.name, one.status) for one in found.ancestors] == [("First", None)]
    assert [(one.stage, one.deleted) for one in found.history] == [("sft", True), ("reward_model", True), ("ppo", True)]
    assert [one.name for one in parents(session, [second])[second.id].stages] == ["First", "First"]


def test_row_of_an_older_release_has_words_and_stages(session: Session, settings: Settings, first: Job) -> None:
    """It names no parent, and its inherited stages only by the checkpoints."""
    second = branched(session, settings, first, 10, "Second")
    assert second.parent is not None
    older = {k: v for k, v in second.parent.items() if k not in ("name", "stages", "final", "seed")}
    session.execute(update(Job).where(Job.id == second.id).values(parent=older))
    session.commit()
    assert text_of(session, second) == 'Branched from "First", PPO step 10'
    assert [one.stage for one in parents(session, [second])[second.id].stages] == ["sft", "reward_model"]
    gone = {"job": "job_gone", "relation": "clone"}
    session.execute(update(Job).where(Job.id == second.id).values(parent=gone))
    session.commit()
    assert text_of(session, second) == "Cloned from a job that was deleted"


def test_children_are_counted_by_relation(session: Session, settings: Settings, first: Job) -> None:
    branched(session, settings, first, 10, "B")
    branched(session, settings, first, 10, "C")
    clone_job(session, first, {"name": "D"}, settings, PLATFORM)
    session.commit()
    extend_job(session, first, 40, settings, PLATFORM)
    session.commit()
    assert children_counts(session, [first.id]) == {
        first.id: {Relation.BRANCH: 2, Relation.CLONE: 1, Relation.EXTEND: 1}
    }
    found = lineage(session, first)
    assert [(one.name, one.relation.value, one.step) for one in found.children] == [
        ("B", "branch", 10),
        ("C", "branch", 10),
        ("D", "clone", None),
        ("First", "extend", 10),
    ]
    assert (found.ancestors, found.history) == ([], [])


def test_child_names_the_seed_that_it_starts_from(session: Session, settings: Settings) -> None:
    job = make_job(session, seed=4, seeds=2, **SPEC)
    running(session, job)
    event = CheckpointSaved(stage="sft", step=5, path="seeds/5/checkpoints/sft", final=True, seed=5)
    start = record_checkpoint(session, job.id, 1, event, [], "at/sft")
    branch_job(session, job, BranchStart(start.id), {}, settings, PLATFORM)
    (child,) = lineage(session, job).children
    assert (child.stage, child.final, child.seed) == ("sft", True, 5)


def test_job_of_another_owner_is_neither_parent_nor_child(session: Session, settings: Settings, first: Job) -> None:
    """No request can make such a row. It would show as deleted."""
    foreign = make_job(session, name="Theirs")
    foreign.parent = {"job": first.id, "relation": "clone"}
    session.commit()
    assert text_of(session, foreign) == "Cloned from a job that was deleted"
    assert lineage(session, first).children == []
    assert lineage(session, foreign).ancestors[0].status is None


def test_inputs_are_named_by_dataset_version_and_by_checkpoint(
    session: Session, settings: Settings, first: Job
) -> None:
    checkpoint = first.id
    policy = saved_policy(session, settings, first)
    other = make_job(session, first.owner_id, model=policy)
    found = {one.field: (one.name, one.job) for one in inputs(session, [other])[other.id]}
    assert found["model.path"] == ('"First", result of the SFT stage', checkpoint)
    name, job = found["data.preferences"]
    assert name is not None and name.endswith(", version 1") and job is None
    assert model_names(session, [first, other]) == {other.id: '"First", result of the SFT stage'}
    for table in (CheckpointPin, Checkpoint):
        session.execute(delete(table))
    assert model_names(session, [first, other]) == {other.id: "a deleted checkpoint"}


def saved_policy(session: Session, settings: Settings, job: Job) -> str:
    found = branched(session, settings, job, 10, "Helper").parent
    assert found is not None
    return str(found["stages"][0]["checkpoint"])
