"""One attempt from claim to end, with a trainer that is a real process."""

import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import func, select, update

from core.blobs import Content, LocalBlobs
from core.db import session_scope
from core.jobs.lifecycle import attempts
from core.jobs.lifecycle.actors import PLATFORM
from core.jobs.lifecycle.state import Request, request
from core.models import Checkpoint, Job, JobAttempt, Worker
from core.models.jobs import JobStatus
from core.settings import Settings, get_settings
from tests.core.factories import make_job
from tests.processes import alive
from tests.waiting import eventually
from tests.worker.conftest import events, job, meanwhile, status
from trainer import errors
from trainer.errors import (
    DiskFull,
    InternalError,
    Paused,
    ProcessLost,
    RestartAfterHang,
    RunFolderInUse,
    Stopped,
    TrainerError,
)
from trainer.events import RunStopped
from worker.health import WorkerHeartbeat
from worker.jobs import context as attempt_context
from worker.jobs.claim import run_queued_jobs
from worker.jobs.context import WorkerContext
from worker.jobs.launch.interface import EngineEnd
from worker.jobs.settle import TrainerEnd, settle
from worker.jobs.workspace import Workspace, remove

Queue = Callable[[str], str]
TREE = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, TrainerError) and kind is not TrainerError
]


def cancel(job_id: str) -> None:
    with session_scope() as session:
        request(session, session.get_one(Job, job_id), Request.CANCEL, PLATFORM)


def test_a_run_from_claim_to_success(queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat) -> None:
    job_id = queue("begin steps finish")
    assert run_queued_jobs(context, heartbeat) == 1
    done = job(job_id)
    assert (done.status, done.summary, done.attempt) == ("succeeded", {"win_rate": 0.9}, 1)
    moves = [(event.data["to"], event.data["actor"]["kind"]) for event in events(job_id, "status_changed")]
    by_worker = [(state, "worker") for state in ("starting", "running", "succeeded")]
    assert moves == [("queued", "platform"), *by_worker]
    claimed = events(job_id, "status_changed")[1].data["actor"]
    assert claimed == {"kind": "worker", "id": heartbeat.worker_id, "name": None}
    assert [event.seq for event in events(job_id)] == list(range(1, done.last_seq + 1))
    assert [event.step for event in events(job_id, "metrics")] == [1, 2, 3, 4, 5]


def test_checkpoints_are_uploaded_and_pruned(queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat) -> None:
    job_id = queue("begin steps finish")
    run_queued_jobs(context, heartbeat)
    keys = [key for key in context.blobs.list(f"jobs/{job_id}") if key.endswith("weights")]
    assert [re.sub(r"/1-\d+/", "/1-…/", key) for key in keys] == [
        f"jobs/{job_id}/checkpoints/1-…/checkpoints/ppo-00000{step}/weights" for step in (4, 5)
    ]
    with context.blobs.open(keys[-1]) as file:
        assert file.read() == b"weights of step 5"


def test_the_folder_is_kept_on_failure_and_removed_on_success(
    queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat, settings: Settings
) -> None:
    good, bad = queue("begin finish"), queue("begin steps crash")
    run_queued_jobs(context, heartbeat)
    assert not (settings.data_dir / "runs" / good).exists()
    assert not (settings.data_dir / "runs" / bad / "attempt-1" / "checkpoints").exists()
    assert "an unforeseen bug" in (settings.data_dir / "runs" / bad / "attempt-1" / "trainer.log").read_text()


def test_the_trainer_gets_files_instead_of_ids_and_no_secrets(
    queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat, settings: Settings
) -> None:
    job_id = queue("show_environment show_preferences crash")
    run_queued_jobs(context, heartbeat)
    folder = settings.data_dir / "runs" / job_id / "attempt-1"
    assert json.loads((folder / "spec.json").read_text())["data"]["preferences"] == "data/preferences.jsonl"
    assert json.loads(events(job_id, "message")[0].data["text"])["label"] == "a"
    environment = (folder / "trainer.log").read_text()
    assert "PATH" in environment
    assert not any(name in environment for name in ("DATABASE_URL", "REDIS_URL", "PROXIMAL_"))


