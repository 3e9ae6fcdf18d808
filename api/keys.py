"""API keys: those of the caller, and for an admin those of all members."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import ConfigDict, Field
from sqlalchemy.orm import Session

from api.deps import PrincipalDep, SessionDep
from api.problems import BadRequest, documented
from api.schema import ListOf, Schema, Timestamp
from core import models
from core.access import keys, users
from core.access.keys import Principal
from core.access.policy import Action, Scope
from core.errors import (
    CrossOrigin,
    InvalidRequest,
    KeyInUse,
    NotAllowed,
    NotFound,
    NotOperator,
    NotSignedIn,
    QuotaExceeded,
    TooLarge,
    WrongMediaType,
)
from core.live import announce_ended_access

KEY_NAME_CHARACTERS = 100
LONGEST_OVERLAP = 30 * 86_400
"""Most seconds for which both keys of a rotation are valid."""


class NewKey(Schema):
    """A key to create."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=KEY_NAME_CHARACTERS, pattern=r"^[^\x00-\x1f]*$")]
    """Its purpose, such as the name of a machine or a script."""
    scopes: Annotated[list[Scope], Field(min_length=1)] | None = None
    """The scopes to which it is limited. Left out: those of the key that makes it, if it has any. `read`: read the project. `annotate`: answer rounds. `submit`: make jobs and datasets, and change them. `manage`: keys and members."""
    expires_at: Timestamp | None = None
    """When it stops being valid. Left out: when the key that makes it does, if ever."""


class Key(Schema):
    """An API key, without its text."""

    object: Literal["key"] = "key"
    """Always `key`."""
    id: str
    """Begins with `key_`."""
    name: str
    """Its purpose, as its creator named it."""
    prefix: str
    """Its first characters, by which its user recognises it."""
    user_id: str | None
    """The member that it acts for; null: a key of an older release that was not used since."""
    scopes: list[Scope] | None
    """The scopes to which it is limited; null: everything that the role of its member allows."""
    expires_at: Timestamp | None
    """When it stops being valid; null: never."""
    operator: bool
    """Whether it may change workers."""
    current: bool
    """Whether this request was made with it, or with a browser session that it opened."""
    created_at: Timestamp
    """When it was created."""
    last_used_at: Timestamp | None
    """When it was last used, to a minute; null if never."""
    revoked_at: Timestamp | None
    """When it was revoked; null if it is valid."""
    made_by: str | None
    """Id of the key whose request created it; null if none did, or if that was not recorded."""


class RevokedKey(Key):
    """A revoked API key."""

    valid_keys_made: list[Key]
    """The valid keys that it made, and those that these made. Revoke them too if a stranger had the key."""


class CreatedKey(Key):
    """A new API key with its text."""

    text: str
    """The key itself. It is shown once: the platform stores only its hash."""


class KeyRotation(Schema):
    """How a key is replaced by a new one."""

    model_config = ConfigDict(extra="forbid")

    overlap_seconds: Annotated[int, Field(ge=0, le=LONGEST_OVERLAP)] = 86_400
    """Seconds for which the old key stays valid beside the new one. 0: it is revoked at once."""
    expires_at: Timestamp | None = None
    """When the new key stops being valid. Left out: after as long a life as the old key had, if that has an end, and not later than the key of this request."""


class RotatedKey(CreatedKey):
    """A new API key with its text, and the key that it replaces."""

    replaces: Key
    """The old key with its end."""


class KeyList(ListOf[Key]):
    """API keys of the project."""


router = APIRouter(prefix="/keys", tags=["Platform"])
_ERRORS = (NotSignedIn, CrossOrigin, InvalidRequest)
_AND_MADE = "Also revoke the valid keys that it made, and those that these made."


@router.get("", responses=documented(NotSignedIn))
def list_keys(principal: PrincipalDep, session: SessionDep) -> KeyList:
    """List your API keys, the newest first: the valid ones, and up to 100 that are revoked or have ended. An admin sees those of all members."""
    whose = None if principal.may(Action.KEYS, own=False) else principal.user_id
    found = keys.listed(session, principal.owner_id, whose)
    return KeyList.from_items([Key(**_fields(key, principal)) for key in found])


@router.post("", status_code=201, responses=documented(*_ERRORS, BadRequest, TooLarge, WrongMediaType, QuotaExceeded))
def create_key(body: NewKey, principal: PrincipalDep, session: SessionDep) -> CreatedKey:
    """Create another API key of yours. It allows what your role allows, or less if it has scopes.

    The response is the only one that contains the key. An operator's key creates operators' keys.
    """
    keys.check_count(session, principal.owner_id)
    made = made_key(session, principal, body, user_id=principal.user_id, operator=principal.operator)
    return created(*made, principal)


