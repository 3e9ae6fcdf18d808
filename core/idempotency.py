"""Stored responses of requests with an `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header).

The response is stored in the transaction of its request. So a request that fails or is killed leaves nothing, and may be
repeated with the same key. An advisory lock of the transaction marks a request that is in flight.
"""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from core.errors import IdempotencyKeyReused, RequestInFlight
from core.models import StoredResponse

LONGEST_KEY = 255


@dataclass(frozen=True)
class RequestIdentity:
    """A request that is to take effect once."""

    owner_id: str
    key: str
    """The client's `Idempotency-Key`."""
    operation: str
    """Method and path."""
    fingerprint: str
    """Hash of the body."""


def begin(session: Session, request: RequestIdentity) -> StoredResponse | None:
    """The stored response of an earlier request with the same key; None if this one is to be carried out.

    Raises RequestInFlight while another request with the key runs, and IdempotencyKeyReused for a key of another request.
    """
    lock = func.hashtextextended(f"idempotency {request.owner_id} {request.key}", 0)
    if not session.scalars(select(func.pg_try_advisory_xact_lock(lock))).one():
        raise RequestInFlight(f"A request with the Idempotency-Key {request.key!r} is still in progress. Try again.")
    stored = session.get(StoredResponse, (request.owner_id, request.key))
    if stored is None:
        return None
    if session.scalars(select(func.clock_timestamp())).one() > stored.expires_at:
        session.delete(stored)
        session.flush()
        return None
    if (stored.operation, stored.fingerprint) != (request.operation, request.fingerprint):
        raise IdempotencyKeyReused(
            f"The Idempotency-Key {request.key!r} belongs to another request: {stored.operation}, or another body."
        )
    return stored


def keep(
    session: Session, request: RequestIdentity, status: int, headers: dict[str, str], body: str, hours: float
) -> None:
    """Store the response for `hours`. The caller commits it together with the effects of the request."""
    session.add(
        StoredResponse(
            owner_id=request.owner_id,
            key=request.key,
            operation=request.operation,
            fingerprint=request.fingerprint,
            status=status,
            headers=headers,
            body=body,
            expires_at=func.clock_timestamp() + timedelta(hours=hours),
        )
    )
    session.flush()


def sweep(session: Session) -> None:
    """Delete expired responses."""
    session.execute(delete(StoredResponse).where(StoredResponse.expires_at < func.clock_timestamp()))
