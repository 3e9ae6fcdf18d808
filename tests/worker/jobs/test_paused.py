"""Paused jobs: on request, by a health rule, and with a worker or a trainer that is killed meanwhile."""

import os
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from core.blobs import Content, LocalBlobs
from core.db import session_scope
from core.jobs.lifecycle import attempts
from core.jobs.lifecycle.actors import Actor
from core.jobs.lifecycle.state import Request, request
from core.jobs.submission.submit import Queueing
from core.models import Job
from core.scheduling.policy import Priority
from core.settings import Settings
from tests.core.factories import make_job, make_key
from tests.processes import alive
from tests.waiting import eventually
from tests.worker.conftest import StartWorker, events, job, meanwhile, status
from worker.health import WorkerHeartbeat
from worker.jobs import context as attempt_context
from worker.jobs.claim import run_queued_jobs
from worker.jobs.context import WorkerContext
from worker.sweeper import sweep_jobs

Queue = Callable[[str], str]
KIM = Actor("api_key", "key_1", "Kim")


def ask(job_id: str, wanted: Request, reason: str = "") -> None:
    with session_scope() as session:
        request(session, session.get_one(Job, job_id), wanted, KIM, reason)


def pausing(job_id: str, once: Callable[[], bool]) -> AbstractContextManager[None]:
    """Request the pause in another thread, once the condition holds."""

    def pause() -> None:
        eventually(once)
        ask(job_id, Request.PAUSE)

    return meanwhile(pause)


def transitions(job_id: str) -> list[tuple[str, str]]:
    """The state after each transition, and the kind of its actor."""
    return [(event.data["to"], event.data["actor"]["kind"]) for event in events(job_id, "status_changed")]


def test_pause_saves_frees_the_worker_and_resume_continues(
    queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat, settings: Settings
) -> None:
    job_id = queue("begin wait_the_first_time steps finish")
    with pausing(job_id, lambda: status(job_id) == "running"):
        assert run_queued_jobs(context, heartbeat) == 1
    paused = job(job_id)
    assert (paused.status, paused.worker_id, paused.lease_expires_at) == ("paused", None, None)
    assert paused.status_reason == "Paused and saved in stage ppo after step 2."
    assert transitions(job_id)[-2:] == [("pausing", "api_key"), ("paused", "worker")]
    assert not (settings.data_dir / "runs" / job_id / "attempt-1" / "checkpoints").exists()
    assert run_queued_jobs(context, heartbeat) == 0
    ask(job_id, Request.RESUME, "The machine is free again.")
    assert job(job_id).status_reason == "The machine is free again."
    assert run_queued_jobs(context, heartbeat) == 1
    assert (status(job_id), job(job_id).attempt) == ("succeeded", 2)
    assert [event.step for event in events(job_id, "metrics")] == [3, 4, 5]


def test_preempted_job_is_saved_and_continues_by_itself(
    context: WorkerContext, heartbeat: WorkerHeartbeat, settings: Settings
) -> None:
    """The sweeper pauses the running job for a more urgent one. The worker runs that one, then the first one again."""
    with session_scope() as session:
        owner = make_key(session).owner_id
        low = make_job(
            session, owner, Queueing(Priority.LOW, preemptible=True), name="begin wait_the_first_time steps finish"
        ).id
    ids = [low]

    def submit_urgent_job() -> None:
        eventually(lambda: status(low) == "running")
        with session_scope() as session:
            ids.append(make_job(session, owner, name="begin steps finish").id)
        eventually(preempted)

    def preempted() -> bool:
        sweep_jobs(settings.model_copy(update={"preempt_after_minutes": 0}))
        return status(low) != "running"

    with meanwhile(submit_urgent_job):
        assert run_queued_jobs(context, heartbeat) == 3
    first, urgent = (job(job_id) for job_id in ids)
    assert (first.status, first.attempt, urgent.status) == ("succeeded", 2, "succeeded")
    assert urgent.finished_at is not None and first.finished_at is not None and urgent.finished_at < first.finished_at
    changes = [event.data for event in events(low, "status_changed")]
    assert [(one["to"], one["actor"]["kind"]) for one in changes][3:5] == [
        ("pausing", "platform"),
        ("queued", "worker"),
    ]
    assert [one["reason"] for one in changes][3:5] == [
        "Preempted: a job of a higher priority needs this worker. The run is saved and returns to the queue.",
        "Preempted and saved in stage ppo after step 2. The job continues when a worker is free.",
    ]
    assert [event.step for event in events(low, "metrics")] == [3, 4, 5]


def test_pause_during_trainer_start_pauses_without_checkpoint(
    queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat
) -> None:
    job_id = queue("not_yet_listening")
    with pausing(job_id, lambda: bool(events(job_id, "message"))):
        run_queued_jobs(context, heartbeat)
    assert transitions(job_id) == [
        ("queued", "platform"),
        ("starting", "worker"),
        ("pausing", "api_key"),
        ("paused", "worker"),
    ]
    assert "before it had saved" in job(job_id).status_reason


