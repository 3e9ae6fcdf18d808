"""Preemption: which running jobs give up their worker to a waiting job. Pure functions; times are Unix seconds.

Waiting lines take the workers that are idle or become free, in the order of the policy. A line that finds none may take the
worker of a running job whose owner allows it (`preemptible`), if

- the waiting job has a higher priority class, or
- both have the same class, the waiting owner runs nothing, and `Policy.preempted_use` times its use is less than the use of
  the running job's owner.

The attempt must have run for `Policy.protected` seconds, and twice as long after each earlier preemption of the job. The victim is the job with the lowest class, then the one that
started last. No worker is freed while a line that comes earlier would take it, so a preemption never changes the order of
the queue. A line takes at most one worker at a time.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from core.quotas import Quotas
from core.scheduling.matching import Capacity
from core.scheduling.policy import Line, Policy, Share, order_key, over_quota


@dataclass(frozen=True)
class PlacedJob:
    """A job that a worker holds."""

    job_id: str
    owner_id: str
    priority: int
    started_at: float
    """Start of the attempt."""
    preemptible: bool
    preempted: int = 0
    """How often the job was preempted before."""
    ending: bool = False
    """Whether it will give up the worker: a pause, a cancel or a preemption has been requested."""


@dataclass(frozen=True)
class Place:
    """A worker that takes jobs, and the job that it runs; None: it is idle."""

    capacity: Capacity
    running: PlacedJob | None = None

    @property
    def becomes_free(self) -> bool:
        return self.running is None or self.running.ending


@dataclass(frozen=True)
class Preemption:
    """A running job that gives up its worker, and the line that needs it."""

    victim: PlacedJob
    line: Line


def preemptions(
    lines: Iterable[Line],
    shares: Mapping[str, Share],
    quotas: Mapping[str, Quotas],
    places: Sequence[Place],
    now: float,
    policy: Policy,
) -> list[Preemption]:
    """The preemptions at this moment, in the order of the queue. `shares` and `quotas` hold every owner."""
    allowed = (line for line in lines if not over_quota(line, shares[line.owner_id], quotas[line.owner_id], now))
    order = sorted(allowed, key=lambda line: order_key(line, shares[line.owner_id], now, policy))
    free = sorted((place.capacity for place in places if place.becomes_free), key=_size)
    victims = _victims(places, now, policy)
    found: list[Preemption] = []
    for line in order:
        if not victims:
            break
        taken = next((one for one in free if one.fits(line.requirement)), None)
        if taken is not None:
            free.remove(taken)
            continue
        victim = next((one for one in victims if _gives_way(*one, line, shares, now, policy)), None)
        if victim is None:  # the line would take any of these workers before the lines that follow
            victims = [one for one in victims if not one[0].fits(line.requirement)]
            continue
        victims.remove(victim)
        found.append(Preemption(victim[1], line))
    return found


def _victims(places: Iterable[Place], now: float, policy: Policy) -> list[tuple[Capacity, PlacedJob]]:
    """The jobs that may be preempted, the first victim first, and the capacity that each gives up."""
    jobs = [(place.capacity, place.running) for place in places if place.running is not None]
    victims = [job for job in jobs if job[1].preemptible and not job[1].ending and _has_run(job[1], now, policy)]
    return sorted(victims, key=lambda one: (one[1].priority, -one[1].started_at, one[1].job_id))


def _has_run(job: PlacedJob, now: float, policy: Policy) -> bool:
    return now - job.started_at >= math.ldexp(policy.protected, job.preempted)


def _gives_way(
    capacity: Capacity, running: PlacedJob, line: Line, shares: Mapping[str, Share], now: float, policy: Policy
) -> bool:
    return _may_preempt(line, running, shares, now, policy) and capacity.fits(line.requirement)


def _may_preempt(line: Line, running: PlacedJob, shares: Mapping[str, Share], now: float, policy: Policy) -> bool:
    if line.priority != running.priority:
        return line.priority > running.priority
    waiting, holding = shares[line.owner_id], shares[running.owner_id]
    used = policy.use(waiting, now)
    return waiting.slots == 0 and policy.preempted_use * used < policy.use(holding, now)


def _size(capacity: Capacity) -> tuple[int, int]:
    return capacity.gpus, capacity.cpu_processes
