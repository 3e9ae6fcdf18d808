"""Transitions of jobs with the real trainer: they change no metric and no weight."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from sqlalchemy import select

from core.db import session_scope
from core.jobs.actions.branch import BranchStart, branch_job
from core.jobs.lifecycle.actors import PLATFORM
from core.jobs.lifecycle.state import Request, request
from core.jobs.submission.submit import submit_job
from core.models import Checkpoint, Job
from data.schema import DatasetKind
from proximal.sdk.spec_files import read_spec
from tests.core.factories import make_key, make_version
from tests.waiting import eventually
from tests.worker.conftest import events, job, meanwhile, status
from tests.worker.jobs.test_kill_and_resume import TINY
from trainer.spec import JobSpec
from worker.health import WorkerHeartbeat
from worker.jobs.claim import run_queued_jobs
from worker.jobs.context import WorkerContext
from worker.jobs.launch.local import LocalLauncher

pytestmark = pytest.mark.slow
Submit = Callable[..., str]
REST = {("ppo", 5), ("ppo", 6), ("evaluation", 1)}
"""The steps of the tiny run after step 4 of PPO."""


@pytest.fixture
def real(context: WorkerContext) -> WorkerContext:
    patient = context.settings.model_copy(update={"stop_seconds": 60})
    return replace(context, launcher=LocalLauncher(), settings=patient)


@pytest.fixture
def submit(context: WorkerContext) -> Iterator[Submit]:
    """Queue the tiny job, with changes of its PPO. All of them have one owner and the same datasets."""
    with session_scope() as session:
        owner = make_key(session).owner_id
        kinds = {"sft": DatasetKind.SFT, "preferences": DatasetKind.PREFERENCES}
        files = {name: (TINY.parent / "tiny" / f"{name}.jsonl").read_bytes() for name in kinds}
        data = {name: make_version(session, owner, kind, files[name]).dataset_id for name, kind in kinds.items()}

    def submit(**ppo: int) -> str:
        spec = read_spec(TINY) | {"data": data}
        spec["ppo"] |= ppo
        with session_scope() as session:
            return submit_job(session, owner, JobSpec.model_validate(spec)).id

    yield submit


def metrics(job_id: str) -> dict[tuple[str, int], dict[str, float]]:
    """The metrics of each step without timings. The last event of a step counts."""
    return {
        (str(event.stage), int(event.step or 0)): {
            name: value for name, value in event.data["values"].items() if not name.startswith(("time/", "memory/"))
        }
        for event in events(job_id, "metrics")
    }


def weights(job_id: str) -> dict[str, str]:
    """Hashes of the model files of each stage's result."""
    with session_scope() as session:
        found = session.scalars(select(Checkpoint).filter_by(job_id=job_id, final=True)).all()
    return {
        f"{checkpoint.stage}/{file['path']}": file["sha256"]
        for checkpoint in found
        for file in checkpoint.files
        if file["path"].endswith(".safetensors")
    }


def test_branch_without_changes_repeats_its_parent(
    submit: Submit, real: WorkerContext, heartbeat: WorkerHeartbeat
) -> None:
    parent = submit()
    run_queued_jobs(real, heartbeat)
    with session_scope() as session:
        start = BranchStart(stage="ppo", step=4)
        made = branch_job(session, session.get_one(Job, parent), start, {}, real.settings, PLATFORM).id
        louder = {"ppo": {"kl": {"coef": 0.5}}}
        changed = branch_job(session, session.get_one(Job, parent), start, louder, real.settings, PLATFORM).id
    run_queued_jobs(real, heartbeat)
    assert [status(one) for one in (parent, made, changed)] == ["succeeded"] * 3
    assert [event.data["resumed_step"] for event in events(made, "run_started")] == [4]
    rest = {key: values for key, values in metrics(parent).items() if key in REST}
    assert metrics(made) == rest and metrics(changed).keys() == rest.keys()
    ours, theirs = weights(made), weights(parent)
    assert ours == {path: sha256 for path, sha256 in theirs.items() if path.startswith("ppo/")} != {}
    assert weights(changed) != ours and job(made).summary == job(parent).summary


def passed(job_id: str, step: int) -> bool:
    """Whether PPO has come to `step`. On a busy machine the worker may store several steps at once."""
    found = job(job_id)
    return found.stage == "ppo" and (found.step or 0) >= step


def test_pause_and_resume_change_no_metric_and_no_weight(
    submit: Submit, real: WorkerContext, heartbeat: WorkerHeartbeat
) -> None:
    many = {"steps": 24, "save_every": 6, "eval_every": 12}  # the request arrives before the last step
    undisturbed, paused = submit(**many), submit(**many)
    with session_scope() as session:
        request(session, session.get_one(Job, paused), Request.PAUSE, PLATFORM)
    run_queued_jobs(real, heartbeat)
    with session_scope() as session:
        request(session, session.get_one(Job, paused), Request.RESUME, PLATFORM)

    def pause_in_ppo() -> None:
        eventually(lambda: passed(paused, 3))
        with session_scope() as session:
            request(session, session.get_one(Job, paused), Request.PAUSE, PLATFORM)

    with meanwhile(pause_in_ppo):
        run_queued_jobs(real, heartbeat)
    assert status(paused) == "paused" and "in stage ppo after step" in job(paused).status_reason
    with session_scope() as session:
        request(session, session.get_one(Job, paused), Request.RESUME, PLATFORM)
    run_queued_jobs(real, heartbeat)
    assert (status(undisturbed), status(paused), job(paused).attempt) == ("succeeded", "succeeded", 2)
    assert metrics(paused) == metrics(undisturbed)
    assert weights(paused) == weights(undisturbed) != {}
    assert job(paused).summary == job(undisturbed).summary
