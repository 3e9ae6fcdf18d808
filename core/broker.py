"""Messages that wake workers. A message carries no data: the worker looks for work in the tables."""

import logging
from functools import lru_cache

from celery import Celery  # type: ignore[import-untyped]
from kombu.exceptions import OperationalError
from redis import Redis
from redis.exceptions import RedisError

JOB_QUEUE, DATA_QUEUE = "celery", "data"
"""The queues of the workers that run jobs, and of those that run data tasks."""
INTERACTIVE_QUEUE, IMPORT_QUEUE = "data-interactive", "data-imports"
"""The queues of the slots of data workers that run interactive tasks alone, and no reports."""
_JOB_TASK = "run_next_job"
_DATA_TASK = "run_next_data_task"
TASK_NAMES = {JOB_QUEUE: _JOB_TASK} | dict.fromkeys((DATA_QUEUE, INTERACTIVE_QUEUE, IMPORT_QUEUE), _DATA_TASK)
"""Name of the Celery task of each queue."""
log = logging.getLogger(__name__)


def job_queue(worker_class: str) -> str:
    """The queue of a class of workers that run jobs. They also read `JOB_QUEUE`, whose messages name no class."""
    return f"jobs.{worker_class}" if worker_class else JOB_QUEUE


def task_name(queue: str) -> str:
    """The name of the Celery task of a queue."""
    return TASK_NAMES.get(queue, _JOB_TASK)


@lru_cache
def celery_app(redis_url: str) -> Celery:
    """The Celery application, with the same settings for the sender and the worker."""
    app = Celery("proximal", broker=redis_url)
    app.conf.update(
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        # Acknowledged early: the lease, not the broker, detects a lost worker.
        task_acks_late=False,
        worker_prefetch_multiplier=1,
        broker_connection_retry_on_startup=True,
        # No retries: a request waits for the publication, and the sweeper sends lost messages again.
        broker_transport_options={"socket_connect_timeout": 2, "socket_timeout": 2, "max_retries": 0},
        worker_hijack_root_logger=False,
    )
    return app


def wake_worker(redis_url: str, queue: str = JOB_QUEUE) -> bool:
    """Send a message; call this after the commit. Returns False if the broker does not answer.

    Then nothing is lost: the sweeper sends the message again.
    """
    try:
        celery_app(redis_url).send_task(task_name(queue), queue=queue, retry=False)
    except OperationalError as error:
        log.warning("could not wake a worker, the sweeper will try again: %s", error)
        return False
    return True


def waiting_wakeups(redis_url: str, queue: str) -> int:
    """The number of messages that no worker has received yet; 0 if the broker does not answer."""
    try:
        with Redis.from_url(redis_url, socket_connect_timeout=2, socket_timeout=2) as broker:
            return int(broker.llen(queue))
    except RedisError as error:
        log.warning("could not count the waiting messages: %s", error)
        return 0