def made_key(
    session: Session, principal: Principal, body: NewKey, *, user_id: str, operator: bool = False
) -> tuple[models.ApiKey, str]:
    """A new key of a member, which is no stronger and lives no longer than the key of the request. Raises InvalidRequest."""
    maker = session.get_one(models.ApiKey, principal.key_id)
    scopes = principal.scopes if body.scopes is None else frozenset(body.scopes)
    if principal.scopes is not None and not (scopes or frozenset()) <= principal.scopes:
        more = ", ".join(sorted((scopes or frozenset()) - principal.scopes))
        raise _invalid("scopes", f"has {more}, which the key of this request lacks")
    if body.expires_at is not None and body.expires_at <= datetime.now(UTC):
        raise _invalid("expires_at", "is in the past")
    expires_at = body.expires_at or maker.expires_at
    if maker.expires_at is not None and expires_at is not None and expires_at > maker.expires_at:
        raise _invalid("expires_at", f"is after the end of the key of this request, {maker.expires_at.isoformat()}")
    key, text = keys.add_key(
        session,
        principal.owner_id,
        body.name,
        user_id=user_id,
        operator=operator,
        made_by=principal.key_id,
        scopes=scopes,
        expires_at=expires_at,
    )
    session.refresh(key)
    return key, text


def created(key: models.ApiKey, text: str, principal: Principal) -> CreatedKey:
    """The response with a new key of `made_key`."""
    return CreatedKey(**_fields(key, principal), text=text)


def _invalid(name: str, detail: str) -> InvalidRequest:
    return InvalidRequest(f"`{name}` {detail}.", param=name, errors=[{"pointer": f"#/{name}", "detail": detail}])


@router.post("/{key_id}/revoke", responses=documented(*_ERRORS, NotFound, KeyInUse))
def revoke_key(
    key_id: str,
    principal: PrincipalDep,
    session: SessionDep,
    and_made: Annotated[bool, Query(description=_AND_MADE)] = False,
) -> RevokedKey:
    """Revoke an API key. Its browser sessions and event streams end within seconds.

    The key of this request cannot be revoked by itself: use another one. Keys that the key made stay valid unless
    `and_made` is set. The response lists them.
    """
    key = session.get(models.ApiKey, key_id)
    if key is None or key.owner_id != principal.owner_id:
        raise NotFound(f"There is no key {key_id!r}.")
    for revoked in [key, *(_made_by(session, principal, key_id) if and_made else ())]:
        if revoked.id == principal.key_id:
            raise KeyInUse(
                "This request is made with that key. Create another key, sign in with it, and revoke this one then."
                if revoked is key
                else "This request is made with a key that the revoked one made. Use a key that it did not make."
            )
        keys.revoke_key(session, revoked.id)
    announce_ended_access(session)
    left = [Key(**_fields(made, principal)) for made in _made_by(session, principal, key_id)]
    return RevokedKey(**_fields(key, principal), valid_keys_made=left)


@router.post(
    "/{key_id}/rotate",
    status_code=201,
    responses=documented(*_ERRORS, BadRequest, TooLarge, WrongMediaType, NotFound, QuotaExceeded),
)
def rotate_key(key_id: str, body: KeyRotation, principal: PrincipalDep, session: SessionDep) -> RotatedKey:
    """Replace an API key by a new one of the same name, member, scopes and rights. Both are valid during the overlap.

    The response is the only one that contains the new key. The key of this request may replace itself.
    """
    old = session.get(models.ApiKey, key_id)
    if old is None or old.owner_id != principal.owner_id:
        raise NotFound(f"There is no key {key_id!r}.")
    if old.revoked_at is not None or keys.has_expired(old):
        raise NotFound(f"The key {old.name!r} is not valid any more, so there is nothing to replace. Create a key.")
    keys.check_count(session, principal.owner_id)
    same = NewKey.model_construct(
        name=old.name,
        scopes=None if old.scopes is None else [Scope(scope) for scope in old.scopes],
        expires_at=body.expires_at or _as_long_a_life(session, old, principal),
    )
    if old.scopes is None and principal.scopes is not None:
        raise NotAllowed("The key is not limited to scopes, and the key of this request is. Use a key without scopes.")
    if old.operator and not principal.operator:
        raise NotOperator("The key is an operator's. Use the key of an operator.")
    user_id = old.user_id or users.adopt(session, old)
    new, text = made_key(session, principal, same, user_id=user_id, operator=old.operator)
    keys.end_key(session, old, timedelta(seconds=body.overlap_seconds))
    announce_ended_access(session)
    made = created(new, text, principal)
    return RotatedKey(**made.model_dump(), replaces=Key(**_fields(old, principal)))


def _as_long_a_life(session: Session, old: models.ApiKey, principal: Principal) -> datetime | None:
    """The end of a key that lives as long as the old one did, within the life of the key of the request."""
    if old.expires_at is None:
        return None
    end = datetime.now(UTC) + (old.expires_at - old.created_at)
    last = session.get_one(models.ApiKey, principal.key_id).expires_at
    return end if last is None else min(end, last)


def _made_by(session: Session, principal: Principal, key_id: str) -> list[models.ApiKey]:
    """The valid keys that a key made, as far as the caller may revoke them: those of other members only as an admin."""
    made = keys.valid_keys_made_by(session, key_id)
    return [key for key in made if principal.may(Action.KEYS, own=key.user_id == principal.user_id)]


def _fields(key: models.ApiKey, principal: Principal) -> dict[str, object]:
    same = (
        "id",
        "name",
        "user_id",
        "scopes",
        "expires_at",
        "operator",
        "created_at",
        "last_used_at",
        "revoked_at",
        "made_by",
    )
    fields = {name: getattr(key, name) for name in same}
    return fields | {"prefix": f"{key.prefix}…", "current": key.id == principal.key_id}
