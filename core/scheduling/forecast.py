"""A forecast of the queue: the order and the times in which queued jobs start. Pure; times are Unix seconds.

It simulates the claims of `policy`: an idle worker takes the first job that fits it and that the quotas of its owner allow. The
end of a job frees its worker and the quotas of its owner. Ranks by waiting time stay those of now, and no job is submitted.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import NamedTuple

from core.quotas import QuotaName, Quotas
from core.scheduling.matching import Capacity, Requirement
from core.scheduling.policy import Line, OrderKey, Policy, Share, next_month, order_key_by_use

Waiting = Iterable[tuple[Line, Sequence[tuple[str, float]]]]
"""Each line, and the id and submission time of each job that follows its first one."""
_TEN_YEARS = 10 * 365 * 86400.0
_NOMINAL_SECONDS = 3600.0
"""A job whose time is unknown is taken to end this time after ten years. A start after ten years has no time."""


@dataclass(frozen=True)
class RunningJob:
    """A job that a worker holds."""

    owner_id: str
    slots: int
    seconds: float | None
    """Time until its end; None if unknown."""
    worker: Capacity | None
    """The worker that becomes free; None if it takes no further job."""


@dataclass(frozen=True)
class Cluster:
    """The workers and their jobs."""

    idle: Sequence[Capacity]
    running: Sequence[RunningJob]
    mean_seconds: float | None
    """Time of a job; None if unknown."""


@dataclass(frozen=True)
class Start:
    """The start of a queued job."""

    job_id: str
    at: float | None
    """None if the job cannot start at present, or if the time is unknown."""
    held_by: QuotaName | None
    """The quota for which the job waits, now or later, while it is the first of its line."""


def forecast(
    waiting: Waiting,
    shares: Mapping[str, Share],
    quotas: Mapping[str, Quotas],
    cluster: Cluster,
    now: float,
    policy: Policy,
) -> Iterator[Start]:
    """The starts of all queued jobs. Those that cannot start at present come last, in the order of the policy.

    `shares` and `quotas` are those of the owners of lines.
    """
    return _Simulation(waiting, shares, quotas, cluster, now, policy).starts()


class _End(NamedTuple):
    """The end of a job. Without a worker and slots: the end of a month, when an owner has new GPU-hours."""

    time: float
    number: int
    owner_id: str
    slots: int = 0
    seconds: float = 0.0
    """Time since the start of the job, or since the time of the forecast if the job runs then."""
    worker: Capacity | None = None


class _Simulation:
    def __init__(
        self,
        waiting: Waiting,
        shares: Mapping[str, Share],
        quotas: Mapping[str, Quotas],
        cluster: Cluster,
        now: float,
        policy: Policy,
    ) -> None:
        self._policy, self._mean_seconds = policy, cluster.mean_seconds
        self._now = self._time = now
        self._horizon = now + _TEN_YEARS
        self._use = {owner: policy.use(share, now) for owner, share in shares.items()}
        """The use as if all starts and ends happened now, so that the keys of different times can be compared."""
        self._quotas = {owner: quota for owner, quota in quotas.items() if quota.limits_running}
        self._running = {owner: (share.running, share.slots) for owner, share in shares.items()}
        self._shares = {owner: shares[owner] for owner, one in quotas.items() if one.gpu_hours is not None}
        self._held_by: dict[str, QuotaName] = {}
        self._free = Counter(cluster.idle)
        self._ends: list[_End] = []
        self._number = count()
        self._limited = True
        self._lines = [(line, iter(following)) for line, following in waiting]
        self._of_owner: defaultdict[str, list[int]] = defaultdict(list)
        """The lines that are not empty, by their places in `_lines`."""
        self._heaps: defaultdict[Requirement, list[tuple[OrderKey, int]]] = defaultdict(list)
        self._keys: dict[int, OrderKey] = {}
        """The key of each line in a heap. An entry with another key is obsolete. Lines that a quota holds have none."""
        for index, (line, _) in enumerate(self._lines):
            self._of_owner[line.owner_id].append(index)
            self._push(index)
        for job in cluster.running:
            self._add_end(job.owner_id, job.slots, job.seconds, job.worker)
        kinds = {*cluster.idle, *(job.worker for job in cluster.running if job.worker is not None)}
        self._fitting = {need: [kind for kind in kinds if kind.fits(need)] for need in self._heaps}

    def starts(self) -> Iterator[Start]:
        yield from self._starts_now()
        while self._ends:
            self._end(heapq.heappop(self._ends))
            yield from self._starts_now()
        self._limited = False
        for at in chain.from_iterable(self._of_owner.values()):
            self._push(at)
        yield from self._starts_now()

    def _starts_now(self) -> Iterator[Start]:
        """Claims until no idle worker finds a job."""
        time = self._time if self._limited and self._time < self._horizon else None
        while (found := self._next_line()) is not None:
            at, worker = found
            line, following = self._lines[at]
            yield Start(line.job_id, time, self._held_by.get(line.job_id))
            owner, slots = line.owner_id, line.requirement.slots
            self._use[owner] += slots * self._policy.running
            self._count(owner, 1, slots)
            if worker is not None:
                self._free[worker] -= 1
                self._add_end(owner, slots, self._mean_seconds, worker)
            job = next(following, None)
            if job is None:
                del self._keys[at]
                self._of_owner[owner].remove(at)
            else:
                rest = Line(job[0], owner, job[1], self._now, line.priority, line.requirement)
                self._lines[at] = rest, following
                self._push(at)

    def _next_line(self) -> tuple[int, Capacity | None] | None:
        """The line that is served next, and its worker. Without limits, every job may start and has no worker."""
        best: tuple[OrderKey, int, Capacity | None] | None = None
        for need, heap in self._heaps.items():
            worker = next((one for one in self._fitting[need] if self._free[one]), None)
            if worker is None and self._limited:
                continue
            head = self._head(heap)
            if head is not None and (best is None or head < best[:2]):
                best = (*head, worker if self._limited else None)
        return best and best[1:]

    def _head(self, heap: list[tuple[OrderKey, int]]) -> tuple[OrderKey, int] | None:
        """The first line of a heap that the quotas of its owner allow. Lines before it are held until a job of the owner ends."""
        while heap:
            key, at = heap[0]
            line, _ = self._lines[at]
            if self._keys.get(at) != key:
                heapq.heappop(heap)
            elif self._limited and line.owner_id in self._quotas and (name := self._exceeded(line)):
                del self._keys[at]
                self._held_by[line.job_id] = name
            elif key != self._key(line):
                self._push(at)
            else:
                return key, at
        return None

    def _exceeded(self, line: Line) -> QuotaName | None:
        share, quotas = self._shares.get(line.owner_id), self._quotas[line.owner_id]
        month = 0.0 if share is None else share.month_at(self._time)
        name = quotas.exceeded(*self._running[line.owner_id], month, line.requirement.slots)
        if name == "gpu_hours" and quotas.gpu_hours:
            heapq.heappush(self._ends, _End(next_month(self._time), next(self._number), line.owner_id))
        return name

    def _count(self, owner: str, jobs: int, slots: int) -> None:
        running, held = self._running[owner]
        self._running[owner] = running + jobs, held + slots
        if owner in self._shares:
            self._shares[owner] = self._shares[owner].after(self._time, self._policy.half_life, jobs=jobs, slots=slots)

    def _push(self, at: int) -> None:
        line, _ = self._lines[at]
        self._keys[at] = self._key(line)
        heapq.heappush(self._heaps[line.requirement], (self._keys[at], at))

    def _key(self, line: Line) -> OrderKey:
        return order_key_by_use(line, self._use[line.owner_id], self._now, self._policy)

    def _add_end(self, owner_id: str, slots: int, seconds: float | None, worker: Capacity | None) -> None:
        end = max(self._time, self._horizon) + _NOMINAL_SECONDS if seconds is None else self._time + seconds
        heapq.heappush(self._ends, _End(end, next(self._number), owner_id, slots, end - self._time, worker))

    def _end(self, end: _End) -> None:
        self._time = end.time
        if end.worker is not None:
            self._free[end.worker] += 1
        if end.owner_id not in self._use:
            return
        owner = end.owner_id
        self._use[owner] += end.slots * (end.seconds - self._policy.running)
        if end.slots:
            self._count(owner, -1, -end.slots)
        for at in self._of_owner[owner]:
            if (
                at not in self._keys or end.seconds < self._policy.running
            ):  # the line was held, or its key is smaller now
                self._push(at)