def test_pause_between_downloads_starts_no_trainer(
    queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat
) -> None:
    job_id = queue("begin wait")

    class Pausing(LocalBlobs):
        def get_to(self, key: str, target: Path, expected: Content | None = None) -> None:
            super().get_to(key, target, expected)
            ask(job_id, Request.PAUSE)
            for _ in range(2):  # the second renewal began after the request
                before = job(job_id).lease_expires_at
                eventually(lambda before=before: job(job_id).lease_expires_at != before)  # type: ignore[misc]

    run_queued_jobs(replace(context, blobs=Pausing(context.settings.blob_dir)), heartbeat)
    assert (status(job_id), events(job_id, "run_started")) == ("paused", [])


def test_pause_of_a_run_that_ends_meanwhile_is_its_success(
    queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat
) -> None:
    job_id = queue("begin end_when_asked finish")
    with pausing(job_id, lambda: status(job_id) == "running"):
        run_queued_jobs(context, heartbeat)
    assert [state for state, _ in transitions(job_id)][-2:] == ["pausing", "succeeded"]


def test_cancel_during_pause_ends_the_job(
    queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempt_context, "_CANCEL_SECONDS", 0.3)
    job_id = queue("begin deaf")

    def pause_then_cancel() -> None:
        eventually(lambda: bool(events(job_id, "message")))
        ask(job_id, Request.PAUSE)
        ask(job_id, Request.CANCEL)

    with meanwhile(pause_then_cancel):
        run_queued_jobs(context, heartbeat)
    assert [state for state, _ in transitions(job_id)][-3:] == ["pausing", "cancelling", "cancelled"]


def test_pause_of_trainer_that_cannot_save_kills_it(
    queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat
) -> None:
    job_id = queue("begin deaf")
    hasty = replace(context, settings=context.settings.model_copy(update={"stop_seconds": 0.3}))
    with pausing(job_id, lambda: bool(events(job_id, "message"))):
        run_queued_jobs(hasty, heartbeat)
    assert status(job_id) == "paused" and "resumes from its last checkpoint" in job(job_id).status_reason


def test_trainer_killed_during_pause_leaves_the_job_paused(
    queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat
) -> None:
    job_id = queue("begin die_when_asked")
    with pausing(job_id, lambda: status(job_id) == "running"):
        run_queued_jobs(context, heartbeat)
    assert status(job_id) == "paused" and "SIGKILL" in job(job_id).status_reason


def test_worker_killed_during_pause_leaves_the_job_paused(
    queue: Queue, start_worker: StartWorker, settings: Settings, tmp_path: Path
) -> None:
    job_id = queue("begin deaf_the_first_time steps finish")
    with start_worker() as worker:
        eventually(lambda: bool(events(job_id, "message")))
        ask(job_id, Request.PAUSE)
        eventually(lambda: "asking the trainer" in (tmp_path / "worker.log").read_text())
        os.kill(worker.pid, signal.SIGKILL)
        eventually(lambda: not alive(worker.pid))

    def swept() -> bool:
        sweep_jobs(settings)
        return status(job_id) == "paused"

    eventually(swept)
    assert transitions(job_id)[-1] == ("paused", "platform")
    ask(job_id, Request.RESUME)
    with start_worker():
        eventually(lambda: status(job_id) == "succeeded")


def test_resume_forgives_the_attempts_lost_before(queue: Queue, settings: Settings) -> None:
    job_id = queue("")
    for _ in range(settings.max_attempts - 1):
        with session_scope() as session:
            claim = attempts.claim(session, "wrk_1")
            assert claim is not None
            attempts.lose(session, job_id, claim.attempt, "The worker was lost.")
    ask(job_id, Request.PAUSE)
    ask(job_id, Request.RESUME)
    with session_scope() as session:
        claim = attempts.claim(session, "wrk_1")
        assert claim is not None
        assert attempts.lose(session, job_id, claim.attempt, "The worker was lost.") == "queued"


def test_run_paused_by_health_waits_and_states_its_reason(
    queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat
) -> None:
    job_id = queue("begin pause_for_health_once steps finish")
    assert run_queued_jobs(context, heartbeat) == 1  # and none after it
    paused = job(job_id)
    assert (paused.status, paused.attempt, paused.error) == ("paused", 1, None)
    assert paused.status_reason == (
        "A health rule paused the run, and it is saved. Paused in stage ppo after step 3: the KL is 60. "
        "Raise `ppo.kl.coef`. Resume the job to go on as it is: the rule does not fire again for the same finding. "
        "To change the setting, branch a new job from the last checkpoint."
    )
    assert [event.data["reason"] for event in events(job_id, "run_stopped")] == ["health"]
    last = events(job_id, "status_changed")[-1]
    assert last.data["actor"] == {"kind": "health_rule", "id": "kl_blow_up", "name": None}
    ask(job_id, Request.RESUME)
    run_queued_jobs(context, heartbeat)
    assert status(job_id) == "succeeded"
    assert events(job_id, "run_started")[1].data["resumed_step"] == 3


def test_health_pause_of_a_cancelled_job_cancels_it(queue: Queue) -> None:
    job_id = queue("")
    with session_scope() as session:
        claim = attempts.claim(session, "wrk_1")
        assert claim is not None
    ask(job_id, Request.CANCEL)
    with session_scope() as session:
        assert attempts.pause(session, job_id, claim.attempt, "The KL is 60.", KIM) == "cancelled"