def test_attempt_best_checkpoint_replaced_meanwhile_is_stored(
    queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat
) -> None:
    job_id = queue("begin improve finish")
    run_queued_jobs(context, heartbeat)
    with session_scope() as session:
        (best,) = session.scalars(select(Checkpoint).filter_by(job_id=job_id))
    assert (best.step, best.best, status(job_id)) == (2, True, "succeeded")
    with context.blobs.open(f"{best.blob_prefix}/weights") as file:
        assert file.read() == b"weights of step 2"
    assert len([key for key in context.blobs.list(f"jobs/{job_id}") if key.endswith("weights")]) == 1


@pytest.mark.parametrize("kind", TREE)
def test_settle_maps_every_trainer_exit_status_to_its_code(queue: Queue, kind: type[TrainerError]) -> None:
    """The exit status counts, even if the trainer could not write its last event."""
    job_id = queue("")
    with session_scope() as session:
        claim = attempts.claim(session, "wrk_1")
        assert claim is not None
        settle(
            session, claim, TrainerEnd(kind.exit_status, None, None, None, None, "its last line", False, False, False)
        )
    expected = {
        Stopped: "",
        ProcessLost: "",
        RunFolderInUse: "",
        RestartAfterHang: "",
        Paused: "",
        DiskFull: "",
        InternalError: "trainer_crashed",
    }.get(kind, kind.code)
    assert (job(job_id).error or {}).get("code", "") == expected
    assert status(job_id) == {
        Stopped: "queued",
        ProcessLost: "queued",
        RunFolderInUse: "queued",
        RestartAfterHang: "queued",
        Paused: "paused",
        DiskFull: "paused",
    }.get(kind, "failed")


def test_a_job_that_hangs_again_and_again_fails_with_that_name(
    queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat
) -> None:
    job_id = queue("begin hang")
    run_queued_jobs(context, heartbeat)
    hung = job(job_id)
    assert (hung.status, hung.attempt) == ("failed", 5)
    assert hung.error == {
        "code": "hang",
        "message": "Process 0 has been in the phase reward. This was attempt 5 in a row without a new checkpoint.",
    }
    moves = [event.data["to"] for event in events(job_id, "status_changed")]
    assert moves == [*["queued", "starting", "running"] * 5, "failed"]


def test_a_job_that_hangs_once_resumes_from_its_checkpoint(
    queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat
) -> None:
    job_id = queue("begin hang_the_first_time steps finish")
    run_queued_jobs(context, heartbeat)
    assert (status(job_id), job(job_id).attempt) == ("succeeded", 2)
    assert [event.data["resumed_step"] for event in events(job_id, "run_started")] == [None, 1]


def test_trainer_errors_have_distinct_exit_statuses() -> None:
    assert len({kind.exit_status for kind in TREE}) == len(TREE) >= 12


def test_a_run_starts_from_a_checkpoint_of_another_job(
    queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat
) -> None:
    source = queue("begin steps finish")
    run_queued_jobs(context, heartbeat)
    with session_scope() as session:
        fourth, fifth = session.scalars(select(Checkpoint).order_by(Checkpoint.step))
        spec = {"model": fourth.id, "ppo": {"reference": {"path": fifth.id}}, "name": "begin show_models finish"}
        needing = make_job(session, session.get_one(Job, source).owner_id, **spec).id
    run_queued_jobs(context, heartbeat)
    assert (status(needing), job(needing).spec["model"]["path"]) == ("succeeded", fourth.id)
    assert [event.data["text"] for event in events(needing, "message")] == [
        f"models/{fourth.id}: ['manifest.json', 'weights'], weights of step 4",
        f"models/{fifth.id}: ['manifest.json', 'weights'], weights of step 5",
    ]


def test_attempt_with_missing_checkpoint_files_fails_the_job(
    queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat
) -> None:
    source = queue("begin steps finish")
    run_queued_jobs(context, heartbeat)
    with session_scope() as session:
        checkpoint = session.scalars(select(Checkpoint)).first()
        assert checkpoint is not None
        needing = make_job(session, session.get_one(Job, source).owner_id, model=checkpoint.id).id
    context.blobs.delete_prefix(checkpoint.blob_prefix)
    run_queued_jobs(context, heartbeat)
    assert (job(needing).error or {})["code"] == "checkpoint_damaged"


