"""API keys and browser sessions: who calls. Only their hashes are stored, so a key is shown once, at its creation."""

import base64
import hashlib
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, and_, delete, func, not_, or_, select, union_all, update
from sqlalchemy.orm import Session

from core.access import users
from core.access.policy import Action, Scope, refusal, roles_for
from core.errors import NotAllowed, NotFound, NotOperator, NotSignedIn, QuotaExceeded
from core.models import UNAUDITED, ApiKey, BrowserSession, Membership, Project, Role, SignInCode, User, WorkerToken
from core.models.base import new_id
from data.parse import storable

PREFIX = "prx_"
MOST_KEYS = 100
"""Most valid keys of a project, and most of those that are over in a list."""
_LONGEST_AGENT = 500
"""Most characters of a browser's name that are kept."""
_LAST_USED_INTERVAL = timedelta(minutes=1)


@dataclass(frozen=True)
class Principal:
    """The key that a request is made with, its user, and the project in which it acts.

    `by_cookie`: a browser session stands for the key, so the request must come from the dashboard's own pages.
    """

    key_id: str
    key_name: str
    owner_id: str
    """The project's id."""
    user_id: str
    user_name: str
    role: Role
    by_cookie: bool
    expires_at: datetime | None = None
    """When the key ends, or the browser session if that is earlier; None: never."""
    operator: bool = False
    """Whether the key may change workers."""
    scopes: frozenset[Scope] | None = None
    """The scopes to which the key is limited; None: no limit."""
    session_sha256: str | None = None
    """The browser session's primary key."""

    @property
    def credential(self) -> str:
        """Identifies the API key or the browser session, for `valid_credentials`."""
        return self.session_sha256 or self.key_id

    def may(self, action: Action, *, own: bool = True) -> bool:
        """Whether it may act. `own`: on an object that its user made, or on none."""
        return refusal(action, self.role, self.scopes, self.operator, own=own) is None

    def require(self, action: Action, *, own: bool = True) -> None:
        """Raise NotAllowed, or NotOperator for want of an operator's key, unless it may act."""
        reason = refusal(action, self.role, self.scopes, self.operator, own=own)
        if reason is not None:
            raise (NotOperator if action is Action.OPERATE and not self.operator else NotAllowed)(reason)


def create_key(session: Session, name: str, *, operator: bool = False) -> tuple[ApiKey, str]:
    """Store a new project with one user, its admin, and a key. Returns the key's row, and its text, which is not stored."""
    project = Project(id=new_id("prj"), name=name)
    session.add(project)
    session.flush()
    return add_key(session, project.id, name, user_id=users.first_user_of(session, project), operator=operator)


def add_key(
    session: Session,
    owner_id: str,
    name: str,
    *,
    user_id: str,
    operator: bool = False,
    made_by: str | None = None,
    scopes: Collection[Scope] | None = None,
    expires_at: datetime | None = None,
) -> tuple[ApiKey, str]:
    """Store a new key of a user in a project. Returns the key's row, and its text, which is not stored.

    `made_by`: the id of the key whose request creates it. `scopes`, `expires_at`: None without a limit.
    """
    plaintext = PREFIX + base64.b32encode(secrets.token_bytes(20)).decode().lower()
    key = ApiKey(
        id=new_id("key"),
        owner_id=owner_id,
        user_id=user_id,
        name=name,
        prefix=plaintext[: len(PREFIX) + 4],
        sha256=_sha256(plaintext),
        operator=operator,
        made_by=made_by,
        scopes=None if scopes is None else sorted(scopes),
        expires_at=expires_at,
    )
    session.add(key)
    session.flush()
    return key, plaintext


def check_count(session: Session, owner_id: str) -> None:
    """Raise QuotaExceeded if the project has MOST_KEYS valid keys. Concurrent calls for one project are serialised by a lock."""
    session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(f"keys {owner_id}", 0))))
    count = session.scalars(
        select(func.count()).select_from(ApiKey).where(ApiKey.owner_id == owner_id, is_valid_key())
    ).one()
    if count >= MOST_KEYS:
        detail = f"The project has {count} valid API keys. This platform allows {MOST_KEYS}. Revoke those that are no longer needed."
        raise QuotaExceeded(detail, limit=MOST_KEYS, value=count)


def listed(session: Session, owner_id: str, user_id: str | None = None) -> Sequence[ApiKey]:
    """The project's valid keys, and the newest MOST_KEYS of those that are revoked or have ended, the newest first.

    `user_id`: only those of one user.
    """
    newest = (ApiKey.created_at.desc(), ApiKey.id)
    wanted = [ApiKey.owner_id == owner_id] + ([] if user_id is None else [ApiKey.user_id == user_id])
    over = select(ApiKey.id).where(*wanted, not_(is_valid_key()))
    shown = or_(is_valid_key(), ApiKey.id.in_(over.order_by(*newest).limit(MOST_KEYS)))
    return session.scalars(select(ApiKey).where(*wanted, shown).order_by(*newest)).all()


