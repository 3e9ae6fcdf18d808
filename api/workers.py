"""The list of workers, the tokens with which new ones join, and the requests by which an operator keeps jobs from them."""

from datetime import timedelta
from importlib.metadata import version
from typing import Annotated, Literal

from fastapi import APIRouter, Request
from pydantic import ConfigDict, Field
from sqlalchemy import select

from api.acts import client_address, of_caller
from api.deps import (
    BearerDep,
    BlobsDep,
    PrincipalDep,
    SessionDep,
    SettingsDep,
    tries_of,
)
from api.problems import BadRequest, documented
from api.schema import ListOf, Schema, Timestamp
from core import models
from core.access import keys, worker_tokens
from core.access.keys import Principal
from core.broker import job_queue, wake_worker
from core.db import after_commit
from core.errors import (
    CrossOrigin,
    InvalidRequest,
    NotAllowed,
    NotFound,
    NotOperator,
    NotSignedIn,
    TooLarge,
    TooManyTries,
    WrongMediaType,
    WrongVersion,
)
from core.jobs.queue.workers import listed_workers, set_worker_state
from core.models.workers import WorkerState
from core.settings import environment_of_a_new_worker
from core.storage_probe import expected_probe


class WorkerGpu(Schema):
    """Model and memory, by the driver of the machine."""

    model: str
    """Name of the model, as its driver reports it."""
    memory_gib: int
    """Its memory in GiB, rounded."""


class WorkerNodes(Schema):
    """Nodes of a partition that are equal and in one state."""

    state: str
    """Slurm's word, such as `idle` or `down`. It ends with `*` if the nodes do not respond."""
    count: int
    """Number of nodes."""
    nodes: str
    """Their names, as Slurm abbreviates them."""
    cores: int
    """Cores of each node."""
    memory_mib: int
    """Memory of each node in MiB."""
    gpus: int
    """GPUs of each node."""
    reason: str
    """Why they take no jobs, in the words of an operator or of Slurm; empty if they take some."""


class WorkerPartition(Schema):
    """A partition of a cluster."""

    name: str
    """Its name."""
    default: bool
    """Whether it is the cluster's default."""
    up: bool
    """Whether it takes jobs."""
    time_limit: str
    """Longest time of a job, as Slurm writes it."""
    groups: list[WorkerNodes]
    """Its nodes."""


class WorkerCluster(Schema):
    """The cluster that a worker submits to."""

    engine: Literal["slurm", "kubernetes"]
    """The cluster's software."""
    name: str
    """Name of the cluster; with Kubernetes, that of the namespace."""
    partitions: list[WorkerPartition]
    """Its partitions. Kubernetes has none."""


class Worker(Schema):
    """A worker that is online, or one that has stopped and stays cordoned."""

    object: Literal["worker"] = "worker"
    """Always `worker`."""
    id: str
    """Begins with `wrk_`. Each process of a worker has a new one."""
    name: str
    """Its name, from `PROXIMAL_WORKER_NAME`, which stays when the process restarts. Empty: a worker of an older release, or one whose machine you may not know."""
    hostname: str
    """The machine it runs on. Empty unless your key is an operator's, or the worker runs a job of your project."""
    state: WorkerState
    """`cordoned`: it takes no new job. `draining`: it also gives back the job that it runs."""
    offline: bool
    """Whether it has stopped. It is listed because it stays cordoned or drained when it starts again. `uncordon` ends that."""
    job_id: str | None
    """The job that it runs; null if it is idle, or if the job belongs to another key."""
    busy: bool
    """Whether it runs a job, also of another key."""
    worker_class: str
    """Workers of one class can run the same jobs. Empty: a worker of an older release."""
    gpus: list[WorkerGpu]
    """The GPUs that its jobs use."""
    cores: int
    """Cores that it may use; 0: unknown."""
    memory_bytes: int
    """Memory of its machine; 0: unknown."""
    labels: list[str]
    """Its labels, from `PROXIMAL_LABELS`."""
    launcher: Literal["local", "slurm", "kubernetes"]
    """Where it runs its jobs: on its machine, as batch jobs of Slurm, or as Jobs of Kubernetes."""
    problem: str | None
    """Why it takes no jobs at present, as a sentence; null if it takes some."""
    cluster: WorkerCluster | None
    """The cluster that it submits to; null for a worker without one, if the cluster has never responded, or if you may not know it."""
    version: str
    """Version of the platform that it runs; empty: unknown."""
    started_at: Timestamp
    """When it was first seen."""
    last_seen_at: Timestamp
    """Time of its last heartbeat."""


class WorkerToken(Schema):
    """A token with which one worker joins: `proximal worker join URL --token TOKEN`."""

    object: Literal["worker.token"] = "worker.token"
    """Always `worker.token`."""
    token: str
    """The token. It is shown once: the platform stores only its hash."""
    expires_at: Timestamp
    """When it stops being valid."""


class WorkerJoin(Schema):
    """The worker that joins."""

    model_config = ConfigDict(extra="forbid")

    version: Annotated[str, Field(min_length=1, max_length=100)]
    """Version of the platform that is installed on its machine. It must be that of the platform."""