@pytest.mark.parametrize(
    ("actions", "code", "message"),
    [
        ("begin diverge", "diverged", "The loss is not finite at step 3."),
        ("begin crash", "trainer_crashed", "with status 1. Its last output:\n"),
        ("begin segfault", "trainer_crashed", "by signal SIGSEGV"),
        ("bad_spec", "invalid_spec", "error: nothing is right"),
        ("begin", "trainer_crashed", "with status 0"),
        ("nonsense", "invalid_events", "not valid"),
    ],
)
def test_attempt_trainer_error_fails_the_job_with_its_message(
    actions: str, code: str, message: str, queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat
) -> None:
    job_id = queue(actions)
    run_queued_jobs(context, heartbeat)
    failed = job(job_id)
    assert failed.status == "failed"
    assert failed.error is not None
    assert failed.error["code"] == code
    assert message in failed.error["message"]


def test_a_half_written_last_line_is_left_alone(
    queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat
) -> None:
    job_id = queue("begin finish half_a_line")
    run_queued_jobs(context, heartbeat)
    assert status(job_id) == "succeeded"


def test_cancel_stops_the_trainer(queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat) -> None:
    job_id = queue("begin wait")

    def ask() -> None:
        eventually(lambda: status(job_id) == "running")
        cancel(job_id)

    with meanwhile(ask):
        run_queued_jobs(context, heartbeat)
    assert status(job_id) == "cancelled"


def test_a_cancelled_trainer_that_does_not_listen_is_killed_soon(
    queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempt_context, "_CANCEL_SECONDS", 0.3)
    job_id = queue("begin deaf")

    def ask() -> None:
        eventually(lambda: events(job_id, "message"))
        cancel(job_id)
        eventually(lambda: status(job_id) == "cancelled")

    with meanwhile(ask):
        run_queued_jobs(patient(context), heartbeat)
    assert status(job_id) == "cancelled"


def patient(context: WorkerContext) -> WorkerContext:
    """A worker that gives its trainers unlimited time to save."""
    return replace(context, settings=context.settings.model_copy(update={"stop_seconds": 3600}))


def await_renewals(job_id: str) -> None:
    """Wait until the worker has renewed its lease twice, and so has read what was asked before."""

    def lease_end() -> datetime | None:
        with session_scope() as session:
            return session.scalars(select(Job.lease_expires_at).filter_by(id=job_id)).one()

    for _ in range(2):
        before = lease_end()
        eventually(lambda before=before: lease_end() != before)


@pytest.mark.parametrize(("wish", "end"), [("cancel", "cancelled"), ("stop", "queued")])
def test_attempt_stop_request_is_read_between_two_downloads(
    wish: str, end: str, queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat
) -> None:
    job_id = queue("begin wait")

    class Slow(LocalBlobs):
        def get_to(self, key: str, target: Path, expected: Content | None = None) -> None:
            super().get_to(key, target, expected)
            if wish == "stop":
                context.stop.ask()
                return
            cancel(job_id)
            await_renewals(job_id)

    run_queued_jobs(replace(context, blobs=Slow(context.settings.blob_dir)), heartbeat)
    assert (status(job_id), events(job_id, "run_started")) == (end, [])


def test_settle_stopped_run_with_late_cancel_is_cancelled(queue: Queue) -> None:
    """The cancel request arrives after the worker's last heartbeat."""
    job_id = queue("")
    with session_scope() as session:
        claim = attempts.claim(session, "wrk_1")
    assert claim is not None
    cancel(job_id)
    stopped = TrainerEnd(75, None, None, None, None, "", False, stop_requested=True, killed_by_worker=False)
    with session_scope() as session:
        assert settle(session, claim, stopped) is JobStatus.CANCELLED


