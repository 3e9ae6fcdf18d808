"""A run that a health rule paused stays paused until a user resumes it."""

from collections.abc import Callable

from tests.worker.conftest import events, job
from worker.health import WorkerHeartbeat
from worker.jobs.attempt import WorkerContext
from worker.jobs.claim import run_queued_jobs

Queue = Callable[[str], str]


def test_paused_run_is_not_retried_and_states_its_reason(
    queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat
) -> None:
    job_id = queue("begin steps pause_for_health")
    assert run_queued_jobs(context, heartbeat) == 1  # and none after it
    done = job(job_id)
    assert (done.status, done.attempt, done.error["code"]) == ("failed", 1, "paused_by_health")
    assert done.error["message"] == (
        "A health rule paused the run, and it is saved. Paused in stage ppo after step 3: the KL is 60. "
        "Raise `ppo.kl.coef`. To continue, submit a job that names its last checkpoint as `model.path`, with the setting changed."
    )
    assert [event.data["reason"] for event in events(job_id, "run_stopped")] == ["health"]
