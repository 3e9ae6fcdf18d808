"""Signing a browser in and out."""

from datetime import timedelta
from typing import Literal

from fastapi import APIRouter, Request, Response

from api.deps import COOKIE, PrincipalDep, SessionDep, SettingsDep, client_address, refuse_other_sites, tries_of
from api.problems import BadRequest, documented
from api.schema import Schema, Timestamp
from core.access import keys
from core.errors import CrossOrigin, InvalidRequest, NotSignedIn, TooLarge, TooManyTries, WrongMediaType


class SignIn(Schema):
    """Credentials for a browser session."""

    token: str
    """An API key."""


class KeyRef(Schema):
    """An API key."""

    id: str
    """The key's id."""
    name: str
    """The key's name."""


class Session(Schema):
    """The caller and the session."""

    object: Literal["session"] = "session"
    """Always `session`."""
    key: KeyRef
    """The API key behind the call."""
    expires_at: Timestamp | None
    """When the browser session ends; null for a call with the key itself."""


router = APIRouter(prefix="/session", tags=["Session"])


@router.post(
    "",
    responses=documented(BadRequest, NotSignedIn, CrossOrigin, TooLarge, WrongMediaType, InvalidRequest, TooManyTries),
)
def sign_in(body: SignIn, request: Request, response: Response, session: SessionDep, settings: SettingsDep) -> Session:
    """Exchange an API key for a session cookie. The dashboard does this with the token in its address."""
    refuse_other_sites(request, silence_is_fine=True)
    with tries_of(settings).trying(client_address(request), body.token):
        principal = keys.authenticate(session, body.token)
    lifetime = timedelta(hours=settings.session_hours)
    token, expires_at = keys.open_session(session, principal.key_id, lifetime)
    response.set_cookie(
        COOKIE,
        token,
        max_age=int(lifetime.total_seconds()),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return Session(key=KeyRef(id=principal.key_id, name=principal.key_name), expires_at=expires_at)


@router.get("", responses=documented(NotSignedIn))
def who_am_i(principal: PrincipalDep) -> Session:
    """Return the API key of the caller."""
    return Session(key=KeyRef(id=principal.key_id, name=principal.key_name), expires_at=principal.expires_at)


@router.delete("", status_code=204, responses=documented(NotSignedIn, CrossOrigin))
def sign_out(_: PrincipalDep, request: Request, response: Response, session: SessionDep) -> None:
    """End the browser's session and drop its cookie."""
    if token := request.cookies.get(COOKIE):
        keys.close_session(session, token)
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
