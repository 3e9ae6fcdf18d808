"""Messages for the workers that can run a job: each worker class has a Celery queue of its own."""

from collections import Counter

from sqlalchemy.orm import Session

from core.broker import job_queue, waiting_wakeups, wake_worker
from core.db import after_commit
from core.jobs.queue.workers import online_workers
from core.models import Job
from core.models.workers import WorkerState
from core.scheduling.matching import Capacity, Requirement


def wake_for(session: Session, job: Job, redis_url: str) -> None:
    """After the commit, wake a worker of a class that can run the job, an idle one if possible.

    No message is sent without such a worker: a worker looks for jobs when it starts.
    """
    need = Requirement.from_stored(job.requirement)
    fitting = [
        worker
        for worker in online_workers(session)
        if worker.state == WorkerState.ONLINE
        and not worker.problem
        and Capacity.from_stored(worker.capacity).fits(need)
    ]
    # The smallest class first, which leaves larger workers to larger jobs.
    fitting.sort(key=lambda worker: (worker.job_id is not None, worker.capacity.get("gpus", 0), worker.worker_class))
    if fitting:
        queue = job_queue(fitting[0].worker_class)
        after_commit(session, lambda: wake_worker(redis_url, queue))


def wake_idle_workers(session: Session, redis_url: str) -> None:
    """After the commit, send one message for each idle worker, unless its class has unread messages."""
    idle = Counter(
        job_queue(worker.worker_class)
        for worker in online_workers(session)
        if worker.job_id is None and worker.state == WorkerState.ONLINE and not worker.problem
    )

    def send() -> None:
        for queue, number in idle.items():
            for _ in range(number - waiting_wakeups(redis_url, queue)):
                wake_worker(redis_url, queue)

    after_commit(session, send)
