"""The words of Kubernetes for people: why a Job waits, and why it ended."""

import signal
from collections.abc import Sequence

from core.kubernetes.client import Manifest
from trainer.errors import Stopped
from worker.jobs.launch.interface import EngineEnd
from worker.jobs.launch.kubernetes.view import ContainerEnd, JobView, PodView

RESUMES = "The run resumes from its last checkpoint."
_IMAGE = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable")
_PREPARATION = ("FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox")
"""Events of a pod that its node cannot prepare. The state of its container does not show them."""
_MOST_WORDS = 600
"""Characters of a message of Kubernetes that are shown."""


def why_waiting(name: str, queue: str, job: JobView, pods: Sequence[PodView], events: Sequence[Manifest]) -> str | None:
    """Why the trainer does not run at present, as a sentence; None if it runs or starts. `queue`: the local queue of Kueue."""
    if job.suspended:
        if queue:
            return (
                f"Kueue has suspended Job {name}: the local queue {queue!r} has not admitted it, or a more urgent Job needs its "
                f"share. `kubectl get workloads` shows its place. It starts, or resumes, once Kueue admits it."
            )
        return f"Job {name} is suspended in Kubernetes. It continues when a person sets `suspend` to false."
    present = [pod for pod in pods if not pod.ended]
    for pod in present:
        if why := _why_pod_waits(name, pod):
            return why
    if present:
        failed = next((found for reason in _PREPARATION if (found := _newest(events, reason))), None)
        return f"The node of Job {name} cannot prepare its pod: {_cut(failed)}. It tries again." if failed else None
    if job.complete:
        return None
    if refused := _newest(events, "FailedCreate"):
        return f"Kubernetes cannot create a pod of Job {name}: {_cut(refused)}. It tries again."
    if any(pod.disruption for pod in pods):
        return f"Kubernetes has ended a pod of Job {name} and starts another one. {RESUMES}"
    if failure := _failure(pods):
        return f"A node ended or refused a pod of Job {name} ({_cut(failure)}). Kubernetes starts another one."
    return None


def why_ended(
    name: str, job: JobView, pods: Sequence[PodView], end: ContainerEnd | None, started: bool
) -> EngineEnd | None:
    """Why Kubernetes ended the Job, and not the trainer itself. `started`: the trainer has written an event or output."""
    if job.failed is not None and job.failed[0] == "DeadlineExceeded":
        return EngineEnd(f"Kubernetes ended Job {name}: its time limit was reached (PROXIMAL_KUBERNETES_MINUTES).")
    if end is not None and end.reason == "OOMKilled":
        return EngineEnd(
            f"Kubernetes ended Job {name}: it needed more memory than its pod may have (PROXIMAL_KUBERNETES_MEMORY_GIB). Ask for "
            "smaller batches, or ask the operator for more memory."
        )
    if (why := next((pod.disruption for pod in pods if pod.disruption), None)) is not None:
        return EngineEnd(f"Kubernetes ended Job {name} ({_cut(why)}).")
    if failure := _failure(pods):
        return EngineEnd(f"A node ended or refused a pod of Job {name} ({_cut(failure)}).")
    if end is not None and end.status and not started:
        return EngineEnd(f"The trainer of Job {name} did not start ({end.reason}): {_cut(end.message) or 'no output'}.")
    if end is not None and end.unseen:
        return EngineEnd(f"Kubernetes lost the container of Job {name}, as after a restart of its node ({end.reason}).")
    if end is not None and end.status in (Stopped.exit_status, -signal.SIGTERM):
        return EngineEnd(f"Kueue, a person or a program ended the pods of Job {name} in Kubernetes.")
    if end is None and job.failed is not None:
        return EngineEnd(f"Job {name} failed in Kubernetes ({_cut(': '.join(filter(None, job.failed)))}).")
    return None


def _why_pod_waits(name: str, pod: PodView) -> str | None:
    if pod.deleting_until is not None or pod.disruption:
        cause = f" ({_cut(pod.disruption)})" if pod.disruption else ""
        return f"Kubernetes ends the pod {pod.name} of Job {name}{cause}. {RESUMES}"
    if pod.unschedulable:
        return f"Job {name} waits for a node: {_cut(pod.unschedulable)}."
    if pod.blocked is None:
        return None
    reason, message = pod.blocked
    if reason in _IMAGE:
        return (
            f"The image of Job {name} cannot be pulled ({reason}): {_cut(message)}. The operator must correct "
            "PROXIMAL_KUBERNETES_IMAGE or PROXIMAL_KUBERNETES_PULL_SECRETS. Kubernetes tries again."
        )
    return f"The pod {pod.name} of Job {name} cannot start ({reason}): {_cut(message)}."


def _failure(pods: Sequence[PodView]) -> str | None:
    """Why a node ended or refused the newest pod; None if no node did."""
    newest = max(pods, key=lambda pod: pod.created_at, default=None)
    return newest.failure if newest else None


def _newest(events: Sequence[Manifest], reason: str) -> str:
    """The message of the newest event with this reason; "" if there is none."""
    found = [event for event in events if event.get("reason") == reason]
    newest = max(found, key=lambda event: event.get("lastTimestamp") or event.get("eventTime") or "", default=None)
    return str(newest.get("message") or "") if newest else ""


def _cut(text: str) -> str:
    """One line of limited length without a full stop at its end."""
    line = " ".join(text.split()).rstrip(".")
    return line if len(line) <= _MOST_WORDS else f"{line[:_MOST_WORDS]}…"
