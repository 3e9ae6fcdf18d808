"""Replays a day of a large cluster through the scheduling policy, as discrete events.

    python -m benchmarks.platform_suite.queue_simulation --json FILE [--preemption]

The code that chooses a job and counts its use is `core.scheduling.policy`, which the claim applies as SQL. With
`--preemption`, the jobs of low priority are preemptible, and the code of the sweeper (`core.scheduling.preemption`) applies. 10,000 GPUs are
divided among workers with 1, 4 and 8 GPUs, and a worker runs one job at a time. Some owners submit more than the cluster
can run, others little. The figures are the fairness between the first, the waiting time of the second, the longest time
that a line waited, and the utilisation. Jobs of high priority have figures of their own.
"""

import argparse
import heapq
import json
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from statistics import quantiles
from typing import Any

from core.quotas import Quotas
from core.scheduling.matching import Capacity, Requirement
from core.scheduling.policy import Line, Policy, Priority, Share, choose
from core.scheduling.preemption import Place, PlacedJob, preemptions

HOUR = 3600.0
WORKERS = {1: 1000, 4: 1250, 8: 500}
"""Number of workers by their GPUs: 10,000 GPUs."""
_SIZES = (1, 4, 8)
_START = 1_800_000_000.0
_SWEEP_SECONDS = 60.0
_SAVE_SECONDS = 60.0
"""Time in which a preempted job saves and later loads. It counts as use."""
_NO_QUOTAS = Quotas()
LineKey = tuple[str, int, int]
"""Owner, priority and GPUs."""


@dataclass(frozen=True)
class Demand:
    """The jobs that one owner submits."""

    owner_id: str
    jobs_per_hour: float
    low: float = 0.0
    """Part of the jobs with low priority."""
    high: float = 0.0
    """Part of the jobs with high priority."""


@dataclass
class Job:
    """A submitted job."""

    job_id: str
    line: LineKey
    submitted: float
    seconds: float
    """Time that it still needs."""
    queued: float
    preempted: int = 0
    """How often it was preempted."""


@dataclass(eq=False)
class Run:
    """A job on a worker."""

    job: Job
    worker: int
    """GPUs of the worker."""
    started: float
    ends: float
    saving: bool = False


class Sweep:
    """The event at which running jobs may be preempted."""


@dataclass
class Measured:
    """Results of a simulation, in seconds and GPU-seconds."""

    used: dict[str, float] = field(default_factory=dict)
    waits: dict[str, list[float]] = field(default_factory=dict)
    """Waiting times of the jobs that started, by owner."""
    high_waits: list[float] = field(default_factory=list)
    """Waiting times of the jobs of high priority that started."""
    line_waits: list[float] = field(default_factory=list)
    """For each start, the time since its line began to wait."""
    busy: float = 0.0
    """GPU-seconds of the workers that had a job."""
    started: int = 0
    preemptions: int = 0
    most_preempted: int = 0
    """Preemptions of the job that was preempted most."""


