"""Lanes of data tasks, the order in which tasks are claimed, and the place of a task that waits.

A user waits in front of the screen for an interactive task, such as a validation. It never waits behind imports or reports.
Each data worker has slots, which are processes that run one task at a time (worker/tasks/slots.py):

- One slot is kept free for interactive tasks.
- With three slots or more, another one never runs reports, so that an import does not wait for them.
- The others run every task. They take an interactive one only while one of another owner runs, and none of its own owner.
- With four slots or more, no owner holds all of them: at most two fewer run its imports and reports.

Inside a lane, owners take turns: the owner with the fewest running tasks is next, then the one whose tasks ran for the
shortest time within the last hour. An owner whose interactive tasks ran for minutes within the hour waits for its turn among all
tasks. Background work comes last.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from sqlalchemy import ColumnElement, Select, Subquery, and_, case, exists, func, or_, select, true
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from core.models import DataTask
from core.models.tasks import TaskStatus

INTERACTIVE = ("validate",)
REPORTS = ("report", "annotation_scores")
IMPORTS = ("fetch", "fix", "import")
"""Kinds of tasks that make a version of a dataset from a file or from another version."""
BACKGROUND = ("index",)
"""Kinds of tasks that no user waits for."""
_URGENT_SECONDS = 120
"""Time of an owner's interactive tasks within an hour from which further ones do not come before imports and reports."""
_FEWEST_WITH_SPARE = 4
"""Slots from which on one of them is left to other owners."""
_SHOWN = {"validate": "check", **dict.fromkeys(IMPORTS, "import")}
_SHOWN |= {"report": "report", "index": "search index"}


class Slot(StrEnum):
    """The tasks that a process of the data worker runs."""

    ANY = "any"
    """Every task. A data worker with one slot has this one."""
    INTERACTIVE = "interactive"
    IMPORTS = "imports"
    """Every task but reports and background work; interactive tasks as `GENERAL`."""
    GENERAL = "general"
    """Every task, an interactive one only while one of another owner runs."""


@dataclass(frozen=True)
class Seat:
    """A slot, and the data worker that it belongs to."""

    slot: Slot = Slot.ANY
    data_worker: str = ""
    """Its id, with which the ids of its slots begin."""
    slots: int = 1
    """The number of its slots."""


ONLY_SEAT = Seat()
"""The slot of a data worker that has one."""


def slots_of(count: int) -> list[Slot]:
    """The slots of a data worker with `count` processes."""
    if count == 1:
        return [Slot.ANY]
    imports = [Slot.IMPORTS] if count > 2 else []
    return [Slot.INTERACTIVE, *imports, *[Slot.GENERAL] * (count - 1 - len(imports))]


def default_slots(cores: int) -> int:
    """Four, or two on a machine with one core. A slot that waits takes memory, but no time."""
    return 4 if cores > 1 else 2


def next_task(seat: Seat) -> Select[DataTask]:
    """The task that this slot claims next, locked. Skips tasks that another transaction has locked.

    Two claims at the same moment do not see each other's running task, so an owner may get one turn too early. Neither waits
    for the other, which may have been suspended.
    """
    shares = _shares()
    same_lane = and_(shares.c.owner_id == DataTask.owner_id, shares.c.interactive == _is_interactive(DataTask.kind))
    query = select(DataTask).outerjoin(shares, same_lane)
    query = query.where(DataTask.status == TaskStatus.QUEUED, _may_run(seat))
    order = (
        DataTask.kind.in_(BACKGROUND),
        ~and_(_is_interactive(DataTask.kind), func.coalesce(shares.c.seconds, 0) < _URGENT_SECONDS),
        func.coalesce(shares.c.running, 0),
        func.coalesce(shares.c.seconds, 0),
        DataTask.created_at,
        DataTask.id,
    )
    return query.order_by(*order).limit(1).with_for_update(skip_locked=True, of=DataTask)


def waits_for(seat: Seat) -> ColumnElement[bool]:
    """SQL: whether a queued task that a user waits for could run in this slot."""
    return and_(DataTask.status == TaskStatus.QUEUED, DataTask.kind.not_in(BACKGROUND), _may_run(seat))


@dataclass(frozen=True)
class Waiting:
    """The place of a queued task."""

    place: int
    """The number of tasks of its lane that run or are claimed before it. 0: it is the next one."""
    reason: str
    """The cause of the wait, as a sentence."""


def places(session: Session, task_ids: Sequence[str]) -> dict[str, Waiting]:
    """The places of those tasks that are queued, by their id.

    The order is that of the claims if no task is added. Each task is assumed to run for the mean time of its lane within
    the last hour, in as many slots as are busy now.
    """
    if not task_ids:
        return {}
    queued = select(DataTask.id, DataTask.owner_id, DataTask.kind).where(DataTask.status == TaskStatus.QUEUED)
    queued = queued.order_by(DataTask.created_at, DataTask.id)
    waiting = [(task_id, owner, kind) for task_id, owner, kind in session.execute(queued)]
    busy = select(DataTask.owner_id, DataTask.kind).where(DataTask.status == TaskStatus.RUNNING)
    running = session.execute(busy.order_by(DataTask.started_at, DataTask.id)).all()
    used = session.execute(select(_shares())).all()
    found: dict[str, Waiting] = {}
    for interactive in (True, False):
        line = _LaneQueue([owner for owner, kind in running if (kind in INTERACTIVE) is interactive])
        for share in used:
            if share.interactive is interactive:
                line.add_ended(share.owner_id, share.ended, float(share.ended_seconds or 0))
        ahead = Counter(_shown(kind) for _, kind in running if (kind in INTERACTIVE) is interactive)
        for task_id, kind in line.in_order([row for row in waiting if (row[2] in INTERACTIVE) is interactive]):
            if task_id in task_ids:
                found[task_id] = Waiting(ahead.total(), _reason(ahead))
            ahead[_shown(kind)] += 1
    return found


