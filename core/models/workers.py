"""Workers, and the states that operators give them."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base, CreatedAt, one_of


class WorkerState(StrEnum):
    """Whether a worker takes jobs. An operator sets it."""

    ONLINE = "online"
    """It takes jobs."""
    CORDONED = "cordoned"
    """It finishes its job and takes no other."""
    DRAINING = "draining"
    """It saves its job, gives it back and takes no other."""


class Worker(Base):
    """A process that runs jobs. It deletes its row when it stops; the sweeper deletes the row when the heartbeat is missing.

    The row of a worker that an operator has cordoned or drained stays, so that the operator can see and remove that state.
    """

    __tablename__ = "workers"
    __table_args__ = (CheckConstraint(one_of("state", WorkerState), name="state"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(default="", server_default="")
    """Its name, which stays when the process restarts. Empty: a worker of an older release."""
    hostname: Mapped[str]
    job_id: Mapped[str | None]
    """The job that it runs. No foreign key, since a heartbeat must never be refused."""
    started_at: Mapped[CreatedAt]
    last_seen_at: Mapped[datetime]
    stopped_at: Mapped[datetime | None]
    """When it stopped, or was found silent; null while it runs."""
    state: Mapped[str] = mapped_column(default="online", server_default="online")
    worker_class: Mapped[str] = mapped_column(default="", server_default="")
    """Name of the workers that can run the same jobs. It is part of the name of their Celery queue."""
    capacity: Mapped[dict[str, Any]] = mapped_column(default=dict, server_default=text("'{}'"))
    """The fields of `core.scheduling.matching.Capacity`."""
    gpus: Mapped[list[dict[str, Any]]] = mapped_column(default=list, server_default=text("'[]'"))
    """`[{model, memory_gib}]`."""
    cores: Mapped[int] = mapped_column(default=0, server_default="0")
    memory_bytes: Mapped[int] = mapped_column(default=0, server_default="0")
    launcher: Mapped[str] = mapped_column(default="local", server_default="local")
    """Where it runs its trainers: `local`, `slurm` or `kubernetes`."""
    problem: Mapped[str | None]
    """Why it takes no jobs at present, as a sentence; null if it takes some."""
    cluster: Mapped[dict[str, Any] | None]
    """The fields that `core.slurm.cluster.Cluster` or `core.kubernetes.namespace.Namespace` stores; null for a worker without one, or if it does not respond."""
    version: Mapped[str] = mapped_column(default="", server_default="")
    """Version of the platform that it runs."""


class WorkerCordon(Base):
    """The state that an operator gave to a worker, by the worker's name. It outlasts the worker's process."""

    __tablename__ = "worker_cordons"
    __table_args__ = (CheckConstraint("state IN ('cordoned', 'draining')", name="state"),)

    name: Mapped[str] = mapped_column(primary_key=True)
    state: Mapped[str]
    set_at: Mapped[CreatedAt]
