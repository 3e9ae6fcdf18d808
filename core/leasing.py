"""A table as a queue: a worker claims a row and holds it by a lease.

A waiting row has the status `queued`. A claim starts a numbered attempt and a lease, which the worker's heartbeat renews.
When a lease expires, the sweep takes the row away from its worker. A write names the attempt that it belongs to, and is
refused once another one holds the row (fencing). Leases are compared with the database's clock only, since the clocks of
two machines differ. Jobs and data tasks use this implementation, except that `core.scheduling` claims jobs.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, ClassVar, Generic, TypeVar

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import Session

from core.errors import LeaseLost
from core.models.base import LeasedRow
from core.settings import get_settings

QUEUED = "queued"
_MOST_LISTED = 1000
Row = TypeVar("Row", bound=LeasedRow)


@dataclass(frozen=True)
class SweepResult:
    """Ids of the rows whose worker was lost, by the status that they have now, and of up to 1,000 rows that wait."""

    requeued: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    queued: list[str] = field(default_factory=list)


class LeasedTable(ABC, Generic[Row]):
    """One table whose rows workers hold by leases."""

    model: type[Row]
    leased: ClassVar[Sequence[StrEnum]]
    """The statuses in which a worker holds the row."""

    @abstractmethod
    def take_away(self, session: Session, row: Row, reason: str) -> str:
        """End the attempt of a locked row as lost. Returns the row's new status."""

    def lease_seconds(self) -> float:
        """How long a worker holds a row after a renewal."""
        return get_settings().lease_seconds

    def held(self, session: Session, row_id: str, attempt: int, worker_id: str | None = None) -> Row:
        """The row, locked until the commit. Raises LeaseLost unless `attempt` still holds it.

        `worker_id` is needed where a released attempt gives its number back, so that a number can come twice.
        """
        row = session.get(self.model, row_id, with_for_update=True, populate_existing=True)
        if (
            row is None
            or row.attempt != attempt
            or row.status not in self.leased
            or worker_id not in (None, row.worker_id)
        ):
            state = f"is {row.status}, attempt {row.attempt}" if row else "does not exist any more"
            raise LeaseLost(f"Attempt {attempt} no longer holds {row_id}, which {state}.")
        return row

    def renew(self, session: Session, row: Row) -> Row:
        """Extend the lease of a row that `held` has returned."""
        row.lease_expires_at = _lease_end(self.lease_seconds())
        session.flush()
        session.refresh(row, ["lease_expires_at"])
        return row

    def sweep(self, session: Session) -> SweepResult:
        """Take rows with an expired lease away from their workers, and list the rows that wait.

        Any number of sweepers may run at once.
        """
        result = SweepResult()
        by_status = {"failed": result.failed, "cancelled": result.cancelled}
        for row in session.scalars(self._expired()):
            status = self.take_away(session, row, f"Worker {row.worker_id} was lost: its lease expired.")
            by_status.get(status, result.requeued).append(row.id)
        waiting = select(self.model.id).where(self.model.status == QUEUED).limit(_MOST_LISTED)
        result.queued.extend(session.scalars(waiting))
        return result

    def _expired(self) -> Select[Row]:
        """Skips locked rows: a heartbeat or another sweeper is writing them.

        Sorted by owner: the end of an attempt locks the row of its owner, and two sweepers must lock owners in one order.
        """
        expired = self.model.lease_expires_at < func.clock_timestamp()
        query = select(self.model).where(self.model.status.in_(self.leased), expired)
        return query.order_by(self.model.owner_id, self.model.id).with_for_update(skip_locked=True)


class LeasedQueue(LeasedTable[Row]):
    """A leased table with a claim of its own."""

    @abstractmethod
    def start(self, session: Session, row: Row, lease: dict[str, Any]) -> None:
        """Write the claimed row's new status together with the columns of its lease."""

    def claim(self, session: Session, worker_id: str, first: Select[Row]) -> Row | None:
        """Start an attempt at the row that the query `first` returns and locks; None if it returns none."""
        row = session.scalars(first).first()
        if row is None:
            return None
        started_at = row.started_at or datetime.now(UTC)
        lease = {"worker_id": worker_id, "lease_expires_at": _lease_end(self.lease_seconds()), "started_at": started_at}
        self.start(session, row, {"attempt": row.attempt + 1, **lease})
        session.flush()
        return row


def _lease_end(seconds: float) -> ColumnElement[datetime]:
    return func.clock_timestamp() + timedelta(seconds=seconds)
