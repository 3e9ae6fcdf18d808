"""Lanes of data tasks, the order in which tasks are claimed, and the place of a task that waits.

A user waits in front of the screen for an interactive task, such as a validation. It never waits behind imports or reports.
Each data worker has slots, which are processes that run one task at a time (worker/tasks/slots.py):

- One slot is kept free for interactive tasks.
- With three slots or more, another one never runs reports, so that an import does not wait for them.
- The others run every task. They take an interactive one only while another interactive one runs.

Inside a lane, owners take turns: the owner with the fewest running tasks is next, then the one whose tasks ran for the
shortest time within the last hour. Background work comes last.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import ColumnElement, Select, Subquery, and_, case, exists, func, or_, select, true
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from core.models import DataTask
from core.models.tasks import TaskStatus

INTERACTIVE = ("validate",)
REPORTS = ("report", "annotation_scores")
BACKGROUND = ("index",)
"""Kinds of tasks that no user waits for."""
_SHOWN = {"validate": "check", "fetch": "import", "fix": "import", "import": "import"}
_SHOWN |= {"report": "report", "index": "search index"}


class Slot(StrEnum):
    """The tasks that a process of the data worker runs."""

    ANY = "any"
    """Every task. A data worker with one slot has this one."""
    INTERACTIVE = "interactive"
    IMPORTS = "imports"
    """Every task but reports and background work; interactive tasks as `GENERAL`."""
    GENERAL = "general"
    """Every task, an interactive one only while another interactive one runs."""


def slots_of(count: int) -> list[Slot]:
    """The slots of a data worker with `count` processes."""
    if count == 1:
        return [Slot.ANY]
    imports = [Slot.IMPORTS] if count > 2 else []
    return [Slot.INTERACTIVE, *imports, *[Slot.GENERAL] * (count - 1 - len(imports))]


def default_slots(cores: int) -> int:
    """Three on a machine with two cores, four with more. A slot that waits takes memory, but no time."""
    return min(4, 2 + cores // 2)


def next_task(slot: Slot) -> Select[DataTask]:
    """The task that this slot claims next, locked. Skips tasks that another transaction has locked.

    Two claims at the same moment do not see each other's running task, so an owner may get one turn too early. Neither waits
    for the other, which may have been suspended.
    """
    shares = _shares()
    same_lane = and_(shares.c.owner_id == DataTask.owner_id, shares.c.interactive == _is_interactive(DataTask.kind))
    query = select(DataTask).outerjoin(shares, same_lane)
    query = query.where(DataTask.status == TaskStatus.QUEUED, _may_run(slot))
    order = (
        DataTask.kind.in_(BACKGROUND),
        ~_is_interactive(DataTask.kind),
        func.coalesce(shares.c.running, 0),
        func.coalesce(shares.c.seconds, 0),
        DataTask.created_at,
        DataTask.id,
    )
    return query.order_by(*order).limit(1).with_for_update(skip_locked=True, of=DataTask)


def waits_for(slot: Slot) -> ColumnElement[bool]:
    """SQL: whether a queued task that a user waits for could run in this slot."""
    return and_(DataTask.status == TaskStatus.QUEUED, DataTask.kind.not_in(BACKGROUND), _may_run(slot))


@dataclass(frozen=True)
class Waiting:
    """The place of a queued task."""

    place: int
    """The number of tasks of its lane that run or are claimed before it. 0: it is the next one."""
    reason: str
    """The cause of the wait, as a sentence."""


def places(session: Session, task_ids: Sequence[str]) -> dict[str, Waiting]:
    """The places of those tasks that are queued, by their id.

    Owners take turns, so that the place assumes that each owner's running and earlier tasks come first.
    """
    if not task_ids:
        return {}
    shares = _shares()
    same_lane = and_(shares.c.owner_id == DataTask.owner_id, shares.c.interactive == _is_interactive(DataTask.kind))
    lane, background = _is_interactive(DataTask.kind), DataTask.kind.in_(BACKGROUND)
    own_before = func.row_number().over(
        partition_by=(DataTask.owner_id, lane, background), order_by=(DataTask.created_at, DataTask.id)
    )
    turn = own_before + func.coalesce(shares.c.running, 0)
    is_queued = DataTask.status == TaskStatus.QUEUED
    queued = select(DataTask.id, DataTask.kind).outerjoin(shares, same_lane).where(is_queued)
    queued = queued.order_by(background, turn, func.coalesce(shares.c.seconds, 0), DataTask.created_at, DataTask.id)
    running = session.scalars(select(DataTask.kind).where(DataTask.status == TaskStatus.RUNNING)).all()
    before = {
        flag: Counter(_shown(kind) for kind in running if (kind in INTERACTIVE) is flag) for flag in (True, False)
    }
    found: dict[str, Waiting] = {}
    for task_id, kind in session.execute(queued):
        ahead = before[kind in INTERACTIVE]
        if task_id in task_ids:
            found[task_id] = Waiting(ahead.total(), _reason(ahead))
        ahead[_shown(kind)] += 1
    return found


def _shares() -> Subquery:
    """For each owner and lane, the running tasks and the seconds for which tasks ran that run or ended within the last hour."""
    task = aliased(DataTask)
    ended_at = func.coalesce(task.finished_at, func.clock_timestamp())
    recent = task.finished_at > func.clock_timestamp() - func.make_interval(0, 0, 0, 0, 1)
    seconds = func.sum(func.extract("epoch", ended_at - task.started_at))
    counted = and_(or_(task.status == TaskStatus.RUNNING, recent), task.kind.not_in(BACKGROUND))
    interactive = _is_interactive(task.kind)
    running = func.count().filter(task.status == TaskStatus.RUNNING)
    query = select(task.owner_id, interactive.label("interactive"), running.label("running"), seconds.label("seconds"))
    return query.where(counted).group_by(task.owner_id, interactive).subquery()


def _may_run(slot: Slot) -> ColumnElement[bool]:
    interactive = _is_interactive(DataTask.kind)
    if slot is Slot.ANY:
        return true()
    if slot is Slot.INTERACTIVE:
        return interactive
    other = aliased(DataTask)
    one_runs = exists().where(other.status == TaskStatus.RUNNING, _is_interactive(other.kind))
    bulk = DataTask.kind.not_in((*INTERACTIVE, *REPORTS, *BACKGROUND)) if slot is Slot.IMPORTS else ~interactive
    return or_(bulk, and_(interactive, one_runs))


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