def is_valid_key() -> ColumnElement[bool]:
    """The condition of a key that is neither revoked nor over."""
    return and_(ApiKey.revoked_at.is_(None), or_(ApiKey.expires_at.is_(None), ApiKey.expires_at > datetime.now(UTC)))


def valid_keys_made_by(session: Session, key_id: str) -> Sequence[ApiKey]:
    """The valid keys that a key made, and those that these made, in the order of their creation.

    A person who had the key for a moment may have made them. They stay valid when it is revoked.
    """
    made = select(ApiKey.id).where(ApiKey.made_by == key_id).cte(recursive=True)
    made = made.union(select(ApiKey.id).join(made, ApiKey.made_by == made.c.id))
    query = select(ApiKey).where(ApiKey.id.in_(select(made.c.id)), is_valid_key())
    return session.scalars(query.order_by(ApiKey.created_at, ApiKey.id)).all()


def revoke_key(session: Session, key_id: str) -> None:
    """Revoke the key, and delete its browser sessions, sign-in codes and worker tokens. Raises NotFound."""
    key = session.get(ApiKey, key_id)
    if key is None:
        raise NotFound(f"There is no key {key_id!r}.")
    key.revoked_at = key.revoked_at or datetime.now(UTC)
    for made in (BrowserSession, SignInCode, WorkerToken):
        session.execute(delete(made).where(made.key_id == key_id))


def replace_ended(session: Session, plaintext: str) -> tuple[ApiKey, str] | None:
    """A new key in place of one that is revoked or over, with its member and rights.

    None for an unknown key, and if its user is no longer a member. The caller must be on the host: an ended key opens nothing.
    """
    old = session.scalars(select(ApiKey).filter_by(sha256=_sha256(plaintext))).one_or_none()
    if old is None or old.user_id is None or session.get(Membership, (old.owner_id, old.user_id)) is None:
        return None
    scopes = None if old.scopes is None else [Scope(scope) for scope in old.scopes]
    return add_key(session, old.owner_id, old.name, user_id=old.user_id, operator=old.operator, scopes=scopes)


def has_expired(key: ApiKey) -> bool:
    """Whether the end of the key is over."""
    return key.expires_at is not None and key.expires_at <= datetime.now(UTC)


def end_key(session: Session, key: ApiKey, after: timedelta) -> None:
    """End a key after some time, or at its own end if that is earlier. Without a time it is revoked now."""
    if not after:
        revoke_key(session, key.id)
        return
    end = datetime.now(UTC) + after
    key.expires_at = end if key.expires_at is None else min(end, key.expires_at)
    session.flush()


def authenticate(session: Session, plaintext: str) -> Principal:
    """The principal of an API key. Raises NotSignedIn for an unknown, revoked or expired key.

    The row is looked up by the hash of the key, so the response time reveals nothing about stored keys.
    """
    key = session.scalars(select(ApiKey).filter_by(sha256=_sha256(plaintext), revoked_at=None)).one_or_none()
    if key is None:
        raise NotSignedIn("This API key is unknown or revoked.")
    principal = _principal(session, key)
    _note_use(session, key)
    return principal


def principal_of(session: Session, key_id: str) -> Principal:
    """The principal of a valid key. Raises NotSignedIn for an expired key, and for a user who is no member any more."""
    return _principal(session, session.get_one(ApiKey, key_id))


def is_operator(session: Session, plaintext: str) -> bool:
    """Whether the text is a valid operator's key without a limit that leaves out `manage`. Nothing is written, not even its use."""
    member = (Membership.user_id == ApiKey.user_id) & (Membership.project_id == ApiKey.owner_id)
    query = select(ApiKey).outerjoin(Membership, member).where(ApiKey.sha256 == _sha256(plaintext), ApiKey.operator)
    # A key without a user is of an earlier release, and gets one when it is used for the first time.
    query = query.where(ApiKey.revoked_at.is_(None), or_(ApiKey.user_id.is_(None), Membership.user_id.is_not(None)))
    key = session.scalars(query).one_or_none()
    if key is None or has_expired(key):
        return False
    return key.scopes is None or Scope.MANAGE in map(Scope, key.scopes)


def _principal(session: Session, key: ApiKey, browser: BrowserSession | None = None) -> Principal:
    """The principal of a valid key. Raises NotSignedIn for an expired key, and for a user who is no member any more."""
    if key.expires_at is not None and has_expired(key):
        when = f"{key.expires_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
        raise NotSignedIn(f"The API key {key.name!r} expired on {when}. Use another key, or make a new one.")
    user_id = key.user_id or users.adopt(session, key)
    member = select(User.name, Membership.role).join(Membership, Membership.user_id == User.id)
    found = session.execute(member.where(User.id == user_id, Membership.project_id == key.owner_id)).one_or_none()
    if found is None:
        raise NotSignedIn("The user of this API key is no longer a member of the project. Ask an admin of the project.")
    ends = [end for end in (key.expires_at, browser.expires_at if browser else None) if end is not None]
    return Principal(
        key.id,
        key.name,
        key.owner_id,
        user_id,
        found.name,
        Role(found.role),
        by_cookie=browser is not None,
        expires_at=min(ends, default=None),
        operator=key.operator,
        scopes=None if key.scopes is None else frozenset(map(Scope, key.scopes)),
        session_sha256=browser.sha256 if browser else None,
    )


