"""The interface of launchers: how a worker starts, follows and ends a trainer, wherever it runs.

An engine may run the trainer on this machine or in a cluster with a queue of its own. In either case the trainer
writes its events and checkpoints into the run folder, and the worker reads them there.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from core.jobs.queue.workers import EngineReport, MachineReport
from core.settings import Settings
from worker.capacity import report_of
from worker.jobs.launch.fit import CapacityRefusal
from worker.jobs.workspace import Workspace


@dataclass(frozen=True)
class RunToStart:
    """One attempt whose trainer is started. Its run folder has everything that the trainer reads."""

    job_id: str
    attempt: int
    spec: dict[str, Any]
    workspace: Workspace
    settings: Settings


@dataclass(frozen=True)
class EngineEnd:
    """Why the engine, and not the trainer itself, ended the run."""

    reason: str
    """One sentence or two, for people."""
    waits: bool = False
    """Whether it is also the reason why the job waits, until its trainer runs again."""
    by_a_person: bool = False
    """Whether a person ended it outside the platform. The job then waits for a person."""


class Trainer(ABC):
    """A trainer that was started: one process or several, which end as one."""

    label: str
    """Its name in the worker's log, such as `process 17`."""
    pid: int | None = None
    """The process on this machine whose use is measured. None: the trainer runs elsewhere."""
    waiting: str | None = None
    """Why it does not run at present, as a sentence. None: it runs, or has ended."""
    refused: str | None = None
    """Why the engine will never run this job, however long it waits. None: it may run."""

    @abstractmethod
    def poll(self) -> int | None:
        """The exit status (negative: the signal that ended it), or None until it has ended."""

    @abstractmethod
    def ask_to_end(self) -> None:
        """Ask it to finish its step, save and end."""

    @abstractmethod
    def kill(self) -> None:
        """End it without saving."""

    def observe(self) -> None:  # noqa: B027  most engines note nothing
        """Note what `engine_end` needs, while the trainer runs."""

    @abstractmethod
    def engine_end(self) -> EngineEnd | None:
        """Why the engine ended the trainer. None: the engine did not, or does not know it."""

    @abstractmethod
    def close(self) -> None:
        """Kill the trainer if it still runs, and free what the engine holds for it."""

    def leave(self) -> None:
        """Let the trainer run on without this worker, in place of `close`. Only where `Launcher.outlives_worker`."""
        raise NotImplementedError


class Launcher(ABC):
    """Starts trainers in one kind of place."""

    outlives_worker = False
    """Whether a trainer goes on while its worker restarts. The next worker of the same name then attaches to it."""

    def report(self, settings: Settings) -> MachineReport:
        """The resources that this worker offers."""
        return report_of(settings)

    def engine_report(self) -> EngineReport | None:
        """The state of the engine, from memory: the worker sends it with each heartbeat. None: there is none to report."""
        return None

    @abstractmethod
    def refusal(self, spec: dict[str, Any], settings: Settings) -> CapacityRefusal | None:
        """Why no trainer of this spec can run here. None: it fits."""

    @abstractmethod
    def start(self, run: RunToStart) -> Trainer:
        """Start the trainer of an attempt."""

    def has_started(self, workspace: Workspace) -> bool:
        """Whether an earlier process of this worker has begun to start the trainer of this run folder."""
        return False

    def attach(self, run: RunToStart) -> Trainer:
        """The trainer of an attempt for which `has_started` is true."""
        raise NotImplementedError
