"""Tokens with which workers join. Only their hashes are stored, so a token is shown once, at its creation."""

import base64
import hashlib
import secrets
from datetime import datetime, timedelta

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from core.access.keys import is_valid_key
from core.errors import NotSignedIn
from core.models import ApiKey, WorkerToken

PREFIX = "prxw_"
_NOT_VALID = (
    "The token is not valid any more. It lets one worker join, within minutes. An operator creates another one."
)


def create_token(session: Session, key_id: str, lifetime: timedelta) -> tuple[str, datetime]:
    """A token of an operator's key. Returns its text, which is not stored, and its end. Deletes expired tokens."""
    session.execute(delete(WorkerToken).where(WorkerToken.expires_at < func.clock_timestamp()))
    text = PREFIX + base64.b32encode(secrets.token_bytes(20)).decode().lower()
    token = WorkerToken(sha256=_sha256(text), key_id=key_id, expires_at=func.clock_timestamp() + lifetime)
    session.add(token)
    session.flush()
    session.refresh(token)
    return text, token.expires_at


def redeem_token(session: Session, text: str) -> str:
    """Delete a token, and return the id of the key that created it. Raises NotSignedIn for an unknown, used or expired one.

    Only one of several concurrent calls with the same token succeeds. A token ends with the key that created it.
    """
    valid = (WorkerToken.sha256 == _sha256(text), WorkerToken.expires_at > func.clock_timestamp())
    key_id = session.scalars(delete(WorkerToken).where(*valid).returning(WorkerToken.key_id)).one_or_none()
    query = select(ApiKey.id).where(ApiKey.id == key_id, is_valid_key(), ApiKey.operator)
    found = session.scalars(query).one_or_none()
    if found is None:
        raise NotSignedIn(_NOT_VALID)
    return found


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
