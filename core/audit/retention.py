"""Removes old rows from the front of a chain. The hash of the last removed row stays, so the rest can be verified."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import delete, func, select, text, update
from sqlalchemy.orm import Session

from core.models import AuditChain, AuditRow

_MOST = 5000
"""Most rows of one transaction, which keeps the chain locked."""


def projects_with_old_rows(session: Session, days: float) -> Sequence[str]:
    """The projects whose oldest row is older than `days`."""
    old = select(AuditRow.number).where(AuditRow.project_id == AuditChain.project_id, AuditRow.at < _limit(days))
    return session.scalars(select(AuditChain.project_id).where(old.exists()).order_by(AuditChain.project_id)).all()


def remove_old_rows(session: Session, project_id: str, days: float) -> int:
    """Remove at most 5000 rows that are older than `days`, the oldest first. Returns their number.

    A row behind a younger one stays, since the clock may have been set back, and rows go from the front only.
    """
    of_project = AuditRow.project_id == project_id
    chain = select(AuditChain).filter_by(project_id=project_id).with_for_update()
    anchor = session.scalars(chain).one().anchor_number
    young = select(func.min(AuditRow.number)).where(of_project, AuditRow.at >= _limit(days))
    end = session.scalars(young).one()
    removed = of_project & (AuditRow.number <= anchor + _MOST)
    if end is not None:
        removed &= AuditRow.number < end
    last = session.execute(
        select(AuditRow.number, AuditRow.hash).where(removed).order_by(AuditRow.number.desc()).limit(1)
    ).one_or_none()
    if last is None:
        return 0
    moved = update(AuditChain).where(AuditChain.project_id == project_id)
    session.execute(moved.values(anchor_number=last.number, anchor_hash=last.hash))
    session.execute(text("SET LOCAL proximal.audit_retention = 'on'"))
    session.execute(delete(AuditRow).where(removed).execution_options(synchronize_session=False))
    session.execute(text("SET LOCAL proximal.audit_retention = 'off'"))
    return int(last.number) - anchor


def _limit(days: float) -> datetime:
    return datetime.now(UTC) - timedelta(days=days)
