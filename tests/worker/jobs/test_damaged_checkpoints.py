"""A job whose stored checkpoints are damaged resumes from the newest good one, or fails with the requests that help."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from core.blobs import LocalBlobs, blob_store
from core.db import session_scope
from core.jobs.actions.retry import resume_job, retry_job
from core.jobs.checkpoints.checkpoints import checkpoints_to_resume
from core.jobs.checkpoints.damage import mark
from core.jobs.lifecycle.actors import PLATFORM
from core.models import Checkpoint, Job
from core.settings import Settings
from tests.worker.conftest import events, job, status
from worker.health import WorkerHeartbeat
from worker.jobs import checkpoints
from worker.jobs.checkpoints import DamagedFolder
from worker.jobs.claim import run_queued_jobs
from worker.jobs.context import WorkerContext

Damage = Callable[[Path], object]
OTHER = "d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa"
"""`printf other | sha256sum`"""
FAILS = "begin steps diverge_the_first_time finish"


def flip(file: Path) -> None:
    file.write_bytes(bytes(255 - byte for byte in file.read_bytes()))


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def stored(job_id: str) -> list[Checkpoint]:
    """The checkpoints, newest first."""
    with session_scope() as session:
        query = select(Checkpoint).filter_by(job_id=job_id).order_by(Checkpoint.attempt.desc(), Checkpoint.step.desc())
        return list(session.scalars(query))


def blob(settings: Settings, checkpoint: Checkpoint, name: str = "weights") -> Path:
    return settings.blob_dir / checkpoint.blob_prefix / name


def retry(job_id: str, settings: Settings) -> None:
    with session_scope() as session:
        retry_job(session, session.get_one(Job, job_id), PLATFORM, settings)


def resumed_at(job_id: str) -> list[int | None]:
    return [event.data["resumed_step"] for event in events(job_id, "run_started")]


@pytest.fixture
def failed(queue: Callable[[str], str], context: WorkerContext, heartbeat: WorkerHeartbeat) -> str:
    """A job that failed after its last step, with the checkpoints of steps 4 and 5."""
    job_id = queue(FAILS)
    run_queued_jobs(context, heartbeat)
    assert status(job_id) == "failed" and [one.step for one in stored(job_id)] == [5, 4]
    return job_id


@pytest.mark.parametrize(
    ("damage", "name", "reason"),
    [
        (flip, "weights", "weights has the SHA-256 "),
        (cut, "weights", "weights has 16 bytes instead of 17"),
        (Path.unlink, "weights", "weights is missing"),
        (flip, "trainer_state/optimizer", "trainer_state/optimizer has the SHA-256 "),
    ],
)
def test_retry_with_damaged_newest_uses_the_one_before(  # fixtures
    failed: str,
    context: WorkerContext,
    heartbeat: WorkerHeartbeat,
    settings: Settings,
    damage: Damage,
    name: str,
    reason: str,
) -> None:
    newest, before = stored(failed)
    damage(blob(settings, newest, name))
    retry(failed, settings)
    run_queued_jobs(context, heartbeat)
    assert (status(failed), resumed_at(failed)) == ("succeeded", [None, 4])
    (event,) = events(failed, "checkpoint_damaged")
    assert event.data["checkpoint"] == newest.id and event.data["reason"].startswith(reason)
    assert event.data["remedy"] == "The stage ppo continues from step 4."
    assert (event.step, event.data["path"]) == (5, newest.path)
    rows = {one.id: one for one in stored(failed)}
    assert rows[before.id].damage is None
    assert newest.id not in rows  # the run saved step 5 again, in the same folder


def test_retry_with_all_damaged_asks_before_it_begins_anew(
    failed: str, context: WorkerContext, heartbeat: WorkerHeartbeat, settings: Settings
) -> None:
    newest, before = stored(failed)
    flip(blob(settings, newest))
    flip(blob(settings, before))
    retry(failed, settings)
    run_queued_jobs(context, heartbeat)
    error = job(failed).error
    assert error is not None and error["code"] == "no_good_checkpoint"
    assert error["message"].startswith("No good checkpoint of the stage ppo is left: all 2 stored checkpoints (")
    assert (
        f"`POST /v1/jobs/{failed}/retry`" in error["message"] and f"`POST /v1/jobs/{failed}/clone`" in error["message"]
    )
    assert [one.damage is not None for one in stored(failed)] == [True, True]
    retry(failed, settings)
    run_queued_jobs(context, heartbeat)
    assert (status(failed), resumed_at(failed)) == ("succeeded", [None, None])
    texts = [event.data["text"] for event in events(failed, "message")]
    assert "No good checkpoint is left of ppo, so the retry begins there anew." in texts


def test_resume_with_damaged_newest_uses_the_one_before(
    queue: Callable[[str], str], context: WorkerContext, heartbeat: WorkerHeartbeat, settings: Settings
) -> None:
    job_id = queue("begin steps pause_in_attempt_1 finish")
    run_queued_jobs(context, heartbeat)
    assert status(job_id) == "paused"
    flip(blob(settings, stored(job_id)[0]))
    with session_scope() as session:
        resume_job(session, session.get_one(Job, job_id), PLATFORM)
    run_queued_jobs(context, heartbeat)
    newest_good = resumed_at(job_id)[1]
    assert (status(job_id), newest_good) == ("succeeded", 4)
    assert len(events(job_id, "checkpoint_damaged")) == 1


def test_unreadable_disk_is_not_taken_for_damaged(
    failed: str,
    context: WorkerContext,
    heartbeat: WorkerHeartbeat,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The attempt is lost, as with every other failure of a machine, and the next one finds the good file."""
    retry(failed, settings)
    whole, tries = LocalBlobs.get_to, []

    def fail_once(*arguments: Any) -> None:
        tries.append(arguments)
        if len(tries) == 1:
            raise OSError(5, "Input/output error")
        whole(*arguments)

    monkeypatch.setattr(LocalBlobs, "get_to", fail_once)
    run_queued_jobs(context, heartbeat)
    assert (status(failed), resumed_at(failed)) == ("succeeded", [None, 5])
    assert job(failed).attempt == 3 and not events(failed, "checkpoint_damaged")


