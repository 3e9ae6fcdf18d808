"""API keys and signed-in browsers. Only hashes are stored; what is shown once cannot be shown again."""

import base64
import hashlib
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from core.errors import NotFound, NotSignedIn
from core.models import ApiKey, BrowserSession
from core.models.base import new_id

PREFIX = "prx_"
_SEEN_EVERY = timedelta(minutes=1)


@dataclass(frozen=True)
class Principal:
    """Who is calling, and whether by a cookie (then the request must come from our own pages)."""

    key_id: str
    key_name: str
    by_cookie: bool
    expires_at: datetime | None = None


def create_key(session: Session, name: str) -> tuple[ApiKey, str]:
    """A new key and its text, which nobody can be shown again."""
    plaintext = PREFIX + base64.b32encode(secrets.token_bytes(20)).decode().lower()
    key = ApiKey(id=new_id("key"), name=name, prefix=plaintext[: len(PREFIX) + 4], sha256=_sha256(plaintext))
    session.add(key)
    session.flush()
    return key, plaintext


def revoke_key(session: Session, key_id: str) -> None:
    """Refuse it from now on, and sign out its browsers."""
    key = session.get(ApiKey, key_id)
    if key is None:
        raise NotFound(f"There is no key {key_id!r}.")
    key.revoked_at = key.revoked_at or datetime.now(UTC)
    session.execute(delete(BrowserSession).where(BrowserSession.key_id == key_id))


def authenticate(session: Session, plaintext: str) -> Principal:
    """Who holds this key. NotSignedIn if nobody does.

    Looked up by its hash: how long that takes says nothing about any key.
    """
    key = session.scalars(select(ApiKey).filter_by(sha256=_sha256(plaintext), revoked_at=None)).one_or_none()
    if key is None:
        raise NotSignedIn("This API key is unknown or revoked.")
    _note_use(session, key)
    return Principal(key.id, key.name, by_cookie=False)


def open_session(session: Session, key_id: str, lifetime: timedelta) -> tuple[str, datetime]:
    """Sign a browser in: the token for its cookie, and when it ends. Clears away ended ones."""
    now = datetime.now(UTC)
    session.execute(delete(BrowserSession).where(BrowserSession.expires_at < now))
    token, expires_at = secrets.token_urlsafe(32), now + lifetime
    session.add(BrowserSession(sha256=_sha256(token), key_id=key_id, expires_at=expires_at))
    session.flush()
    return token, expires_at


def authenticate_session(session: Session, token: str) -> Principal:
    """Whose browser holds this cookie."""
    query = select(BrowserSession, ApiKey).join(ApiKey, ApiKey.id == BrowserSession.key_id)
    alive = (BrowserSession.expires_at > datetime.now(UTC), ApiKey.revoked_at.is_(None))
    found = session.execute(query.where(BrowserSession.sha256 == _sha256(token), *alive)).one_or_none()
    if found is None:
        raise NotSignedIn("The session has ended; sign in again.")
    browser, key = found
    return Principal(key.id, key.name, by_cookie=True, expires_at=browser.expires_at)


def close_session(session: Session, token: str) -> None:
    """Sign the browser out."""
    session.execute(delete(BrowserSession).where(BrowserSession.sha256 == _sha256(token)))


def _note_use(session: Session, key: ApiKey) -> None:
    """At most once a minute, so that reading does not become writing."""
    now = datetime.now(UTC)
    if key.last_used_at is None or now - key.last_used_at > _SEEN_EVERY:
        session.execute(update(ApiKey).where(ApiKey.id == key.id).values(last_used_at=now))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