class Cluster:
    """The state of the queue and of the workers, and the events that change it."""

    def __init__(self, demands: list[Demand], policy: Policy, seed: int, workers: dict[int, int]) -> None:
        self._policy, self._random = policy, Random(seed)
        self._demands, self._idle = demands, dict(workers)
        self._gpus = sum(size * number for size, number in workers.items())
        self._lines: dict[LineKey, deque[Job]] = {}
        self._runs: dict[Run, None] = {}
        self._heads: dict[LineKey, Line] = {}
        self._served: dict[LineKey, float] = {}
        self._shares = {one.owner_id: Share(at=_START) for one in demands}
        self._events: list[tuple[float, int, Any]] = []
        self._number = count()
        self.measured = Measured(waits={one.owner_id: [] for one in demands})

    def run(self, seconds: float, preemption: bool = False) -> Measured:
        """Simulate from an idle cluster."""
        if preemption:
            self._plan(_START + _SWEEP_SECONDS, Sweep())
        for demand in self._demands:
            self._plan_submission(_START, demand)
        end = _START + seconds
        while self._events and self._events[0][0] < end:
            now, _, event = heapq.heappop(self._events)
            if isinstance(event, Demand):
                self._submit(now, event)
                self._plan_submission(now, event)
            elif isinstance(event, Sweep):
                self._preempt(now)
                self._plan(now + _SWEEP_SECONDS, event)
            elif event.ends == now and event in self._runs:  # a preempted run has another end
                self._end(now, event)
        for owner_id, share in self._shares.items():
            self.measured.used[owner_id] = share.month_at(end)
        for run in self._runs:
            self.measured.busy += run.worker * (end - run.started)
        self.measured.busy /= seconds * self._gpus
        return self.measured

    def _plan(self, at: float, event: Any) -> None:
        heapq.heappush(self._events, (at, next(self._number), event))

    def _plan_submission(self, now: float, demand: Demand) -> None:
        self._plan(now + self._random.expovariate(demand.jobs_per_hour / HOUR), demand)

    def _submit(self, now: float, demand: Demand) -> None:
        size = self._random.choice(_SIZES)
        parts = (demand.low, 1 - demand.low - demand.high, demand.high)
        (priority,) = self._random.choices((Priority.LOW, Priority.NORMAL, Priority.HIGH), parts)
        line = (demand.owner_id, int(priority), size)
        seconds = min(self._random.lognormvariate(8.6, 0.8), 12 * HOUR)  # median 1.5 h
        self._lines.setdefault(line, deque()).append(Job(f"job_{next(self._number):09}", line, now, seconds, now))
        self._update_head(line)
        for worker in _SIZES:  # the smallest idle worker is woken
            if worker >= size and self._idle[worker]:
                self._claim(now, worker)
                return

    def _update_head(self, line: LineKey) -> None:
        waiting = self._lines[line]
        if not waiting:
            self._heads.pop(line, None)
            return
        (owner_id, priority, size), job = line, waiting[0]
        since = max(job.queued, self._served.get(line, job.queued))
        self._heads[line] = Line(job.job_id, owner_id, job.submitted, since, priority, Requirement(processes=size))

    def _claim(self, now: float, worker: int) -> None:
        """An idle worker takes the job that the policy chooses."""
        capacity = Capacity(gpus=worker, gpu_processes=worker)
        quotas = dict.fromkeys(self._shares, _NO_QUOTAS)
        head = choose(self._heads.values(), self._shares, quotas, now, self._policy, capacity)
        if head is None:
            return
        line = (head.owner_id, head.priority, head.requirement.processes)
        job = self._lines[line].popleft()
        self._served[line] = now
        self._update_head(line)
        slots = head.requirement.slots
        self._change(now, head.owner_id, 1, slots)
        self._idle[worker] -= 1
        run = Run(job, worker, now, now + job.seconds)
        self._runs[run] = None
        self._plan(run.ends, run)
        self.measured.line_waits.append(now - head.waits_since)
        if job.preempted:
            return
        self.measured.waits[head.owner_id].append(now - job.submitted)
        if head.priority == Priority.HIGH:
            self.measured.high_waits.append(now - job.submitted)
        self.measured.started += 1

    def _end(self, now: float, run: Run) -> None:
        """The worker becomes free. A preempted job returns to its line, which it leads, since its line is served by age."""
        del self._runs[run]
        line = run.job.line
        self.measured.busy += run.worker * (now - run.started)
        self._change(now, line[0], -1, -line[2])
        if run.saving:
            run.job.queued = now
            self._lines[line].appendleft(run.job)
            self._update_head(line)
        self._idle[run.worker] += 1
        self._claim(now, run.worker)

    def _preempt(self, now: float) -> None:
        """Apply the preemptions of this moment."""
        capacities = {size: Capacity(gpus=size, gpu_processes=size) for size in _SIZES}
        runs = {run.job.job_id: run for run in self._runs}
        places = [Place(capacities[run.worker], _running(run)) for run in runs.values()]
        places += [Place(capacities[size]) for size, number in self._idle.items() for _ in range(number)]
        quotas = dict.fromkeys(self._shares, _NO_QUOTAS)
        for found in preemptions(self._heads.values(), self._shares, quotas, places, now, self._policy):
            run = runs[found.victim.job_id]
            run.job.seconds = run.ends - now + _SAVE_SECONDS
            run.job.preempted += 1
            run.ends, run.saving = now + _SAVE_SECONDS, True
            self._plan(run.ends, run)
            self.measured.preemptions += 1
            self.measured.most_preempted = max(self.measured.most_preempted, run.job.preempted)

    def _change(self, now: float, owner_id: str, jobs: int, slots: int) -> None:
        share = self._shares[owner_id]
        self._shares[owner_id] = share.after(now, self._policy.half_life, jobs=jobs, slots=slots)


