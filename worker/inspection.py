"""`python -m worker inspect`: whether this machine can be a worker of the platform, before it takes a job."""

import importlib.util
import platform
import shutil
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Literal

import redis
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from core.blobs import blob_store
from core.db import at_head, engine_for, session_scope
from core.jobs.queue.workers import online_workers
from core.kubernetes import namespace as kubernetes
from core.settings import Settings
from core.slurm import cluster as slurm
from core.storage_probe import why_not_the_store
from worker.capacity import cores, list_gpus, name_of

State = Literal["ok", "warning", "failed"]
_PACKAGES = ("torch", "transformers", "accelerate", "peft")
_LEAST_FREE_GIB, _COMFORTABLE_GIB = 5.0, 20.0
_MOST_SKEW, _NOTABLE_SKEW = 60.0, 2.0
_GIB = 1024**3


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    check: str
    state: State
    detail: str


def inspect(settings: Settings, probe: str | None, say: Callable[[str], None] = print) -> int:
    """Print a line for each check. Returns the exit status: 1 if one of them failed.

    `probe`: SHA-256 of the platform's storage probe; None: it is not compared.
    """
    found = []
    for finding in findings(settings, probe):
        say(f"{finding.state:<8} {finding.check:<9} {finding.detail}")
        found.append(finding)
    return int(any(one.state == "failed" for one in found))


def findings(settings: Settings, probe: str | None = None) -> Iterator[Finding]:
    """The checks, one after the other. Those that need the database are left out once it does not respond."""
    yield _python()
    database = _database(settings)
    yield database
    if database.state == "ok":
        yield _clock(settings)
        yield _name(settings)
    yield _redis(settings)
    yield _storage(settings, probe)
    yield _disk(settings)
    yield _LAUNCHERS[settings.launcher](settings)


def _python() -> Finding:
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    found = f"Python {platform.python_version()}, platform {version('proximal-rlhf')}"
    if missing:
        return Finding("packages", "failed", f"{found}; a worker needs {', '.join(missing)}: run `make setup`")
    return Finding("packages", "ok", found)


def _database(settings: Settings) -> Finding:
    try:
        if not at_head(settings.database_url):
            remedy = "run `python -m core migrate` on the platform, or give this machine the platform's version"
            return Finding("database", "failed", f"it does not have the schema of this version: {remedy}")
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        remedy = "set PROXIMAL_JOIN_DATABASE_URL of the API to the address that other machines use"
        return Finding("database", "failed", f"{_where(settings)} does not respond ({reason}); {remedy}")
    return Finding("database", "ok", f"{_where(settings)} responds, with the schema of this version")


def _where(settings: Settings) -> str:
    url = engine_for(settings.database_url).url
    return f"{url.host or 'a socket of this machine'}{f':{url.port}' if url.port else ''}"


def _clock(settings: Settings) -> Finding:
    """The clock beside that of the database, whose answer took a moment: half of it is subtracted."""
    with engine_for(settings.database_url).connect() as connection:
        connection.scalar(text("SELECT 1"))
        before = time.time()
        theirs = connection.scalar(text("SELECT extract(epoch FROM clock_timestamp())::float8"))
        skew = (before + time.time()) / 2 - float(theirs or 0)
    return clock_finding(skew)


def clock_finding(skew: float) -> Finding:
    """The judgement of a clock that is `skew` seconds ahead of the database's."""
    found = f"{abs(skew):.1f} s {'ahead of' if skew > 0 else 'behind'} the database's"
    if abs(skew) > _NOTABLE_SKEW:
        state: State = "failed" if abs(skew) > _MOST_SKEW else "warning"
        return Finding("clock", state, f"{found}: synchronise both, for example with NTP")
    return Finding("clock", "ok", found)


def _name(settings: Settings) -> Finding:
    """The name, which workers whose trainers run in a cluster may share on one machine."""
    name = name_of(settings)
    may_share = set() if settings.launcher == "local" else {socket.gethostname()}
    with session_scope() as session:
        hosts = [worker.hostname for worker in online_workers(session) if worker.name == name]
    taken = [host for host in hosts if host not in may_share]
    if taken:
        detail = f"a worker {name!r} is online on {taken[0]}: give this one another name (PROXIMAL_WORKER_NAME)"
        return Finding("name", "failed", detail)
    return Finding("name", "ok", name)


def _redis(settings: Settings) -> Finding:
    try:
        with redis.Redis.from_url(settings.redis_url, socket_connect_timeout=5, socket_timeout=5) as client:
            client.ping()
    except redis.RedisError as error:
        remedy = "set PROXIMAL_JOIN_REDIS_URL of the API to the address that other machines use"
        return Finding("redis", "failed", f"it does not respond ({error}); {remedy}")
    return Finding("redis", "ok", "it responds")


def _storage(settings: Settings, probe: str | None) -> Finding:
    where = settings.blob_url or str(settings.blob_dir)
    fault = why_not_the_store(blob_store(settings), probe)
    if fault is None:
        return Finding("storage", "ok", f"{where} is readable and writable")
    remedy = "" if settings.blob_bucket else ". Mount it here, or set PROXIMAL_JOIN_BLOB_URL of the API"
    return Finding("storage", "failed", f"{where}: {fault.rstrip('.')}{remedy}")


def _disk(settings: Settings) -> Finding:
    folder = next(one for one in (settings.data_dir, *settings.data_dir.parents) if one.exists())
    free = shutil.disk_usage(folder).free / _GIB
    found = f"{free:.0f} GiB free for {settings.data_dir}"
    if free < _LEAST_FREE_GIB:
        return Finding("disk", "failed", f"{found}: a run needs at least {_LEAST_FREE_GIB:.0f}")
    if free < _COMFORTABLE_GIB:
        return Finding("disk", "warning", f"{found}: checkpoints of a large model will not fit")
    return Finding("disk", "ok", found)


def _hardware(settings: Settings) -> Finding:
    gpus = Counter(f"{gpu.model} ({gpu.memory_gib} GiB)" for gpu in list_gpus(settings.cuda_visible_devices))
    shown = ", ".join(f"{count} × {model}" for model, count in gpus.items()) or "no GPU"
    return Finding("hardware", "ok" if gpus else "warning", f"{shown}, {cores()} cores")


def _slurm(settings: Settings) -> Finding:
    cluster, problem = slurm.checked(settings)
    name = cluster.name if cluster else ""
    return Finding("slurm", "failed" if problem else "ok", problem or f"this machine may submit to the cluster {name}")


def _kubernetes(settings: Settings) -> Finding:
    namespace, problem = kubernetes.checked(settings)
    name = namespace.name if namespace else ""
    found = f"this machine may create Jobs in the namespace {name}"
    return Finding("kubernetes", "failed" if problem else "ok", problem or found)


_LAUNCHERS = {"local": _hardware, "slurm": _slurm, "kubernetes": _kubernetes}