def create_code(session: Session, key_id: str, lifetime: timedelta) -> tuple[str, datetime]:
    """A code that signs a browser in once. Returns its text, which is not stored, and its end. Deletes expired codes."""
    session.execute(delete(SignInCode).where(SignInCode.expires_at < func.clock_timestamp()))
    text = secrets.token_urlsafe(24)
    code = SignInCode(sha256=_sha256(text), key_id=key_id, expires_at=func.clock_timestamp() + lifetime)
    session.add(code)
    session.flush()
    session.refresh(code)
    return text, code.expires_at


def redeem_code(session: Session, text: str) -> Principal:
    """The principal of a sign-in code, which is deleted. Raises NotSignedIn for an unknown, used or expired code.

    Only one of several concurrent calls with the same code succeeds.
    """
    valid = (SignInCode.sha256 == _sha256(text), SignInCode.expires_at > func.clock_timestamp())
    key_id = session.scalars(delete(SignInCode).where(*valid).returning(SignInCode.key_id)).one_or_none()
    key = session.scalars(select(ApiKey).filter_by(id=key_id, revoked_at=None)).one_or_none()
    if key is None:
        raise NotSignedIn("The sign-in link is not valid any more. It works once, and for a few minutes.")
    return _principal(session, key)


def open_session(
    session: Session, key_id: str, lifetime: timedelta, *, address: str | None = None, user_agent: str | None = None
) -> tuple[str, datetime]:
    """Sign a browser in. Returns the token for its cookie and the end of the session. Deletes expired sessions."""
    now = datetime.now(UTC)
    session.execute(delete(BrowserSession).where(BrowserSession.expires_at < now))
    token, expires_at = secrets.token_urlsafe(32), now + lifetime
    known = {"address": _short(address), "user_agent": _short(user_agent)}
    session.add(BrowserSession(sha256=_sha256(token), key_id=key_id, expires_at=expires_at, **known))
    session.flush()
    return token, expires_at


def _short(text: str | None) -> str | None:
    return None if text is None else str(storable(text[:_LONGEST_AGENT]))


def sessions_of(session: Session, owner_id: str, user_id: str) -> Sequence[tuple[BrowserSession, ApiKey]]:
    """The browsers that are signed in with a user's keys of a project, the newest first."""
    now = datetime.now(UTC)
    query = select(BrowserSession, ApiKey).join(ApiKey, ApiKey.id == BrowserSession.key_id)
    query = query.where(
        ApiKey.owner_id == owner_id, ApiKey.user_id == user_id, is_valid_key(), BrowserSession.expires_at > now
    )
    rows = session.execute(query.order_by(BrowserSession.created_at.desc(), BrowserSession.sha256))
    return [(browser, key) for browser, key in rows]


def authenticate_session(session: Session, token: str) -> Principal:
    """The principal of a browser session. Raises NotSignedIn for an unknown or expired token."""
    query = select(BrowserSession, ApiKey).join(ApiKey, ApiKey.id == BrowserSession.key_id)
    alive = (BrowserSession.expires_at > datetime.now(UTC), ApiKey.revoked_at.is_(None))
    row = session.execute(query.where(BrowserSession.sha256 == _sha256(token), *alive)).one_or_none()
    if row is None:
        raise NotSignedIn("The session has ended. Sign in again.")
    browser, key = row
    return _principal(session, key, browser)


def valid_credentials(session: Session, credentials: Collection[str]) -> set[str]:
    """Those of the credentials (`Principal.credential`) that still may read: neither revoked, nor signed out, nor expired, and
    of a member whose role allows it."""
    now = datetime.now(UTC)
    member = (Membership.user_id == ApiKey.user_id) & (Membership.project_id == ApiKey.owner_id)
    key_is_valid = (
        ApiKey.revoked_at.is_(None),
        or_(ApiKey.expires_at.is_(None), ApiKey.expires_at > now),
        Membership.role.in_(roles_for(Action.READ, own=True)),
    )
    by_key = select(ApiKey.id).join(Membership, member).where(*key_is_valid, ApiKey.id.in_(credentials))
    browsers = select(BrowserSession.sha256).join(ApiKey, ApiKey.id == BrowserSession.key_id).join(Membership, member)
    browsers = browsers.where(*key_is_valid, BrowserSession.expires_at > now, BrowserSession.sha256.in_(credentials))
    return set(session.scalars(union_all(by_key, browsers)))


def close_session(session: Session, token: str) -> None:
    """Sign the browser out."""
    session.execute(delete(BrowserSession).where(BrowserSession.sha256 == _sha256(token)))


def _note_use(session: Session, key: ApiKey) -> None:
    """Store the time of use, at most once a minute, so that few reads cause a write."""
    now = datetime.now(UTC)
    if key.last_used_at is None or now - key.last_used_at > _LAST_USED_INTERVAL:
        used = update(ApiKey).where(ApiKey.id == key.id).values(last_used_at=now)
        session.execute(used, execution_options=UNAUDITED)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