@dataclass
class _LaneQueue:
    """The tasks of a lane that wait, as they are claimed when running ones end."""

    busy: list[str]
    """The owners of the running tasks, of which the first ends first."""
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    """The time of each owner's tasks that ended within the last hour."""
    ended: int = 0
    """The number of those tasks."""

    def add_ended(self, owner: str, count: int, seconds: float) -> None:
        self.seconds[owner] += seconds
        self.ended += count

    def in_order(self, waiting: Sequence[tuple[str, str, str]]) -> Iterator[tuple[str, str]]:
        """The id and the kind of each task, from ids, owners and kinds in the order of their creation. Background work comes last."""
        for background in (False, True):
            yield from self._claimed([row for row in waiting if (row[2] in BACKGROUND) is background])

    def _claimed(self, waiting: Sequence[tuple[str, str, str]]) -> Iterator[tuple[str, str]]:
        typical = sum(self.seconds.values()) / self.ended if self.ended else 1.0
        running, busy, slots = Counter(self.busy), deque(self.busy), max(1, len(self.busy))
        queues: dict[str, deque[tuple[int, str, str]]] = defaultdict(deque)
        for number, (task_id, owner, kind) in enumerate(waiting):
            queues[owner].append((number, task_id, kind))
        while queues:
            if len(busy) >= slots:
                ended = busy.popleft()
                running[ended] -= 1
                self.seconds[ended] += typical
            owner = min(queues, key=lambda name: (running[name], self.seconds[name], queues[name][0]))
            _, task_id, kind = queues[owner].popleft()
            if not queues[owner]:
                del queues[owner]
            running[owner] += 1
            busy.append(owner)
            yield task_id, kind


def _shares() -> Subquery:
    """For each owner and lane: the running tasks, those that ended within the last hour, and the seconds of both and of the latter."""
    task, now = aliased(DataTask), func.statement_timestamp()  # one moment for all rows, however often a plan reads it
    ended_at = func.coalesce(task.finished_at, now)
    recent = and_(task.finished_at > now - func.make_interval(0, 0, 0, 0, 1), task.started_at.is_not(None))
    seconds = func.sum(func.extract("epoch", ended_at - task.started_at))
    counted = and_(or_(task.status == TaskStatus.RUNNING, recent), task.kind.not_in(BACKGROUND))
    interactive = _is_interactive(task.kind)
    running = func.count().filter(task.status == TaskStatus.RUNNING)
    query = select(task.owner_id, interactive.label("interactive"), running.label("running"), seconds.label("seconds"))
    query = query.add_columns(func.count().filter(recent).label("ended"), seconds.filter(recent).label("ended_seconds"))
    return query.where(counted).group_by(task.owner_id, interactive).subquery()


def _may_run(seat: Seat) -> ColumnElement[bool]:
    interactive = _is_interactive(DataTask.kind)
    if seat.slot is Slot.ANY:
        return true()
    if seat.slot is Slot.INTERACTIVE:
        return interactive
    other = aliased(DataTask)
    one_runs = exists().where(other.status == TaskStatus.RUNNING, _is_interactive(other.kind))
    beside_others = and_(interactive, one_runs, ~one_runs.where(other.owner_id == DataTask.owner_id))
    bulk = DataTask.kind.not_in((*INTERACTIVE, *REPORTS, *BACKGROUND)) if seat.slot is Slot.IMPORTS else ~interactive
    if seat.slots >= _FEWEST_WITH_SPARE:
        bulk = and_(bulk, or_(DataTask.kind.in_(BACKGROUND), _bulk_of_owner(seat) < seat.slots - 2))
    return or_(bulk, beside_others)


def _bulk_of_owner(seat: Seat) -> ColumnElement[int]:
    """SQL: the number of imports and reports of the task's owner that this data worker runs."""
    own = aliased(DataTask)
    query = select(func.count()).where(own.status == TaskStatus.RUNNING, own.owner_id == DataTask.owner_id)
    query = query.where(
        own.kind.not_in((*INTERACTIVE, *BACKGROUND)), own.worker_id.startswith(seat.data_worker, autoescape=True)
    )
    return query.correlate(DataTask).scalar_subquery()


def _is_interactive(kind: ColumnElement[str] | InstrumentedAttribute[str]) -> ColumnElement[bool]:
    return case((kind.in_(INTERACTIVE), True), else_=False)


def _shown(kind: str) -> str:
    return _SHOWN.get(kind, "other task")


def _reason(ahead: Counter[str]) -> str:
    parts = [f"{count} {name}{_plural(name, count)}" for name, count in sorted(ahead.items()) if count]
    return f"Waits behind {_listed(parts)}." if parts else "Waits for a data worker."


def _plural(name: str, count: int) -> str:
    return "" if count == 1 else "es" if name.endswith("x") else "s"


def _listed(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