def test_damaged_one_is_pruned_once_newer_good_ones_exist(failed: str, settings: Settings) -> None:
    """It does not count as one of the checkpoints that are kept, and is shown until the run is past it."""
    with session_scope() as session:
        newest = stored(failed)[0]
        assert mark(session, newest.id, "weights is missing", "It is not used.") is not None
        assert [one.step for one in checkpoints_to_resume(session, failed)] == [4]


def test_mark_of_deleted_damaged_checkpoint_does_nothing(failed: str) -> None:
    """Retention may delete the checkpoint while it is verified."""
    with session_scope() as session:
        assert mark(session, "ckpt_gone", "weights is missing", "It is not used.") is None


@pytest.mark.parametrize(
    ("listed", "fault"),
    [
        ({"weights": "ab"}, r"weights has the SHA-256 d9298a10\w+ instead of ab"),
        ({"weights": OTHER, "state.json": "cd"}, "state.json is missing"),
        ({}, "weights is not in manifest.json"),
        (None, "manifest.json is not readable: "),
    ],
)
def test_upload_of_damaged_folder_is_refused(
    tmp_path: Path, settings: Settings, listed: dict[str, str] | None, fault: str
) -> None:
    """The trainer's manifest shows that the folder changed on the disk before it was copied."""
    folder = tmp_path / "ppo-000001"
    folder.mkdir()
    (folder / "weights").write_text("other")
    files = listed and [{"path": path, "bytes": 5, "sha256": sum_} for path, sum_ in listed.items()]
    (folder / checkpoints.MANIFEST).write_text(json.dumps({"files": {} if files == {} else files}))
    with pytest.raises(DamagedFolder, match=fault):
        checkpoints.upload(blob_store(settings), folder, "at")