class JoinedWorker(Schema):
    """The settings of a worker that joins. They contain the credentials of the database."""

    object: Literal["worker.settings"] = "worker.settings"
    """Always `worker.settings`."""
    environment: dict[str, str]
    """The environment variables with which the worker starts."""
    storage_probe: str
    """SHA-256 of a small file in the blob store, by which the worker finds out whether it reaches the same store."""


class WorkerList(ListOf[Worker]):
    """The workers that are online, then those that have stopped and stay cordoned."""


router = APIRouter(tags=["Platform"])
ERRORS = (NotSignedIn, CrossOrigin, NotAllowed, NotOperator, NotFound, InvalidRequest)


@router.get("/workers", responses=documented(NotSignedIn))
def list_workers(principal: PrincipalDep, session: SessionDep) -> WorkerList:
    """List the workers that are online, and those that have stopped and stay cordoned.

    The names of machines and clusters are shown to operators, and to the project whose job a worker runs.
    """
    present = listed_workers(session)
    at_work = [worker.job_id for worker in present]
    query = select(models.Job.id).where(models.Job.id.in_(at_work), models.Job.owner_id == principal.owner_id)
    yours = set(session.scalars(query))
    return WorkerList.from_items([_view(worker, principal, yours=worker.job_id in yours) for worker in present])


@router.post("/workers/{worker_id}/cordon", responses=documented(*ERRORS))
def cordon_worker(worker_id: str, principal: PrincipalDep, session: SessionDep) -> Worker:
    """Keep new jobs from a worker. It finishes the job that it runs. A restarted worker with the same name stays cordoned."""
    return _changed(session, principal, worker_id, WorkerState.CORDONED)


@router.post("/workers/{worker_id}/drain", responses=documented(*ERRORS))
def drain_worker(worker_id: str, principal: PrincipalDep, session: SessionDep) -> Worker:
    """Keep new jobs from a worker, and let it save its job and give it back to the queue."""
    return _changed(session, principal, worker_id, WorkerState.DRAINING)


@router.post("/workers/{worker_id}/uncordon", responses=documented(*ERRORS))
def uncordon_worker(worker_id: str, principal: PrincipalDep, session: SessionDep, settings: SettingsDep) -> Worker:
    """Let a worker take jobs again. One that has stopped takes jobs when it starts again, and leaves the list."""
    shown = _changed(session, principal, worker_id, WorkerState.ONLINE)
    after_commit(session, lambda: wake_worker(settings.redis_url, job_queue(shown.worker_class)))
    return shown


@router.post(
    "/workers/tokens", status_code=201, responses=documented(NotSignedIn, CrossOrigin, NotAllowed, NotOperator)
)
def create_worker_token(principal: PrincipalDep, session: SessionDep, settings: SettingsDep) -> WorkerToken:
    """Create a token with which one worker joins within `PROXIMAL_JOIN_MINUTES`. A person who has it gets access to the database."""
    token, expires_at = worker_tokens.create_token(session, principal.key_id, timedelta(minutes=settings.join_minutes))
    return WorkerToken(token=token, expires_at=expires_at)


@router.post(
    "/workers/join",
    responses=documented(BadRequest, NotSignedIn, WrongVersion, TooLarge, WrongMediaType, InvalidRequest, TooManyTries),
)
def join_worker(
    body: WorkerJoin, request: Request, token: BearerDep, session: SessionDep, settings: SettingsDep, blobs: BlobsDep
) -> JoinedWorker:
    """Exchange a worker token, sent in place of an API key, for the settings of a worker. A token is valid once.

    A worker of another version is refused, and its token stays valid.
    """
    ours = version("proximal-rlhf")
    if body.version != ours:
        raise WrongVersion(
            f"The platform has version {ours}, and this machine {body.version}. Install {ours} on it.", version=ours
        )
    with tries_of(settings).trying(client_address(request), token):
        key_id = worker_tokens.redeem_token(session, token)
    of_caller(request, keys.principal_of(session, key_id))
    return JoinedWorker(environment=environment_of_a_new_worker(settings), storage_probe=expected_probe(blobs))


def _changed(session: SessionDep, principal: Principal, worker_id: str, state: WorkerState) -> Worker:
    row = set_worker_state(session, worker_id, state)
    query = select(models.Job.owner_id).where(models.Job.id == row.job_id)
    return _view(row, principal, yours=session.scalars(query).one_or_none() == principal.owner_id)


def _view(row: models.Worker, principal: Principal, *, yours: bool) -> Worker:
    same = (
        "id",
        "name",
        "hostname",
        "state",
        "worker_class",
        "gpus",
        "cores",
        "memory_bytes",
        "launcher",
        "problem",
        "cluster",
        "version",
    )
    fields = {name: getattr(row, name) for name in (*same, "started_at", "last_seen_at")}
    fields |= {
        "labels": row.capacity.get("labels", []),
        "busy": row.job_id is not None,
        "offline": row.stopped_at is not None,
    }
    if not (yours or principal.operator):
        fields |= {"name": "", "hostname": "", "cluster": None}
    return Worker.model_validate(fields | {"job_id": row.job_id if yours else None})
