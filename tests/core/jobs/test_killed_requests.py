"""A process that is killed with SIGKILL while it branches or deletes a job leaves a whole state."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from core.blobs import blob_store
from core.datasets.orphans import remove_orphans
from core.db import session_scope
from core.jobs.actions.branch import BranchStart, branch_job
from core.jobs.checkpoints.checkpoints import CheckpointFile, record_checkpoint
from core.jobs.lifecycle import attempts
from core.jobs.lifecycle.actors import PLATFORM
from core.jobs.lifecycle.removal import delete_job
from core.models import CheckpointPin, Job, JobDataset, JobEvent
from core.models.jobs import JobStatus
from core.settings import Settings
from tests.core.factories import make_job, running
from trainer.events import CheckpointSaved

ROOT = Path(__file__).parents[3]
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
"""SHA-256 of no bytes."""
STATE: list[CheckpointFile] = [{"path": "trainer_state/state.json", "bytes": 0, "sha256": EMPTY}]
CHILD = """
import os, shutil, signal, sys
from core import blobs
from core.db import session_scope
from core.jobs.actions import branch
from core.jobs.lifecycle import removal
from core.jobs.lifecycle.actors import PLATFORM
from core.models import Job
from core.settings import get_settings

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def remove_one_file(folder):
    next(path for path in folder.rglob("*") if path.is_file()).unlink()
    die()

action, job_id = sys.argv[1:]
if action == "branch":
    branch.copy_description = die  # the new job and its pins are written
elif action == "delete before the commit":
    removal.after_commit = die
else:
    shutil.rmtree = remove_one_file
with session_scope() as session:
    if action == "branch":
        start = branch.BranchStart(stage="ppo", step=10)
        branch.branch_job(session, session.get(Job, job_id), start, {}, get_settings(), PLATFORM)
    else:
        removal.delete_job(session, blobs.blob_store(get_settings()), job_id)
"""


def killed(action: str, job_id: str) -> None:
    """Do it in a process that is killed in the middle."""
    command = [sys.executable, "-c", CHILD, action, job_id]
    assert subprocess.run(command, cwd=ROOT, timeout=120, check=False).returncode == -signal.SIGKILL


def a_job(session: Session, settings: Settings) -> Job:
    """A succeeded job with results before PPO and a state of PPO, each with two files."""
    job = make_job(session)
    running(session, job)
    for number, (stage, final) in enumerate((("sft", True), ("reward_model", True), ("ppo", False)), 1):
        path = f"checkpoints/{stage}" + ("" if final else "-000010")
        prefix = f"jobs/{job.id}/checkpoints/1-{number}/{path}"
        event = {"stage": stage, "step": 10, "path": path, "final": final}
        record_checkpoint(session, job.id, 1, CheckpointSaved.model_validate(event), STATE, prefix)
        for name in ("weights", STATE[0]["path"]):
            with blob_store(settings).draft(f"{prefix}/{name}") as draft:
                draft.keep()
    attempts.finish(session, job.id, 1, JobStatus.SUCCEEDED, "")
    session.commit()
    return job


@pytest.fixture
def jobs(session: Session, settings: Settings) -> list[Job]:
    return [a_job(session, settings) for _ in range(2)]


def files(settings: Settings, job_id: str) -> list[str]:
    return list(blob_store(settings).list(f"jobs/{job_id}"))


def test_branch_that_is_killed_leaves_no_half_made_job(session: Session, settings: Settings, jobs: list[Job]) -> None:
    source = jobs[0]
    killed("branch", source.id)
    session.expire_all()
    assert set(session.scalars(select(Job.id))) == {job.id for job in jobs}
    assert session.scalars(select(CheckpointPin)).all() == []
    for table in (JobDataset, JobEvent):
        assert set(session.scalars(select(table.job_id))) == {job.id for job in jobs}
    assert len(files(settings, source.id)) == 6
    made = branch_job(session, source, BranchStart(stage="ppo", step=10), {}, settings, PLATFORM)
    assert made.status == "queued" and len(session.scalars(select(CheckpointPin)).all()) == 3


def test_deletion_that_is_killed_is_undone_or_finished(session: Session, settings: Settings, jobs: list[Job]) -> None:
    gone, kept = (job.id for job in jobs)
    killed("delete before the commit", gone)
    session.expunge_all()
    assert session.get(Job, gone) is not None and len(files(settings, gone)) == 6
    killed("delete while the files are removed", gone)
    session.expunge_all()
    assert session.get(Job, gone) is None and len(files(settings, gone)) == 5
    blobs = blob_store(settings)
    assert remove_orphans(blobs, remove_orphans(blobs, set())) == set()
    assert files(settings, gone) == [] and len(files(settings, kept)) == 6
    with session_scope() as other:
        delete_job(other, blobs, kept)
    assert list(blobs.list("jobs")) == []
