"""The scheduling policy: which queued job a worker takes next. Pure functions; times are Unix seconds.

Queued jobs form **lines**: the jobs of one owner with one priority and one requirement, oldest first. The lines
are ordered by:

1. Rank: the priority, raised by one for each `ageing` seconds that the line has waited. A line waits from the moment when
   its first job was queued, or from the last claim of one of its jobs, whichever is later. Above the highest priority, the
   line is overdue: overdue lines are served in the order in which they began to wait, so every line is served at some time.
2. Fair share: the owner with the smaller use. Use is the owner's slot-seconds, decayed by a half-life. Jobs that run at
   this moment count `running` seconds each in advance, so that claims at the same moment go to different owners.
3. Age of the line's first job.

`core/scheduling/claim.py` applies the same policy as SQL. A test compares the two on random queues. `forecast` simulates it.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import IntEnum
from typing import Literal

from core.quotas import Quotas
from core.scheduling.matching import EVERYTHING, Capacity, Requirement


class Priority(IntEnum):
    """The priority class of a job, as stored in `jobs.priority`."""

    LOW = -1
    NORMAL = 0
    HIGH = 1

    @property
    def label(self) -> "PriorityName":
        """Its name in REST."""
        return _LABELS[self]

    @classmethod
    def named(cls, label: "PriorityName") -> "Priority":
        """The inverse of `label`."""
        return cls[label.upper()]


PriorityName = Literal["low", "normal", "high"]
_LABELS: dict[Priority, PriorityName] = {Priority.LOW: "low", Priority.NORMAL: "normal", Priority.HIGH: "high"}


OVERDUE = Priority.HIGH + 1
"""The rank of lines that have waited too long."""


@dataclass(frozen=True)
class Policy:
    """The parameters of the policy, in seconds."""

    half_life: float
    """Time after which use counts half."""
    ageing: float
    """Waiting time that raises the rank of a line by one."""
    running: float = 600.0
    """Use that a running slot counts in advance."""
    protected: float = 600.0
    """Time for which an attempt is not preempted."""
    preempted_use: float = 4.0
    """How many times more an owner must have used to be preempted by another one of the same priority class."""

    def use(self, share: "Share", now: float) -> float:
        """The use that the fair share compares."""
        return share.decayed_at(now, self.half_life) + share.slots * self.running


@dataclass(frozen=True)
class Share:
    """The use of one owner at the time `at`. It changes when a job of the owner starts or ends."""

    running: int = 0
    """Jobs that workers hold."""
    slots: int = 0
    """Slots of these jobs: GPUs, or processes on workers without a GPU."""
    decayed: float = 0.0
    """Decayed slot-seconds until `at`."""
    month: float = 0.0
    """Slot-seconds from the start of the calendar month (UTC) of `at` until `at`."""
    at: float = 0.0

    def decayed_at(self, now: float, half_life: float) -> float:
        """Decayed use at `now`: u·2^(-t/h) + slots·(h/ln 2)·(1 - 2^(-t/h)), the integral of the decay over t = now - at."""
        kept = math.exp2(-(now - self.at) / half_life)
        return self.decayed * kept + self.slots * half_life / math.log(2) * (1 - kept)

    def month_at(self, now: float) -> float:
        """Slot-seconds of the calendar month (UTC) of `now` until `now`."""
        start = month_start(now)
        before, since = (self.month, self.at) if self.at >= start else (0.0, start)
        return before + self.slots * (now - since)

    def after(self, now: float, half_life: float, *, jobs: int, slots: int) -> "Share":
        """The share at `now`, when the numbers of running jobs and slots change by `jobs` and `slots`."""
        use = {"decayed": self.decayed_at(now, half_life), "month": self.month_at(now)}
        return Share(self.running + jobs, self.slots + slots, **use, at=now)


@dataclass(frozen=True)
class Line:
    """A line with at least one job."""

    job_id: str
    """Its first job."""
    owner_id: str
    created_at: float
    """When that job was submitted."""
    waits_since: float
    priority: int = Priority.NORMAL
    requirement: Requirement = field(default_factory=Requirement)


OrderKey = tuple[int, float, float, float, str]


def rank(line: Line, now: float, policy: Policy) -> int:
    """The priority, raised by the waiting time of the line."""
    return min(OVERDUE, line.priority + math.floor((now - line.waits_since) / policy.ageing))


def order_key(line: Line, share: Share, now: float, policy: Policy) -> OrderKey:
    """The sort key of a line: the smallest key is served first."""
    return order_key_by_use(line, policy.use(share, now), now, policy)


def order_key_by_use(line: Line, use: float, now: float, policy: Policy) -> OrderKey:
    """The same for the use of the owner."""
    place = rank(line, now, policy)
    turn = line.waits_since if place == OVERDUE else 0.0
    return (-place, turn, use, line.created_at, line.job_id)


def choose(
    lines: Iterable[Line],
    shares: Mapping[str, Share],
    quotas: Mapping[str, Quotas],
    now: float,
    policy: Policy,
    capacity: Capacity = EVERYTHING,
) -> Line | None:
    """The line that a worker with this capacity serves; None if no line fits the worker and its owner's quotas."""
    fitting = (line for line in lines if capacity.fits(line.requirement))
    allowed = (line for line in fitting if not over_quota(line, shares[line.owner_id], quotas[line.owner_id], now))
    return min(allowed, key=lambda line: order_key(line, shares[line.owner_id], now, policy), default=None)


def over_quota(line: Line, share: Share, quotas: Quotas, now: float) -> bool:
    """Whether a quota of its owner keeps the line from being served."""
    return quotas.exceeded(share.running, share.slots, share.month_at(now), line.requirement.slots) is not None


def month_start(now: float) -> float:
    """The start of the calendar month of `now`, in UTC."""
    today = datetime.fromtimestamp(now, UTC)
    return datetime(today.year, today.month, 1, tzinfo=UTC).timestamp()


def next_month(now: float) -> float:
    """The end of the calendar month of `now`, in UTC."""
    today = datetime.fromtimestamp(now, UTC)
    return datetime(today.year + today.month // 12, today.month % 12 + 1, 1, tzinfo=UTC).timestamp()
