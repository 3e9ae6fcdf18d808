"""The Job of an attempt and its pods, with the fields that the launcher reads."""

import signal
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from core.kubernetes.client import Manifest
from core.kubernetes.pods import CONTAINER
from trainer.errors import ProcessLost

_SIGNALLED = 128
"""Kubernetes adds this to the number of the signal that ended a container."""
_NO_START = ("StartError", "ContainerCannotRun", "RunContainerError")
"""Reasons of containers whose command never ran."""
_UNKNOWN = ("Unknown", "ContainerStatusUnknown")
"""Reasons of containers whose end was not seen, as after a restart of their node."""
_CONSEQUENCES = (ProcessLost.exit_status, -signal.SIGTERM)
ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True)
class ContainerEnd:
    """How the trainer's container ended."""

    status: int
    """Exit status of the trainer. Negative: the signal that ended it."""
    reason: str
    """The word of Kubernetes, such as `OOMKilled`."""
    message: str
    """The end of its output, or why it could not start."""
    finished_at: str

    @property
    def started(self) -> bool:
        """Whether the command ran at all."""
        return self.reason not in _NO_START

    @property
    def unseen(self) -> bool:
        """Whether its node has lost the container, so that the exit status is not that of the trainer."""
        return self.reason in _UNKNOWN and bool(self.status)


@dataclass(frozen=True)
class PodView:
    """A pod of the attempt."""

    uid: str
    name: str
    created_at: str
    node: str
    phase: str
    deleting_until: float | None
    """Unix time until which it may end by itself. None: it is not deleted."""
    disruption: str | None
    """Why Kubernetes ends it: for a preemption, an eviction or a lost node. None: no such reason."""
    unschedulable: str | None
    """The scheduler's message."""
    blocked: tuple[str, str] | None
    """Why the container does not start, such as `ImagePullBackOff`, and the message."""
    failure: str | None
    """Why the node ended or refused a pod that has failed, such as `Evicted` or `OutOfcpu`. None: its container failed."""
    end: ContainerEnd | None

    @property
    def is_prepared(self) -> bool:
        """Whether its node prepares it: mounts its volumes, and pulls its image."""
        return self.phase == "Pending" and bool(self.node) and self.blocked is None and self.deleting_until is None

    @property
    def ended(self) -> bool:
        return self.phase in ENDED

    def is_overdue(self, now: float, patience: float) -> bool:
        """Whether it should have ended `patience` seconds ago, so that its node must be lost."""
        return not self.ended and self.deleting_until is not None and now > self.deleting_until + patience


@dataclass(frozen=True)
class JobView:
    """A Job or a TrainJob."""

    uid: str
    suspended: bool
    complete: bool
    failed: tuple[str, str] | None
    """Reason and message, once it has failed as a whole."""


def job_view(found: Manifest) -> JobView:
    status, conditions = found.get("status") or {}, _conditions(found)
    failed = conditions.get("Failed")
    return JobView(
        uid=found["metadata"]["uid"],
        suspended=bool(found.get("spec", {}).get("suspend")) or "Suspended" in conditions,
        complete="Complete" in conditions or bool(status.get("succeeded")),
        failed=None if failed is None else (failed.get("reason", ""), failed.get("message", "")),
    )


def pod_view(found: Manifest) -> PodView:
    metadata, status, conditions = found["metadata"], found.get("status") or {}, _conditions(found)
    containers = status.get("containerStatuses") or []
    state = next((one.get("state") or {} for one in containers if one.get("name") == CONTAINER), {})
    disruption = conditions.get("DisruptionTarget")
    deleted = metadata.get("deletionTimestamp")
    phase = status.get("phase") or "Pending"
    return PodView(
        uid=metadata.get("uid") or "",
        name=metadata["name"],
        created_at=metadata.get("creationTimestamp") or "",
        node=found.get("spec", {}).get("nodeName") or "",
        phase=phase,
        deleting_until=_unix_time(deleted) if deleted else None,
        disruption=None if disruption is None else _words(disruption),
        unschedulable=_unschedulable(found),
        blocked=_blocked(state.get("waiting")),
        failure=_words(status) if phase == "Failed" and status.get("reason") else None,
        end=_end(state.get("terminated")),
    )


def first_end(pods: Sequence[PodView]) -> ContainerEnd | None:
    """The end of the container that failed first, or else of one that succeeded. Those that ended because of another come last."""
    ends = [pod.end for pod in pods if pod.end is not None]
    failed = [end for end in ends if end.status]
    in_order = sorted(failed or ends, key=lambda end: (end.status in _CONSEQUENCES, end.finished_at))
    return in_order[0] if in_order else None


def _conditions(found: Manifest) -> dict[str, dict[str, Any]]:
    """The conditions that hold, by their types."""
    conditions = (found.get("status") or {}).get("conditions") or []
    return {one["type"]: one for one in conditions if one.get("status") == "True"}


def _unschedulable(found: Manifest) -> str | None:
    for one in (found.get("status") or {}).get("conditions") or []:
        if one.get("type") == "PodScheduled" and one.get("status") == "False":
            return _words(one)
    return None


def _blocked(waiting: dict[str, Any] | None) -> tuple[str, str] | None:
    if not waiting or waiting.get("reason") in (None, "ContainerCreating", "PodInitializing"):
        return None
    return waiting["reason"], waiting.get("message", "")


def _end(terminated: dict[str, Any] | None) -> ContainerEnd | None:
    if not terminated:
        return None
    code = int(terminated.get("exitCode") or 0)
    reason = terminated.get("reason") or ""
    signalled = code - _SIGNALLED in set(signal.Signals) and reason not in _NO_START
    status = _SIGNALLED - code if signalled else code
    if reason in _UNKNOWN and code:  # the runtime makes up a status, such as 255
        status = -signal.SIGKILL
    return ContainerEnd(status, reason, terminated.get("message") or "", terminated.get("finishedAt") or "")


def _words(condition: dict[str, Any]) -> str:
    """The reason and the message of a condition or a status."""
    return ": ".join(part for part in (condition.get("reason"), condition.get("message")) if part)


def _unix_time(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
