"""The use of each owner, as columns of `owners`: running jobs, their slots, decayed use and use of the calendar month.

The claim and the end of an attempt change them in their own transaction, so each attempt counts exactly once. Between two
changes the number of slots is constant, so the use at any time follows from the columns. `policy.Share` has the formulas.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import text
from sqlalchemy.orm import Session

from core.models import Project
from core.models.jobs import ACTIVE
from core.scheduling.policy import Share
from core.settings import Settings, get_settings

SECONDS_SINCE = "extract(epoch FROM clock.now - owner.use_at)::float8"
MONTH_START = "date_trunc('month', clock.now, 'UTC')"
KEPT = f"power(2.0::float8, -{SECONDS_SINCE} / :half_life)"
DECAYED = f"(owner.decayed_use * {KEPT} + owner.slots_in_use * :half_life / ln(2.0::float8) * (1 - {KEPT}))"
"""SQL of `Share.decayed_at`, for the tables `owners AS owner` and `clock`, with the parameter `half_life` in seconds."""
MONTH = f"""(CASE WHEN owner.use_at >= {MONTH_START} THEN owner.month_use + owner.slots_in_use * {SECONDS_SINCE}
    ELSE owner.slots_in_use * extract(epoch FROM clock.now - {MONTH_START})::float8 END)"""
"""SQL of `Share.month_at`."""
_ACTIVE = ", ".join(f"'{status.value}'" for status in ACTIVE)
_END = text(
    f"""
    WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now)
    UPDATE owners AS owner
    SET decayed_use = {DECAYED}, month_use = {MONTH}, use_at = clock.now,
        running_jobs = greatest(owner.running_jobs - 1, 0), slots_in_use = greatest(owner.slots_in_use - :slots, 0)
    FROM clock WHERE owner.id = :owner_id
    RETURNING owner.use_at
    """
)
_WRONG = text(
    f"""
    SELECT owner.id FROM owners AS owner LEFT JOIN (
        SELECT owner_id, count(*) AS jobs, sum(slots) AS slots FROM jobs WHERE status IN ({_ACTIVE}) GROUP BY owner_id
    ) AS held ON held.owner_id = owner.id
    WHERE (owner.running_jobs, owner.slots_in_use) <> (coalesce(held.jobs, 0), coalesce(held.slots, 0))
    ORDER BY owner.id
    """
)
_LOCK = text("SELECT id FROM owners WHERE id = :owner_id FOR NO KEY UPDATE")
_REPAIR = text(
    f"""
    WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now), held AS MATERIALIZED (
        SELECT count(*) AS jobs, coalesce(sum(slots), 0) AS slots
        FROM jobs WHERE owner_id = :owner_id AND status IN ({_ACTIVE})
    )
    UPDATE owners AS owner
    SET decayed_use = {DECAYED}, month_use = {MONTH}, use_at = clock.now,
        running_jobs = held.jobs, slots_in_use = held.slots
    FROM clock, held WHERE owner.id = :owner_id
    """
)


def half_life_seconds(settings: Settings) -> float:
    """The half-life of use, in seconds."""
    return settings.fair_share_half_life_hours * 3600


def end_attempt(session: Session, owner_id: str, slots: int) -> datetime:
    """Count the end of an attempt. Returns the time until which it counts. The owner's row stays locked until the commit."""
    ended: datetime = session.execute(_END, _parameters(owner_id) | {"slots": slots}).scalar_one()
    return ended


def share_of(owner: Project) -> Share:
    """The stored share of an owner."""
    return Share(
        owner.running_jobs, owner.slots_in_use, owner.decayed_use, owner.month_use, at=owner.use_at.timestamp()
    )


def repair_shares(session: Session) -> list[str]:
    """Correct the running jobs and slots of owners whose jobs were changed by other programs. Returns the owners' ids.

    Every claim and every end locks the owner's row. The figures are counted again under that lock, so none is missed.
    """
    wrong = list(session.scalars(_WRONG))
    for owner_id in wrong:
        session.execute(_LOCK, {"owner_id": owner_id})
        session.execute(_REPAIR, _parameters(owner_id))
    return wrong


def _parameters(owner_id: str) -> dict[str, Any]:
    return {"owner_id": owner_id, "half_life": half_life_seconds(get_settings())}
