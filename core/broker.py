"""The doorbell. A message carries no authority and no job: it tells a worker to look at the table."""

import logging
from functools import lru_cache

from celery import Celery  # type: ignore[import-untyped]
from kombu.exceptions import OperationalError
from redis import Redis
from redis.exceptions import RedisError

TASK = "run_next_job"
JOB_QUEUE, DATA_QUEUE = "celery", "data"
"""The doorbells of the workers that run jobs, and of those that work on data."""
DATA_TASK = "run_next_data_task"
_TASKS = {JOB_QUEUE: TASK, DATA_QUEUE: DATA_TASK}
log = logging.getLogger(__name__)


@lru_cache
def celery_app(redis_url: str) -> Celery:
    """The client's and the worker's Celery, with the same settings."""
    app = Celery("proximal", broker=redis_url)
    app.conf.update(
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        # Acknowledge early: the lease, not the broker, notices a lost worker.
        task_acks_late=False,
        worker_prefetch_multiplier=1,
        broker_connection_retry_on_startup=True,
        # No retries while publishing: a request waits for it, and the sweeper knocks again anyway.
        broker_transport_options={"socket_connect_timeout": 2, "socket_timeout": 2, "max_retries": 0},
        worker_hijack_root_logger=False,
    )
    return app


def knock(redis_url: str, queue: str = JOB_QUEUE) -> bool:
    """Wake a worker. To be called after the commit. A broker that is down costs a moment, not the job: the sweeper knocks again."""
    try:
        celery_app(redis_url).send_task(_TASKS[queue], queue=queue, retry=False)
    except OperationalError as error:
        log.warning("could not knock, the sweeper will: %s", error)
        return False
    return True


def knocks_waiting(redis_url: str, queue: str) -> int:
    """How many nobody has answered yet; 0 where the broker does not say."""
    try:
        with Redis.from_url(redis_url, socket_connect_timeout=2, socket_timeout=2) as broker:
            return int(broker.llen(queue))
    except RedisError as error:
        log.warning("could not look for knocks: %s", error)
        return 0
