"""Fixtures of worker tests. Leases are short, so that losing one takes a second or two."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import Thread

import pytest
from sqlalchemy import select

from core import child
from core.blobs import blob_store
from core.db import session_scope
from core.models import Job, JobEvent
from core.settings import Settings, get_settings
from tests.core.factories import make_job
from worker.health import WorkerHeartbeat
from worker.jobs.context import WorkerContext
from worker.jobs.launch.local import LocalLauncher
from worker.process import StopRequest

FOLDER = Path(__file__).parent


@pytest.fixture
def settings(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    quick = {"LEASE": "3", "HEARTBEAT": "0.2", "SWEEP": "0.2", "STOP": "5"}
    for name, seconds in quick.items():
        monkeypatch.setenv(f"PROXIMAL_{name}_SECONDS", seconds)
    get_settings.cache_clear()
    return get_settings()


@pytest.fixture
def queue(settings: Settings) -> Callable[[str], str]:
    """Queue a job with these actions of its fake trainer. Returns its id."""

    def queue(actions: str) -> str:
        with session_scope() as session:
            return make_job(session, name=actions).id

    return queue


@pytest.fixture
def context(settings: Settings) -> WorkerContext:
    fake = LocalLauncher([sys.executable, str(FOLDER / "fake_trainer.py")])
    return WorkerContext(settings, blob_store(settings), fake, StopRequest())


@pytest.fixture
def heartbeat(settings: Settings) -> Iterator[WorkerHeartbeat]:
    with WorkerHeartbeat(settings) as heartbeat:
        yield heartbeat


StartWorker = Callable[..., AbstractContextManager[child.Child]]


@pytest.fixture
def start_worker(settings: Settings, tmp_path: Path) -> StartWorker:
    """Start a worker as a process, with the fake trainer or another one."""

    @contextmanager
    def start(trainer: str = str(FOLDER / "fake_trainer.py"), *what: str) -> Iterator[child.Child]:
        with (tmp_path / "worker.log").open("ab") as log:
            worker = child.start([sys.executable, str(FOLDER / "worker_process.py"), trainer, *what], stdout=log)
        try:
            yield worker
        finally:
            worker.kill()

    return start


def job(job_id: str) -> Job:
    """The job as it is in the database now."""
    with session_scope() as session:
        return session.get_one(Job, job_id)


def status(job_id: str) -> str:
    return job(job_id).status


def events(job_id: str, type_: str | None = None) -> list[JobEvent]:
    query = select(JobEvent).where(JobEvent.job_id == job_id).order_by(JobEvent.seq)
    with session_scope() as session:
        return list(session.scalars(query if type_ is None else query.where(JobEvent.type == type_)))


@contextmanager
def meanwhile(action: Callable[[], object]) -> Iterator[None]:
    """Call a function in another thread."""
    thread = Thread(target=action)
    thread.start()
    try:
        yield
    finally:
        thread.join()