def test_settle_pause_for_missing_rewards_states_the_reason(queue: Queue) -> None:
    job_id = queue("")
    with session_scope() as session:
        claim = attempts.claim(session, "wrk_1")
    assert claim is not None
    why = "Paused in stage ppo after step 3: Reward `remote` gave no value for 12 of its last 40 responses."
    stopped = RunStopped(reason="rewards", stage="ppo", step=3, message=why)
    with session_scope() as session:
        settle(session, claim, TrainerEnd(76, None, None, stopped, None, "", False, False, False))
    row = job(job_id)
    assert (row.status, row.error) == ("paused", None)
    assert (
        row.status_reason == f"The run is saved. {why} Mend the reward, then resume the job: the share is counted anew."
    )
    assert events(job_id, "status_changed")[-1].data["actor"]["kind"] == "worker"


@pytest.mark.parametrize(
    ("exit_status", "end", "expected", "waits_because"),
    [
        (-9, EngineEnd("Slurm lost the node n1.", waits=True), "queued", "Slurm lost the node n1."),
        (-9, EngineEnd("Job 7 was cancelled in Slurm.", by_a_person=True), "paused", None),
        (75, EngineEnd("Slurm asked job 7 to end."), "queued", None),
    ],
)
def test_end_by_the_engine_of_a_launcher_is_the_reason(
    exit_status: int, end: EngineEnd, expected: str, waits_because: str | None, queue: Queue
) -> None:
    job_id = queue("")
    with session_scope() as session:
        claim = attempts.claim(session, "wrk_1")
    assert claim is not None
    with session_scope() as session:
        settle(session, claim, TrainerEnd(exit_status, None, None, None, None, "", False, False, False, engine_end=end))
    row = job(job_id)
    assert (row.status, row.status_reason, row.waits_because) == (expected, end.reason, waits_because)


def test_end_of_an_attempt_keeps_folders_of_later_ones(tmp_path: Path) -> None:
    """A user may retry a cancelled job before its worker has removed the folder."""
    for number in (1, 2, 3):
        (tmp_path / "job_1" / f"attempt-{number}").mkdir(parents=True)
    remove(Workspace(tmp_path / "job_1" / "attempt-2"), keep_log=False)
    assert [folder.name for folder in (tmp_path / "job_1").iterdir()] == ["attempt-3"]


def test_a_killed_trainer_is_tried_again_from_its_checkpoint(
    queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat
) -> None:
    job_id = queue("begin die_the_first_time steps finish")
    run_queued_jobs(context, heartbeat)
    assert (status(job_id), job(job_id).attempt) == ("succeeded", 2)
    second = events(job_id, "run_started")[1].data
    assert (second["resumed_step"], second["threads"], second["dtype"]) == (1, 7, "bfloat16")
    asked = [event.data["versions"]["asked for"] for event in events(job_id, "run_started")]
    assert asked == ["auto", "bfloat16"]  # another machine might choose another type for "auto"
    assert [event.step for event in events(job_id, "metrics")] == [2, 3, 4, 5]


def test_attempt_trainer_killed_every_time_fails_the_job(
    queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat
) -> None:
    job_id = queue("begin die")
    run_queued_jobs(context, heartbeat)
    failed = job(job_id)
    assert (failed.status, failed.attempt) == ("failed", context.settings.max_attempts)
    assert failed.error is not None
    assert failed.error["code"] == "too_many_attempts"
    assert "The kernel reports no lack of memory" in failed.error["message"]


def test_attempt_ends_processes_that_the_trainer_started(
    queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat
) -> None:
    job_id = queue("leave_a_child begin finish")
    run_queued_jobs(context, heartbeat)
    pid = int(events(job_id, "message")[0].data["text"].split()[1])
    eventually(lambda: not alive(pid))


def test_dataset_whose_rows_are_missing_fails_as_damaged(
    queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat
) -> None:
    job_id = queue("begin finish")
    for key in context.blobs.list("contents"):
        context.blobs.delete(key)
    run_queued_jobs(context, heartbeat)
    error = job(job_id).error
    assert error is not None
    assert error["code"] == "dataset_damaged" and "Import the same file again" in error["message"]


