"""The causes of a job's transitions: an API key, a worker, a health rule of the trainer, or the platform itself."""

from dataclasses import asdict, dataclass
from typing import Literal

from core.access.keys import Principal

ActorKind = Literal["api_key", "worker", "health_rule", "platform"]


@dataclass(frozen=True)
class Actor:
    """The cause of a transition, as its event stores it."""

    kind: ActorKind
    id: str | None = None
    """Id of the key or of the worker, or name of the rule; None for the platform."""
    name: str | None = None
    """Name of the key when it acted, since a key may be renamed or revoked later; or the part of the platform."""

    def as_json(self) -> dict[str, str | None]:
        return asdict(self)


PLATFORM = Actor("platform")
"""The sweeper, and every other part that acts without a request and without a lease."""
RETENTION = Actor("platform", name="checkpoint retention")
"""The deletion of old checkpoints by the sweeper."""
METRIC_RETENTION = Actor("platform", name="metric retention")
"""The thinning of old metrics by the sweeper."""


def key_of(principal: Principal) -> Actor:
    """The key that a request was made with."""
    return Actor("api_key", principal.key_id, principal.key_name)


def worker(worker_id: str | None) -> Actor:
    """The worker that holds the lease."""
    return Actor("worker", worker_id)


def health_rule(name: str | None) -> Actor:
    """A health rule of the trainer; `name` None: the trainer did not report which one."""
    return Actor("health_rule", name)