def _running(run: Run) -> PlacedJob:
    owner_id, priority, _ = run.job.line
    return PlacedJob(
        run.job.job_id, owner_id, priority, run.started, priority == Priority.LOW, run.job.preempted, run.saving
    )


def demands(gpus: int, backlogged: int = 20, light: int = 10) -> Iterator[Demand]:
    """Owners that together submit twice what the cluster can run, by different numbers of jobs, and owners with little."""
    # A mean job takes 4.3 GPUs for two hours.
    needed = 2 * gpus / (4.33 * 2.0) / backlogged
    for number in range(backlogged):
        part = 0.75 + 0.5 * number / (backlogged - 1)
        yield Demand(f"backlogged_{number:02}", needed * part, low=0.2, high=0.1)
    for number in range(light):
        yield Demand(f"light_{number:02}", needed / 20)


def simulate(
    policy: Policy, seed: int = 0, scale: float = 1.0, hours: float = 24.0, preemption: bool = False
) -> dict[str, Any]:
    """The figures of a simulated day. `scale` 0.1: a tenth of the workers and of the jobs."""
    workers = {size: round(number * scale) for size, number in WORKERS.items()}
    gpus = sum(size * number for size, number in workers.items())
    found = Cluster(list(demands(gpus)), policy, seed, workers).run(hours * HOUR, preemption)
    heavy = [used for owner, used in found.used.items() if owner.startswith("backlogged")]
    mean = sum(heavy) / len(heavy)
    light = [wait for owner, waits in found.waits.items() if owner.startswith("light") for wait in waits]
    return {
        "gpus": gpus,
        "jobs_started": found.started,
        "fair_share_error": round(max(abs(used / mean - 1) for used in heavy), 4),
        "longest_line_wait_hours": round(max(found.line_waits) / HOUR, 2),
        "light_owner_wait_p50_minutes": _percentile_minutes(light, 50),
        "light_owner_wait_p99_minutes": _percentile_minutes(light, 99),
        "high_priority_wait_p50_minutes": _percentile_minutes(found.high_waits, 50),
        "high_priority_wait_p99_minutes": _percentile_minutes(found.high_waits, 99),
        "preemptions": found.preemptions,
        "most_preemptions_of_a_job": found.most_preempted,
        "workers_busy": round(found.busy, 4),
        "gpus_used": round(sum(found.used.values()) / (gpus * hours * HOUR), 4),
    }


def _percentile_minutes(seconds: list[float], percent: int) -> float | None:
    """A percentile in minutes; None for fewer than two values."""
    return round(quantiles(seconds, n=100)[percent - 1] / 60, 1) if len(seconds) > 1 else None


def main(argv: list[str] | None = None) -> dict[str, Any]:
    """Simulate, print and write the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.platform_suite.queue_simulation", description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scale", type=float, default=1.0, help="part of the cluster (default 1: 10,000 GPUs)")
    parser.add_argument("--preemption", action="store_true", help="make the jobs of low priority preemptible")
    parser.add_argument("--half-life-hours", type=float, default=24.0)
    parser.add_argument("--ageing-hours", type=float, default=6.0)
    arguments = parser.parse_args(argv)
    policy = Policy(half_life=arguments.half_life_hours * HOUR, ageing=arguments.ageing_hours * HOUR)
    figures = simulate(policy, arguments.seed, arguments.scale, preemption=arguments.preemption)
    sys.stdout.write(json.dumps(figures, indent=1) + "\n")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")
    return figures


if __name__ == "__main__":
    main()