@pytest.fixture
def few_tries(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("PROXIMAL_MAX_ATTEMPTS", "2")
    monkeypatch.setenv("PROXIMAL_LEASE_SECONDS", "1")
    get_settings.cache_clear()
    return get_settings()


def test_attempt_error_names_a_store_that_refuses_files(
    queue: Queue, few_tries: Settings, context: WorkerContext, heartbeat: WorkerHeartbeat
) -> None:
    job_id = queue("begin steps finish")
    (few_tries.blob_dir / "jobs").touch()  # a file in place of a folder
    run_queued_jobs(context, heartbeat)
    failed = job(job_id)
    assert (failed.status, failed.attempt) == ("failed", 2)
    assert failed.error is not None
    assert failed.error["code"] == "too_many_attempts"
    assert "could not store or fetch files: [Errno" in failed.error["message"]


def test_a_store_that_is_back_at_the_next_try_costs_nothing_more(
    queue: Queue, few_tries: Settings, context: WorkerContext, heartbeat: WorkerHeartbeat
) -> None:
    job_id = queue("begin finish")
    datasets, aside = few_tries.blob_dir / "contents", few_tries.blob_dir / "aside"
    datasets.rename(aside)
    datasets.touch()

    def come_back() -> None:
        eventually(lambda: "could not store or fetch" in job(job_id).status_reason)
        datasets.unlink()
        aside.rename(datasets)

    with meanwhile(come_back):
        run_queued_jobs(context, heartbeat)
    assert (status(job_id), job(job_id).attempt) == ("succeeded", 2)


def test_a_data_folder_that_cannot_be_written_is_named(
    queue: Queue, few_tries: Settings, context: WorkerContext, heartbeat: WorkerHeartbeat
) -> None:
    job_id = queue("begin finish")
    (few_tries.data_dir / "runs").touch()
    run_queued_jobs(context, heartbeat)
    assert "could not store or fetch files: [Errno" in job(job_id).status_reason


def test_worker_is_listed_while_it_runs(settings: Settings) -> None:
    with WorkerHeartbeat(settings) as heartbeat, session_scope() as session:
        assert session.get_one(Worker, heartbeat.worker_id).job_id is None
    with session_scope() as session:
        assert session.get(Worker, heartbeat.worker_id) is None


def test_a_run_at_its_time_limit_is_saved_and_fails(
    queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker's clock jumps by the limit once the trainer waits, however long that took."""
    job_id = queue("begin wait")
    limited = replace(patient(context), settings=patient(context).settings.model_copy(update={"max_run_hours": 2}))
    jump = [0.0]
    clock = SimpleNamespace(
        monotonic=lambda: time.monotonic() + jump[0], sleep=time.sleep, thread_time=time.thread_time
    )
    monkeypatch.setattr("worker.jobs.attempt.time", clock)

    def pass_the_limit() -> None:
        eventually(lambda: events(job_id, "stage_started"))
        jump[0] = 2 * 3600

    with meanwhile(pass_the_limit):
        assert run_queued_jobs(limited, heartbeat) == 1
    ended = job(job_id)
    assert ended.status == "failed" and ended.error is not None
    assert ended.error["code"] == "time_limit" and "PROXIMAL_MAX_RUN_HOURS" in ended.error["message"]
    with session_scope() as session:
        saved = session.scalars(select(Checkpoint.step).where(Checkpoint.job_id == job_id)).all()
    assert list(saved) == [2]


def test_run_time_counts_earlier_attempts(queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat) -> None:
    job_id = queue("begin steps finish")
    with session_scope() as session:
        first = attempts.claim(session, "wrk_1")
        assert first is not None
        session.execute(update(JobAttempt).values(started_at=func.now() - timedelta(hours=3)))
        attempts.release(session, job_id, 1, "given back")
    limited = replace(context, settings=context.settings.model_copy(update={"max_run_hours": 2}))
    assert run_queued_jobs(limited, heartbeat) == 1
    ended = job(job_id)
    assert ended.status == "failed" and ended.error is not None and ended.error["code"] == "time_limit"
    assert not events(job_id, "metrics")  # the trainer was not started
